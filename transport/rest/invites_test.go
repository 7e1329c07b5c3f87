package rest

import (
	"context"
	"testing"

	"parley/actors/agency"
	"parley/actors/platform"
)

func (f *fake) CreateInvite(_ context.Context, _ *platform.Identity, agencyID string, maxUses *int64, expires string) (*agency.InviteView, error) {
	most := int64(-1)
	if maxUses != nil {
		most = *maxUses
	}
	f.note("CreateInvite %s %d %q", agencyID, most, expires)
	v := agency.InviteView{Invite: agency.Invite{Code: "c1", MaxUses: max(most, 0), Uses: 1, CreatedAt: 1, CreatedBy: agency.WireSender(ann().Sender())}, Active: true}
	return &v, f.or(faults[agencyID])
}

func (f *fake) Invites(_ context.Context, _ *platform.Identity, agencyID string) ([]agency.InviteView, error) {
	f.note("Invites %s", agencyID)
	if f.empty {
		return nil, f.or(nil)
	}
	return []agency.InviteView{{Invite: agency.Invite{Code: "c1", CreatedAt: 1, ExpiresAt: 2, CreatedBy: agency.WireSender(ann().Sender())}}}, f.or(faults[agencyID])
}

func (f *fake) RevokeInvite(_ context.Context, _ *platform.Identity, agencyID, code string) error {
	f.note("RevokeInvite %s %s", agencyID, code)
	return f.or(faults[code])
}

func (f *fake) RedeemInvite(_ context.Context, _ *platform.Identity, code string) (*agency.View, error) {
	f.note("RedeemInvite %s", code)
	return reef("g1"), f.or(faults[code])
}

func TestInvites(t *testing.T) {
	const at = "/api/agencies/g1/invites"
	run(t, nil, []check{
		{step{Name: "create", URL: at, Token: userToken, Body: `{"maxUses":3,"expires":"30m"}`, Status: 201,
			Want: []string{`"code":"c1"`, `"invite_code":"c1"`, `"max_uses":3`, `"maxUses":3`, `"uses":1`, `"expires_at":null`, `"expiresAt":null`,
				`"created_at":"1970-01-01T00:00:00.001Z"`, `"active":true`}}, `CreateInvite g1 3 "30m"`},
		{step{Name: "create without limits", Method: "POST", URL: at, Token: userToken, Status: 201, Want: []string{`"max_uses":null`}}, `CreateInvite g1 -1 ""`},
		{step{Name: "create, no number", URL: at, Token: userToken, Body: `{"maxUses":null,"max_uses":2}`, Status: 201}, `CreateInvite g1 2 ""`},
		{step{Name: "create, half a use", URL: at, Token: userToken, Body: `{"maxUses":1.5}`, Status: 400, Want: []string{"maxUses must be a whole number"}}, "-"},
		{step{Name: "create, far too many uses", URL: at, Token: userToken, Body: `{"maxUses":99999999999999999999}`, Status: 400, Want: []string{"maxUses must be a whole number"}}, "-"},
		{step{Name: "create, refused", Method: "POST", URL: "/api/agencies/forbidden/invites", Token: userToken, Status: 403}, ""},
		{step{Name: "list", URL: at, Token: userToken, Status: 200, Want: []string{`[{"active":false`, `"expires_at":"1970-01-01T00:00:00.002Z"`}}, "Invites g1"},
		{step{Name: "revoke", Method: "DELETE", URL: at + "/c1", Token: userToken, Status: 200, Want: []string{`{"ok":true}`}}, "RevokeInvite g1 c1"},
		{step{Name: "revoke an unknown one", Method: "DELETE", URL: at + "/absent", Token: userToken, Status: 404}, ""},
		{step{Name: "redeem", URL: "/api/agencies/invite/redeem", Token: userToken, Body: `{"code":"c1"}`, Status: 200,
			Want: []string{`{"ok":true,"agencyId":"g1","agency_id":"g1","agency":{"id":"g1","name":"Reef","slug":"reef"}}`}}, "RedeemInvite c1"},
		{step{Name: "redeem a spent one", URL: "/api/agencies/invite/redeem", Token: userToken, Body: `{"code":"gone"}`, Status: 410}, ""},
		{step{Name: "redeem nothing", Method: "POST", URL: "/api/agencies/invite/redeem", Token: userToken, Status: 400, Want: []string{"code is required"}}, "-"},
		{step{Name: "redeem as nobody", URL: "/api/agencies/invite/redeem", Body: `{"code":"c1"}`, Status: 401}, "-"},
	})
}

func TestNoBansAndInvites(t *testing.T) {
	empty := func(b *bench, _ *Options) { b.empty = true }
	run(t, empty, []check{
		{step{URL: "/api/agencies/g1/bans", Token: userToken, Status: 200, Want: []string{"[]"}, WantNot: []string{"null"}}, ""},
		{step{URL: "/api/agencies/g1/invites", Token: userToken, Status: 200, Want: []string{"[]"}, WantNot: []string{"null"}}, ""},
	})
}
