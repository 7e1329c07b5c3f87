package rest

import (
	"context"
	"encoding/json"
	"testing"

	"parley/actors/platform"
)

func dm(id string) *platform.DMView {
	text, at := "hi", "1970-01-01T00:00:00.001Z"
	return &platform.DMView{AgencyID: id, AgencyID2: id, ID: id, Participant: platform.Participant{ID: "u2", Username: "Bob", Type: "user"},
		LastMessage: &text, LastMessage2: &text, LastMessageAt: &at, LastMessageAt2: &at, CreatedAt: &at, CreatedAt2: &at}
}

func (f *fake) OpenDM(_ context.Context, _ *platform.Identity, accountID string) (*platform.DMView, bool, error) {
	f.note("OpenDM %s", accountID)
	return dm("d1"), accountID == "new", f.or(faults[accountID])
}

func (f *fake) DMs(_ context.Context, _ *platform.Identity, limit, offset int) ([]*platform.DMView, error) {
	f.note("DMs %d %d", limit, offset)
	if f.empty {
		return nil, f.or(nil)
	}
	return []*platform.DMView{dm("d1")}, f.or(nil)
}

func (f *fake) DMMessages(_ context.Context, _ *platform.Identity, agencyID string, q platform.History) ([]json.RawMessage, error) {
	f.note("DMMessages %s %d %q %q %v", agencyID, q.Limit, q.Before, q.After, q.Ascending)
	if f.empty {
		return nil, f.or(nil)
	}
	return []json.RawMessage{json.RawMessage(`{"id":"m1"}`)}, f.or(faults[agencyID])
}

func (f *fake) HideDM(_ context.Context, _ *platform.Identity, agencyID string) error {
	f.note("HideDM %s", agencyID)
	return f.or(faults[agencyID])
}

func (f *fake) PurgeDM(_ context.Context, _ *platform.Identity, agencyID string) error {
	f.note("PurgeDM %s", agencyID)
	return f.or(faults[agencyID])
}

func TestDMs(t *testing.T) {
	const shown = `{"agencyId":"d1","agency_id":"d1","id":"d1","participant":{"id":"u2","username":"Bob"`
	json := map[string]string{"Content-Type": "application/json"}
	run(t, nil, []check{
		{step{Name: "open", Method: "POST", URL: "/api/dm/u2", Token: userToken, Status: 200, Want: []string{shown, `"last_message":"hi"`}}, "OpenDM u2"},
		{step{Name: "make", Method: "POST", URL: "/api/dm/new", Token: userToken, Header: json, Status: 201, Want: []string{shown}}, "OpenDM new"},
		{step{Name: "open with oneself", Method: "POST", URL: "/api/dm/invalid", Token: userToken, Status: 400}, ""},
		{step{Name: "open with nobody", Method: "POST", URL: "/api/dm/absent", Token: userToken, Status: 404}, ""},
		{step{Name: "list", URL: "/api/dm", Token: userToken, Status: 200, Want: []string{`[` + shown, `"last_message_at":"1970`, `"lastMessageAt":"1970`}}, "DMs 0 0"},
		{step{Name: "list a page", URL: "/api/dm?limit=5&offset=2", Token: userToken, Status: 200}, "DMs 5 2"},
		{step{Name: "limit is no number", URL: "/api/dm?limit=x", Token: userToken, Status: 400}, "-"},
		{step{Name: "messages", URL: "/api/dm/d1/messages?limit=20&order=asc&after=m0", Token: userToken, Status: 200, Want: []string{`[{"id":"m1"}]`}}, `DMMessages d1 20 "" "m0" true`},
		{step{Name: "messages of a room", URL: "/api/dm/absent/messages", Token: userToken, Status: 404}, ""},
		{step{Name: "hide", Method: "DELETE", URL: "/api/dm/d1", Token: userToken, Header: json, Status: 200, Want: []string{`{"ok":true}`}}, "HideDM d1"},
		{step{Name: "purge", Method: "POST", URL: "/api/dm/d1/purge", Token: userToken, Header: json, Status: 200, Want: []string{`{"ok":true}`}}, "PurgeDM d1"},
		{step{Name: "other method", Method: "PATCH", URL: "/api/dm/d1", Token: userToken, Status: 405, WantHeader: map[string]string{"Allow": "DELETE, OPTIONS, POST"}}, "-"},
	})
	run(t, func(b *bench, _ *Options) { b.empty = true }, []check{
		{step{URL: "/api/dm", Token: userToken, Status: 200, Want: []string{"[]"}, WantNot: []string{"null"}}, ""},
		{step{URL: "/api/dm/d1/messages", Token: userToken, Status: 200, Want: []string{"[]"}, WantNot: []string{"null"}}, ""},
	})
}
