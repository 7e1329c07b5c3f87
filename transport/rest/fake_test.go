package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/command"
	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/actors/upload"
	"parley/persistence"
)

// Tokens that the fake service knows.
const (
	userToken = "u-session"
	patToken  = "cru_pat"
	rawPAT    = "cru_0123456789abcdef0123456789abcdef0123456789abcdef" // a new one
)

// faults are what the fake answers for ids of these names.
var faults = map[string]error{
	"invalid":      kernel.Invalid("name is bad"),
	"unauthorized": kernel.Fail(kernel.CodeUnauthorized, "no longer"),
	"forbidden":    kernel.Forbidden("not yours"),
	"absent":       kernel.NotFound("no such thing"),
	"taken":        kernel.Fail(kernel.CodeTaken, "the name is taken"),
	"gone":         kernel.Fail(kernel.CodeGone, "too late"),
	"large":        kernel.Fail(kernel.CodeTooLarge, "too large"),
	"limited":      &kernel.Error{Code: kernel.CodeLimited, Message: "slow down", RetryAfter: 1500 * time.Millisecond},
	"overloaded":   kernel.ErrOverloaded,
	"unavailable":  fmt.Errorf("read: %w", persistence.ErrUnavailable),
	"deadline":     fmt.Errorf("wait: %w", context.DeadlineExceeded),
	"internal":     &kernel.Error{Code: kernel.CodeInternal, Message: "secret detail"},
	"unknown":      errors.New("secret detail"),
	"unsupported":  kernel.Fail(kernel.CodeUnsupported, "not here"),
	"media":        kernel.Fail(kernel.CodeMediaType, "no picture"),
	"odd":          &kernel.Error{Code: 200, Message: "secret detail"},
}

// fake is a Service that answers fixed things and remembers how it was called.
type fake struct {
	mu    sync.Mutex
	calls []string
	ready error
	empty bool  // lists are nil
	fails error // what every method but Authenticate answers
}

func (f *fake) or(err error) error {
	if f.fails != nil {
		return f.fails
	}
	return err
}

func (f *fake) note(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
}

func (f *fake) last() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.calls) == 0 {
		return ""
	}
	return f.calls[len(f.calls)-1]
}

func show(s *string) string {
	if s == nil {
		return "nil"
	}
	return fmt.Sprintf("%q", *s)
}

func showBool(b *bool) string {
	if b == nil {
		return "nil"
	}
	return fmt.Sprint(*b)
}

func ann() *account.Profile {
	return &account.Profile{ID: "u1", Username: "Ann", DisplayName: "Ann A", Type: account.User, Role: "user", CreatedAt: 1}
}

func bot() *account.Profile {
	return &account.Profile{ID: "a1", Username: "my-bot", DisplayName: "My <Bot>", Type: account.Agent, Verified: true, CreatedAt: 1}
}

func reef(id string) *agency.View {
	v := agency.NewView(&agency.Record{ID: id, Name: "Reef", Slug: "reef", Kind: agency.Room, MemberCount: 2, CreatedAt: 1}, agency.Owner)
	return &v
}

func (f *fake) Authenticate(_ context.Context, token string) (*platform.Identity, error) {
	id := &platform.Identity{Sender: ann().Sender(), Session: "s1"}
	switch token {
	case userToken:
		return id, nil
	case patToken:
		id.PAT = true
		return id, nil
	case "down":
		return nil, kernel.ErrUnavailable
	}
	return nil, kernel.Fail(kernel.CodeUnauthorized, "invalid or expired token")
}

func (f *fake) RegisterUser(_ context.Context, username, password, displayName string) (string, *account.Profile, error) {
	f.note("RegisterUser %s %s %s", username, password, displayName)
	return "new-token", ann(), f.or(faults[username])
}

func (f *fake) Login(_ context.Context, username, password string) (string, *account.Profile, error) {
	f.note("Login %s %s", username, password)
	return "new-token", ann(), f.or(faults[username])
}

func (f *fake) ExchangeAgentToken(_ context.Context, agentToken string) (string, *account.Profile, error) {
	f.note("ExchangeAgentToken %s", agentToken)
	return "new-token", bot(), f.or(faults[agentToken])
}

func (f *fake) Logout(_ context.Context, id *platform.Identity) error {
	f.note("Logout %s", id.Session)
	return f.or(nil)
}

func (f *fake) Person(_ context.Context, id *platform.Identity, name string) (*platform.Person, error) {
	who := "nobody"
	if id != nil {
		who = id.ID
	}
	f.note("Person %s %s", who, name)
	return &platform.Person{Profile: ann(), IsFollowing: id != nil}, f.or(faults[name])
}

func (f *fake) Follow(_ context.Context, id *platform.Identity, name string) (*platform.Following, error) {
	f.note("Follow %s %s", id.ID, name)
	return &platform.Following{Following: true, Followers: 3}, f.or(faults[name])
}

func (f *fake) Unfollow(_ context.Context, id *platform.Identity, name string) (*platform.Following, error) {
	f.note("Unfollow %s %s", id.ID, name)
	return &platform.Following{Followers: 2}, f.or(faults[name])
}

func (f *fake) follows(call, name string, limit int, after string) ([]platform.FollowView, error) {
	f.note("%s %s %d %q", call, name, limit, after)
	if f.empty {
		return nil, nil
	}
	return []platform.FollowView{{Profile: bot(), Since: 1}}, f.or(faults[name])
}

func (f *fake) Followers(_ context.Context, name string, limit int, after string) ([]platform.FollowView, error) {
	return f.follows("Followers", name, limit, after)
}

func (f *fake) Following(_ context.Context, name string, limit int, after string) ([]platform.FollowView, error) {
	return f.follows("Following", name, limit, after)
}

func (f *fake) SetPicture(_ context.Context, id *platform.Identity, field account.PictureField, data []byte) (string, error) {
	f.note("SetPicture %s %s %d", id.ID, field, len(data))
	return "https://chat.example/uploads/x.png", f.or(faults[string(data)])
}

func (f *fake) Picture(_ context.Context, file string) (*upload.Picture, error) {
	f.note("Picture %s", file)
	return &upload.Picture{ID: "x", Format: upload.PNG, Data: []byte("0123456789")}, f.or(faults[file])
}

func (f *fake) Profile(_ context.Context, accountID string) (*account.Profile, error) {
	f.note("Profile %s", accountID)
	return ann(), f.or(nil)
}

func (f *fake) UpdateProfile(_ context.Context, id *platform.Identity, u account.ProfileUpdate) (*account.Profile, error) {
	f.note("UpdateProfile %s %s %s %s %s %s %s", id.ID, show(u.DisplayName), show(u.Avatar), show(u.Banner), show(u.Description), show(u.Theme), show(u.Font))
	return ann(), f.or(nil)
}

func (f *fake) ChangePassword(_ context.Context, _ *platform.Identity, current, next string) error {
	f.note("ChangePassword %s %s", current, next)
	return f.or(nil)
}

func (f *fake) DeleteAccount(_ context.Context, _ *platform.Identity, password *string) error {
	f.note("DeleteAccount %s", show(password))
	if password != nil && *password != "right" {
		return kernel.Forbidden("the password is wrong")
	}
	return f.or(nil)
}

func (f *fake) CreatePAT(_ context.Context, _ *platform.Identity, name, expiresIn string) (*account.PAT, string, error) {
	f.note("CreatePAT %s %s", name, expiresIn)
	return &account.PAT{ID: "p1", Name: name, Prefix: "cru_abcd…", CreatedAt: 1, ExpiresAt: 2}, rawPAT, f.or(faults[name])
}

func (f *fake) PATs(context.Context, *platform.Identity) ([]account.PAT, error) {
	if f.empty {
		return nil, f.or(nil)
	}
	return []account.PAT{{ID: "p1", Name: "ci", Prefix: "cru_abcd…", CreatedAt: 1}}, f.or(nil)
}

func (f *fake) RevokePAT(_ context.Context, _ *platform.Identity, patID string) error {
	f.note("RevokePAT %s", patID)
	return f.or(faults[patID])
}

func (f *fake) RegisterAgent(_ context.Context, r platform.SelfRegistration) (*platform.Registered, error) {
	f.note("RegisterAgent %s", strings.Join([]string{r.Name, r.Description, r.AgencyName, r.AgencyCharter, r.ExtGateway, r.ExtToken, r.ExtAgentID}, "|"))
	return &platform.Registered{Agent: bot(), Token: "sk_1", Agency: *reef("g1"), ClaimURL: "https://web/claim/c1", ClaimCode: "c1",
		Important: "keep it"}, f.or(faults[r.Name])
}

func (f *fake) CreateAgent(_ context.Context, _ *platform.Identity, c platform.NewAgent) (*account.Profile, string, error) {
	f.note("CreateAgent %s", strings.Join([]string{c.Name, c.Role, c.Personality, c.AgencyID}, "|"))
	return bot(), "sk_1", f.or(faults[c.Name])
}

func (f *fake) Agents(context.Context, *platform.Identity) ([]platform.AgentView, error) {
	if f.empty {
		return nil, f.or(nil)
	}
	return []platform.AgentView{{Profile: bot()}}, f.or(nil)
}

func (f *fake) VerifyAgent(_ context.Context, _ *platform.Identity, agentID string) (*account.Profile, string, error) {
	f.note("VerifyAgent %s", agentID)
	token := "sk_1"
	if agentID == "old" {
		token = ""
	}
	return bot(), token, f.or(faults[agentID])
}

func (f *fake) RegenerateAgentToken(_ context.Context, _ *platform.Identity, agentID string) (string, error) {
	f.note("RegenerateAgentToken %s", agentID)
	return "sk_2", f.or(faults[agentID])
}

func (f *fake) CreateVeniceAgent(_ context.Context, _ *platform.Identity, v platform.VeniceAgent) (*account.Profile, string, error) {
	f.note("CreateVeniceAgent %s", strings.Join([]string{v.Name, v.Role, v.Personality, v.AgencyID, v.APIKey, v.Model}, "|"))
	return bot(), "sk_1", f.or(faults[v.Name])
}

func (f *fake) AgentConfig(_ context.Context, _ *platform.Identity, agentID, agencyID string) (account.Config, error) {
	f.note("AgentConfig %s %s", agentID, agencyID)
	return account.Config{"extAgentId": json.RawMessage(`"main"`)}, f.or(faults[agentID])
}

func (f *fake) SetAgentConfig(_ context.Context, _ *platform.Identity, agentID, agencyID string, values map[string]json.RawMessage) (account.Config, error) {
	body, _ := json.Marshal(values)
	f.note("SetAgentConfig %s %s %s", agentID, agencyID, body)
	return account.Config{"extToken": json.RawMessage(`"sk-…abcd"`)}, f.or(faults[agentID])
}

func (f *fake) TransferAgent(_ context.Context, _ *platform.Identity, agentID string, to platform.NewOwner) (agent, owner *account.Profile, err error) {
	f.note("TransferAgent %s %s|%s", agentID, to.ID, to.Username)
	return bot(), ann(), f.or(faults[agentID])
}

func (f *fake) DeleteAgent(_ context.Context, _ *platform.Identity, agentID string) error {
	f.note("DeleteAgent %s", agentID)
	return f.or(faults[agentID])
}

func (f *fake) AddAgent(_ context.Context, _ *platform.Identity, agencyID string, a platform.AddedAgent) (*platform.AgentAdded, error) {
	f.note("AddAgent %s", strings.Join([]string{agencyID, a.AgentID, a.Username, a.New.Name, a.New.Role, a.New.Personality}, "|"))
	added := &platform.AgentAdded{Agent: bot(), Agency: *reef(agencyID)}
	if a.New.Name != "" {
		added.Token = "sk_1"
	}
	return added, f.or(faults[agencyID])
}

func (f *fake) ClaimAgent(_ context.Context, _ *platform.Identity, code, email string) (time.Time, error) {
	f.note("ClaimAgent %s %s", code, email)
	return time.UnixMilli(1), f.or(faults[code])
}

func (f *fake) ClaimPage(_ context.Context, code string) (*platform.ClaimPage, error) {
	f.note("ClaimPage %s", code)
	return &platform.ClaimPage{Agent: bot(), Claimed: code == "claimed"}, f.or(faults[code])
}

func (f *fake) VerifyClaim(_ context.Context, token string) (*account.Profile, error) {
	f.note("VerifyClaim %s", token)
	if token == "" {
		return nil, faults["absent"]
	}
	return bot(), f.or(faults[token])
}

func (f *fake) ListAgencies(_ context.Context, _ *platform.Identity, g platform.Page) (platform.Encoded, error) {
	if g.Text == "" {
		f.note("Agencies %d %d", g.Limit, g.Offset)
	} else {
		f.note("Agencies %d %d %q", g.Limit, g.Offset, g.Text)
	}
	views := []agency.View{*reef("g1")}
	if f.empty {
		views = []agency.View{}
	}
	body, err := json.Marshal(views)
	return pieces{body}, f.or(err)
}

func (f *fake) CreateAgency(_ context.Context, _ *platform.Identity, c agency.NewAgency) (*agency.View, error) {
	f.note("CreateAgency %s %s %s %v", c.Name, c.Slug, show(c.Charter), c.Private)
	return reef("g2"), f.or(nil)
}

func (f *fake) AgencyBySlug(_ context.Context, _ *platform.Identity, slug string) (*agency.View, error) {
	f.note("AgencyBySlug %s", slug)
	return reef("g1"), f.or(faults[slug])
}

func (f *fake) Agency(_ context.Context, _ *platform.Identity, agencyID string) (*agency.View, error) {
	f.note("Agency %s", agencyID)
	if agencyID == "panic" {
		panic("secret detail")
	}
	if err := faults[agencyID]; err != nil {
		return nil, f.or(err)
	}
	return reef(agencyID), f.or(nil)
}

func (f *fake) UpdateAgency(_ context.Context, _ *platform.Identity, agencyID string, u agency.Update) (*agency.View, error) {
	f.note("UpdateAgency %s %s %s %s", agencyID, show(u.Name), show(u.Charter), showBool(u.Private))
	return reef(agencyID), f.or(nil)
}

func (f *fake) DeleteAgency(_ context.Context, _ *platform.Identity, agencyID string) error {
	f.note("DeleteAgency %s", agencyID)
	return f.or(faults[agencyID])
}

func (f *fake) Members(_ context.Context, _ *platform.Identity, agencyID string, limit int, after string) ([]agency.MemberView, error) {
	f.note("Members %s %d %s", agencyID, limit, after)
	if f.empty {
		return nil, f.or(nil)
	}
	return []agency.MemberView{agency.NewMemberView(ann().Sender(), agency.MemberRecord{Role: agency.Owner})}, f.or(nil)
}

func (f *fake) FindMembers(_ context.Context, _ *platform.Identity, agencyID, text string, limit int, after string) ([]agency.MemberView, error) {
	f.note("FindMembers %s %q %d %s", agencyID, text, limit, after)
	return nil, f.or(nil)
}

func (f *fake) ExploreAgencies(_ context.Context, id *platform.Identity, g platform.Page) ([]agency.View, error) {
	who := "nobody"
	if id != nil {
		who = id.Username
	}
	f.note("ExploreAgencies %s %q %d %d", who, g.Text, g.Limit, g.Offset)
	if f.empty {
		return nil, f.or(nil)
	}
	return []agency.View{*reef("g1")}, f.or(nil)
}

func (f *fake) ExploreAgents(_ context.Context, g platform.Page) ([]platform.AgentCard, error) {
	f.note("ExploreAgents %q %d %d", g.Text, g.Limit, g.Offset)
	if f.empty {
		return nil, f.or(nil)
	}
	return []platform.AgentCard{{Profile: bot(), AgencySlug: "reef"}}, f.or(nil)
}

func (f *fake) ExploreUsers(_ context.Context, g platform.Page) ([]*account.Profile, error) {
	f.note("ExploreUsers %q %d %d", g.Text, g.Limit, g.Offset)
	if f.empty {
		return nil, f.or(nil)
	}
	return []*account.Profile{ann(), bot()}, f.or(nil)
}

func (f *fake) Join(_ context.Context, _ *platform.Identity, agencyID string) (*agency.View, error) {
	f.note("Join %s", agencyID)
	return reef(agencyID), f.or(faults[agencyID])
}

func (f *fake) Leave(_ context.Context, _ *platform.Identity, agencyID string) error {
	f.note("Leave %s", agencyID)
	return f.or(faults[agencyID])
}

func (f *fake) Messages(_ context.Context, _ *platform.Identity, agencyID string, q platform.History) ([]json.RawMessage, error) {
	f.note("Messages %s %d %q %q %v", agencyID, q.Limit, q.Before, q.After, q.Ascending)
	if q.Query != "" || q.Mentions != "" {
		f.note("Search %s %d %q %q %v %q %q", agencyID, q.Limit, q.Before, q.After, q.Ascending, q.Query, q.Mentions)
	}
	if f.empty {
		return nil, f.or(faults[agencyID])
	}
	return []json.RawMessage{json.RawMessage(`{"id":"m1","content":"[spinner] <b>"}`)}, f.or(faults[agencyID])
}

func (f *fake) Post(_ context.Context, _ *platform.Identity, agencyID string, m agency.NewMessage) (json.RawMessage, bool, error) {
	f.note("Post %s", strings.Join([]string{agencyID, m.Content, m.Type, string(m.Metadata), m.ReplyTo, m.ClientID}, "|"))
	return json.RawMessage(`{"id":"m1","seq":7}`), m.ClientID == "again", f.or(faults[agencyID])
}

func (f *fake) EditMessage(_ context.Context, _ *platform.Identity, agencyID, messageID, content string) (json.RawMessage, error) {
	f.note("EditMessage %s %s %s", agencyID, messageID, content)
	return json.RawMessage(`{"id":"m1","content":"new"}`), f.or(faults[messageID])
}

func (f *fake) DeleteMessage(_ context.Context, _ *platform.Identity, agencyID, messageID string) error {
	f.note("DeleteMessage %s %s", agencyID, messageID)
	return f.or(faults[messageID])
}

func (f *fake) Bootstrap(_ context.Context, agentToken string) (*platform.Bootstrap, error) {
	f.note("Bootstrap %s", agentToken)
	return &platform.Bootstrap{Soul: "# Bot <1>", Config: "a: 1\n", Skills: map[string]string{}}, f.or(faults[agentToken])
}

func (f *fake) Wallet(context.Context, *platform.Identity) (*platform.Wallet, error) {
	f.note("Wallet")
	if f.empty {
		return &platform.Wallet{Network: "base"}, f.or(nil)
	}
	return &platform.Wallet{Address: "0xAb00000000000000000000000000000000000000", Network: "base", Explorer: "https://scan/address/0xAb00000000000000000000000000000000000000", USDC: "12.5", Ether: "0", Known: true}, f.or(nil)
}

func (f *fake) RegisterWallet(_ context.Context, _ *platform.Identity, address string) (*platform.Wallet, error) {
	f.note("RegisterWallet %s", address)
	return &platform.Wallet{Address: "0xAb00000000000000000000000000000000000000", Network: "base", Explorer: "https://scan/address/0xAb00000000000000000000000000000000000000"}, f.or(faults[address])
}

func (f *fake) UnregisterWallet(context.Context, *platform.Identity) error {
	f.note("UnregisterWallet")
	return f.or(nil)
}

func (f *fake) Pay(_ context.Context, _ *platform.Identity, r platform.PaymentReport) (*platform.Paid, error) {
	f.note("Pay %s", strings.Join([]string{r.TxHash, r.AgencyID, r.To, r.Amount, r.Token}, "|"))
	return &platform.Paid{MessageID: "m1", TxHash: r.TxHash, ExplorerURL: "https://scan/tx/1"}, f.or(faults[r.AgencyID])
}

func (f *fake) WalletOwner(_ context.Context, username string) (*account.Profile, error) {
	f.note("WalletOwner %s", username)
	p := ann()
	if username == "rich" {
		p.Wallet = "0xAb00000000000000000000000000000000000000"
	}
	return p, f.or(faults[username])
}

func (f *fake) Capabilities() platform.Capabilities {
	if f.empty {
		return platform.Capabilities{}
	}
	network, token := "base", "USDC"
	return platform.Capabilities{Wallets: true, Network: &network, Token: &token}
}

func (f *fake) Skills(_ context.Context, _ *platform.Identity, agencyID string) (*platform.Skills, error) {
	f.note("Skills %s", agencyID)
	if f.empty {
		return &platform.Skills{}, f.or(nil)
	}
	return &platform.Skills{Installed: command.Skills()[:1], Available: command.Skills()[1:]}, f.or(faults[agencyID])
}

func (f *fake) InstallSkill(_ context.Context, _ *platform.Identity, agencyID, name string) (command.Skill, *platform.Skills, error) {
	f.note("InstallSkill %s %s", agencyID, name)
	return command.Skills()[0], &platform.Skills{}, f.or(faults[agencyID])
}

func (f *fake) UninstallSkill(_ context.Context, _ *platform.Identity, agencyID, name string) (command.Skill, *platform.Skills, error) {
	f.note("UninstallSkill %s %s", agencyID, name)
	return command.Skills()[0], &platform.Skills{}, f.or(faults[agencyID])
}

func (f *fake) Totals(context.Context) (platform.Totals, error) {
	return platform.Totals{Users: 1, Agents: 2, Unclaimed: 3, Agencies: 4, Messages: 5, Memberships: 6, ActiveHooks: 7, PendingClaims: 8}, f.or(f.ready)
}

func (f *fake) Ready(context.Context) error { return f.or(f.ready) }
