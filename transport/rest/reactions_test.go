package rest

import (
	"context"
	"strings"
	"testing"

	"parley/actors/agency"
	"parley/actors/platform"
)

func (f *fake) React(_ context.Context, _ *platform.Identity, agencyID, messageID, emoji string, remove bool) (*agency.Reacted, error) {
	f.note("React %s %s %s %t", agencyID, messageID, emoji, remove)
	r := &agency.Reacted{MessageID: messageID, Emoji: emoji}
	if !remove {
		r.Count, r.Reactions = 1, agency.Reactions{{Emoji: emoji, Count: 1, Users: []string{"u1"}}}
	}
	return r, f.or(faults[messageID])
}

func TestReactions(t *testing.T) {
	const at = "/api/agencies/g1/messages/m1/reactions/"
	run(t, nil, []check{
		{step{Name: "put", Method: "PUT", URL: at + "%F0%9F%91%8D", Token: userToken, Status: 200,
			Want: []string{`{"ok":true,"messageId":"m1","emoji":"👍","count":1,"reactions":[{"emoji":"👍","count":1,"users":["u1"]}]}`}}, "React g1 m1 👍 false"},
		{step{Name: "put as typed", Method: "PUT", URL: at + "👍", Token: userToken, Status: 200}, "React g1 m1 👍 false"},
		{step{Name: "delete", Method: "DELETE", URL: at + ":tada:", Token: userToken, Status: 200,
			Want: []string{`{"ok":true,"messageId":"m1","emoji":":tada:","count":0,"reactions":[]}`}}, "React g1 m1 :tada: true"},
		{step{Name: "a slash is no separator", Method: "PUT", URL: at + "a%2Fb", Token: userToken, Status: 200}, "React g1 m1 a/b false"},
		{step{Name: "control character", Method: "PUT", URL: at + "%01", Token: userToken, Status: 404}, "-"},
		{step{Name: "broken UTF-8", Method: "PUT", URL: at + "%ff", Token: userToken, Status: 404}, "-"},
		{step{Name: "far too long", Method: "PUT", URL: at + strings.Repeat("x", MaxPathID+1), Token: userToken, Status: 404}, "-"},
		{step{Name: "unknown message", Method: "PUT", URL: "/api/agencies/g1/messages/absent/reactions/x", Token: userToken, Status: 404}, ""},
		{step{Name: "other method", Method: "POST", URL: at + "x", Token: userToken, Status: 405, WantHeader: map[string]string{"Allow": "DELETE, OPTIONS, PUT"}}, "-"},
	})
}
