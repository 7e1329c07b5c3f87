package rest

import (
	"context"
	"strings"
	"testing"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/platform"
)

func (f *fake) SetRole(_ context.Context, _ *platform.Identity, agencyID, accountID, role string) (*agency.MemberView, error) {
	f.note("SetRole %s %s %s", agencyID, accountID, role)
	v := agency.NewMemberView(ann().Sender(), agency.MemberRecord{Role: agency.Admin})
	return &v, f.or(faults[accountID])
}

func (f *fake) Kick(_ context.Context, _ *platform.Identity, agencyID, accountID, reason string) error {
	f.note("Kick %s %s %q", agencyID, accountID, reason)
	return f.or(faults[accountID])
}

func (f *fake) TransferAgency(_ context.Context, _ *platform.Identity, agencyID, id, name string) (*agency.View, *account.Profile, error) {
	f.note("TransferAgency %s %q %q", agencyID, id, name)
	return reef(agencyID), ann(), f.or(faults[id])
}

func (f *fake) Ban(_ context.Context, _ *platform.Identity, agencyID, accountID, reason, expires string) (*agency.BanView, error) {
	f.note("Ban %s %s %q %q", agencyID, accountID, reason, expires)
	v := agency.NewBanView(ann().Sender(), agency.BanRecord{Reason: reason, By: agency.WireSender(ann().Sender()), At: 1, Until: 2})
	return &v, f.or(faults[accountID])
}

func (f *fake) Unban(_ context.Context, _ *platform.Identity, agencyID, accountID string) error {
	f.note("Unban %s %s", agencyID, accountID)
	return f.or(faults[accountID])
}

func (f *fake) Bans(_ context.Context, _ *platform.Identity, agencyID string, limit int, after string) ([]agency.BanView, error) {
	f.note("Bans %s %d %q", agencyID, limit, after)
	if f.empty {
		return nil, f.or(nil)
	}
	return []agency.BanView{agency.NewBanView(ann().Sender(), agency.BanRecord{By: agency.WireSender(ann().Sender()), At: 1})}, f.or(faults[agencyID])
}

func TestModeration(t *testing.T) {
	const at = "/api/agencies/g1/members/u1"
	run(t, nil, []check{
		{step{Name: "role", Method: "PATCH", URL: at, Token: userToken, Body: `{"role":"admin"}`, Status: 200,
			Want: []string{`{"id":"u1"`, `"role":"admin"`, `"ok":true`}}, "SetRole g1 u1 admin"},
		{step{Name: "no role", Method: "PATCH", URL: at, Token: userToken, Body: `{"role":null}`, Status: 400, Want: []string{"role is required"}}, "-"},
		{step{Name: "role of the last owner", Method: "PATCH", URL: "/api/agencies/g1/members/taken", Token: userToken, Body: `{"role":"member"}`, Status: 409}, ""},
		{step{Name: "kick", Method: "POST", URL: at + "/kick", Token: userToken, Status: 200, Want: []string{`{"ok":true}`}}, `Kick g1 u1 ""`},
		{step{Name: "kick with a reason", URL: at + "/kick", Token: userToken, Body: `{"reason":"spam"}`, Status: 200}, `Kick g1 u1 "spam"`},
		{step{Name: "kick a stranger", Method: "POST", URL: "/api/agencies/g1/members/absent/kick", Token: userToken, Status: 404}, ""},
		{step{Name: "ban", Method: "POST", URL: at + "/ban", Token: userToken, Status: 200,
			Want: []string{`"id":"u1"`, `"ok":true`, `"expires_at":"1970-01-01T00:00:00.002Z"`, `"expiresAt":"1970`, `"reason":null`, `"bannedBy":{`, `"banned_by":{`}}, `Ban g1 u1 "" ""`},
		{step{Name: "ban for a while", URL: at + "/ban", Token: userToken, Body: `{"reason":"spam","expires":"7d"}`, Status: 200, Want: []string{`"reason":"spam"`}}, `Ban g1 u1 "spam" "7d"`},
		{step{Name: "ban, other spelling", URL: at + "/ban", Token: userToken, Body: `{"expires":null,"expires_at":"2030-01-01T00:00:00Z"}`, Status: 200}, `Ban g1 u1 "" "2030-01-01T00:00:00Z"`},
		{step{Name: "ban, refused", Method: "POST", URL: "/api/agencies/g1/members/forbidden/ban", Token: userToken, Status: 403}, ""},
		{step{Name: "unban", Method: "POST", URL: at + "/unban", Token: userToken, Status: 200, Want: []string{`{"ok":true}`}}, "Unban g1 u1"},
		{step{Name: "unban who is not banned", Method: "POST", URL: "/api/agencies/g1/members/absent/unban", Token: userToken, Status: 404}, ""},
		{step{Name: "bans", URL: "/api/agencies/g1/bans?limit=5000&after=u0", Token: userToken, Status: 200, Want: []string{`[{"id":"u1"`, `"expiresAt":null`}}, `Bans g1 1000 "u0"`},
		{step{Name: "bans by whom nobody knows", URL: "/api/agencies/g1/bans", Status: 401}, "-"},
		{step{Name: "transfer", URL: "/api/agencies/g1/transfer", Token: userToken, Body: `{"newOwnerId":"u1","new_owner_username":"Ann"}`, Status: 200,
			Want: []string{`{"ok":true,"agency":{"id":"g1","name":"Reef","slug":"reef"},"newOwner":{"id":"u1","username":"Ann"}`}}, `TransferAgency g1 "u1" "Ann"`},
		{step{Name: "transfer by name", URL: "/api/agencies/g1/transfer", Token: userToken, Body: `{"newOwnerUsername":"Ann"}`, Status: 200}, `TransferAgency g1 "" "Ann"`},
		{step{Name: "transfer to nobody", Method: "POST", URL: "/api/agencies/g1/transfer", Token: userToken, Status: 400, Want: []string{"newOwnerId or newOwnerUsername"}}, "-"},
		{step{Name: "no bans", URL: "/api/agencies/absent/bans", Token: userToken, Status: 404}, ""},
	})
}

// TestModerationNamesWrongTypes sends values of the wrong type for every field.
func TestModerationNamesWrongTypes(t *testing.T) {
	const at = "/api/agencies/g1"
	var checks []check
	for path, fields := range map[string]string{
		"PATCH " + at + "/members/u1":      "role",
		"POST " + at + "/members/u1/kick":  "reason",
		"POST " + at + "/members/u1/ban":   "reason expires expiresIn expires_in expiresAt expires_at",
		"POST " + at + "/transfer":         "newOwnerId new_owner_id newOwnerUsername new_owner_username",
		"POST " + at + "/invites":          "maxUses max_uses expires",
		"POST /api/agencies/invite/redeem": "code",
	} {
		method, url, _ := strings.Cut(path, " ")
		for _, field := range strings.Fields(fields) {
			checks = append(checks, check{step{Name: path + " " + field, Method: method, URL: url, Token: userToken,
				Body: `{"` + field + `":[7]}`, Status: 400, Want: []string{`"` + field + " must be a"}}, "-"})
		}
	}
	run(t, nil, checks)
}
