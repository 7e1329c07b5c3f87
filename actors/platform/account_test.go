package platform_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/persistence"
)

const password = "correct horse"

var ctx = context.Background()

// signUp registers a user with a password and returns its identity and token.
func signUp(w *actortest.World, name string) (*platform.Identity, string) {
	w.T.Helper()
	token, _, err := w.Platform.RegisterUser(ctx, name, password, "")
	if err != nil {
		w.T.Fatal(err)
	}
	return identify(w, token), token
}

func identify(w *actortest.World, token string) *platform.Identity {
	w.T.Helper()
	id, err := w.Platform.Authenticate(ctx, token)
	if err != nil {
		w.T.Fatal(err)
	}
	return id
}

func counters(w *actortest.World) map[string]int64 {
	w.T.Helper()
	c, err := w.Store.Counters(ctx)
	if err != nil {
		w.T.Fatal(err)
	}
	return c
}

// outbox counts what is promised, besides the second look at ended accounts, which waits for its time.
func outbox(w *actortest.World) int {
	w.T.Helper()
	entries, err := w.Store.Outbox(ctx, "", 100)
	if err != nil {
		w.T.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		if !strings.HasPrefix(e.ID, "forget-again/") {
			n++
		}
	}
	return n
}

// runErrands does what servers do when they start, until all is done: an errand may promise another one.
func runErrands(w *actortest.World) {
	w.T.Helper()
	w.Eventually("the end of all errands", func() bool {
		p := w.NewPlatform()
		defer p.Close()
		for end := time.Now().Add(200 * time.Millisecond); outbox(w) > 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				return false
			}
		}
		return true
	})
}

func TestRegister(t *testing.T) {
	w := actortest.New(t)
	token, p, err := w.Platform.RegisterUser(ctx, "Ann", password, " Ann A. ")
	if err != nil || p.Username != "Ann" || p.DisplayName != "Ann A." || p.Type != account.User {
		t.Fatal(p, err)
	}
	id := identify(w, token)
	if id.ID != p.ID || id.PAT || !id.LoggedInAt.Equal(w.Clock.Now()) {
		t.Errorf("%+v", id)
	}
	lobby, err := w.Platform.AgencyBySlug(ctx, id, "Lobby")
	if err != nil || !lobby.IsMember || lobby.MemberCount != 1 || lobby.Type != "lobby" {
		t.Errorf("lobby: %+v, %v", lobby, err)
	}
	for _, c := range []struct {
		name, password, display string
		code                    kernel.Code
	}{
		{"ann", password, "", kernel.CodeTaken}, {"ANN", password, "", kernel.CodeTaken}, {"x", password, "", kernel.CodeInvalid},
		{"system", password, "", kernel.CodeInvalid}, {"bob", "short", "", kernel.CodeInvalid},
		{"bob", strings.Repeat("x", 1025), "", kernel.CodeInvalid}, {"bob", password, strings.Repeat("x", 65), kernel.CodeInvalid},
		{"bob", password, "a\x00", kernel.CodeInvalid},
	} {
		_, _, err := w.Platform.RegisterUser(ctx, c.name, c.password, c.display)
		actortest.Wants(t, c.name, err, c.code)
	}
	if _, _, err := w.Platform.RegisterUser(ctx, "bob", password, ""); err != nil {
		t.Errorf("a name whose registration was refused: %v", err)
	}
	if c := counters(w); c[persistence.CountUsers] != 2 || c[persistence.CountMemberships] != 2 || c[persistence.CountAgencies] != 1 {
		t.Errorf("counters: %v", c)
	}
	if n := outbox(w); n != 0 {
		t.Errorf("%d promises are left", n)
	}
}

// Of those who want one name at the same time, in whatever case, exactly one gets it.
func TestNameRace(t *testing.T) {
	w := actortest.New(t)
	for round := range 5 {
		name := fmt.Sprint("Racer", round)
		var mu sync.Mutex
		var winners []*account.Profile
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				mine := name
				if i%2 == 0 {
					mine = strings.ToUpper(name)
				}
				var p *account.Profile
				var err error
				if i%4 == 3 {
					var r *platform.Registered
					if r, err = w.Platform.RegisterAgent(ctx, platform.SelfRegistration{Name: mine}); err == nil {
						p = r.Agent
					}
				} else {
					p, err = kernel.Ask[*account.Profile](ctx, w.Local, account.Ref(fmt.Sprint("r", round, "-", i)), account.RegisterUser{
						Username: mine, PasswordHash: "x", Session: account.NewSession{ID: "s", Hash: fmt.Sprint(round, "-", i)}})
				}
				if err != nil {
					actortest.Wants(t, "a loser", err, kernel.CodeTaken)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				winners = append(winners, p)
			})
		}
		wg.Wait()
		if len(winners) != 1 {
			t.Fatalf("%d got the name %s", len(winners), name)
		}
		claim, err := w.Store.Claim(ctx, persistence.ClaimUsername, strings.ToLower(name))
		if err != nil || claim.Owner != winners[0].ID {
			t.Errorf("the claim is of %s, %v", claim.Owner, err)
		}
	}
	c := counters(w)
	if n := c[persistence.CountUsers] + c[persistence.CountAgents]; n != 5 {
		t.Errorf("counted %d accounts", n)
	}
}

func TestLogin(t *testing.T) {
	w := actortest.New(t)
	ann, _ := signUp(w, "Ann")
	bot, err := w.Platform.RegisterAgent(ctx, platform.SelfRegistration{Name: "bot"})
	if err != nil {
		t.Fatal(err)
	}
	token, p, err := w.Platform.Login(ctx, "aNN", password)
	if err != nil || p.ID != ann.ID || identify(w, token).Session == ann.Session {
		t.Fatal(p, err)
	}
	_, _, wrong := w.Platform.Login(ctx, "Ann", "wrong horse")
	for _, name := range []string{"nobody", "", bot.Agent.Username, strings.Repeat("x", 10_000), "a\x00b", "../ann", "änn"} {
		_, _, err := w.Platform.Login(ctx, name, password)
		actortest.Wants(t, name, err, kernel.CodeUnauthorized)
		if kernel.AsError(err).Message != kernel.AsError(wrong).Message {
			t.Errorf("%.20q: %v, a wrong password: %v", name, err, wrong)
		}
	}
	for _, p := range []string{"", strings.Repeat("x", 1<<20), "correct horse "} {
		_, _, err := w.Platform.Login(ctx, "Ann", p)
		actortest.Wants(t, "wrong password", err, kernel.CodeUnauthorized)
	}
	if err := w.Platform.Logout(ctx, ann); err != nil {
		t.Fatal(err)
	}
	if err := w.Platform.Logout(ctx, ann); err != nil {
		t.Errorf("a second logout: %v", err)
	}
	identify(w, token)
}

func TestAuthenticateRefuses(t *testing.T) {
	w := actortest.New(t)
	ann, token := signUp(w, "ann")
	bot, err := w.Platform.RegisterAgent(ctx, platform.SelfRegistration{Name: "bot"})
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", "x", token[:63], token + "0", "cru_" + token, bot.Token, strings.Repeat("x", 1<<20), "\x00"} {
		_, err := w.Platform.Authenticate(ctx, bad)
		actortest.Wants(t, fmt.Sprintf("%.70q", bad), err, kernel.CodeUnauthorized)
	}
	if err := w.Platform.Logout(ctx, ann); err != nil {
		t.Fatal(err)
	}
	_, err = w.Platform.Authenticate(ctx, token)
	actortest.Wants(t, "after logout", err, kernel.CodeUnauthorized)
}

func TestSessionsExpireAndAreBounded(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	open := func(n int) string {
		token := account.NewSessionToken()
		_, err := kernel.Ask[*account.Profile](ctx, w.Local, account.Ref(ann.ID), account.OpenSession{PasswordHash: "none",
			NewSession: account.NewSession{ID: fmt.Sprint(n), Hash: persistence.HashToken(token)}})
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	_, socket := w.Connect(ann)
	var tokens []string
	for i := range account.MaxSessions {
		tokens = append(tokens, open(i))
	}
	if socket.Revocations() != 1 {
		t.Errorf("the socket of the session that was one too many was told %d times", socket.Revocations())
	}
	tokens = append(tokens, open(account.MaxSessions))
	_, err := w.Platform.Authenticate(ctx, tokens[0])
	actortest.Wants(t, "the oldest of too many", err, kernel.CodeUnauthorized)
	for _, token := range tokens[1:] {
		identify(w, token)
	}
	w.Restart()
	identify(w, tokens[1])
	w.Clock.Advance(account.SessionLife - time.Second)
	identify(w, tokens[1])
	w.Clock.Advance(2 * time.Second)
	_, err = w.Platform.Authenticate(ctx, tokens[1])
	actortest.Wants(t, "expired", err, kernel.CodeUnauthorized)
}

func TestChangePassword(t *testing.T) {
	w := actortest.New(t)
	ann, token := signUp(w, "ann")
	_, pat, err := w.Platform.CreatePAT(ctx, ann, "cli", "never")
	if err != nil {
		t.Fatal(err)
	}
	second, _, err := w.Platform.Login(ctx, "ann", password)
	if err != nil {
		t.Fatal(err)
	}
	_, socket := w.Connect(ann)
	_, patSocket := w.Connect(identify(w, pat))
	actortest.Wants(t, "wrong", w.Platform.ChangePassword(ctx, ann, "wrong horse", "another horse"), kernel.CodeForbidden)
	actortest.Wants(t, "short", w.Platform.ChangePassword(ctx, ann, password, "short"), kernel.CodeInvalid)
	if err := w.Platform.ChangePassword(ctx, ann, password, "another horse"); err != nil {
		t.Fatal(err)
	}
	for _, dead := range []string{token, second} {
		_, err := w.Platform.Authenticate(ctx, dead)
		actortest.Wants(t, "a session after the change", err, kernel.CodeUnauthorized)
	}
	identify(w, pat)
	if socket.Revocations() != 1 || patSocket.Revocations() != 0 {
		t.Errorf("sockets told: %d of the session, %d of the PAT", socket.Revocations(), patSocket.Revocations())
	}
	_, _, err = w.Platform.Login(ctx, "ann", password)
	actortest.Wants(t, "the old password", err, kernel.CodeUnauthorized)
	if _, _, err := w.Platform.Login(ctx, "ann", "another horse"); err != nil {
		t.Error(err)
	}
}

func TestPATs(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	for _, c := range []struct{ name, expires string }{{"", "30d"}, {"  ", ""}, {strings.Repeat("x", 65), ""}, {"x", "2d"}, {"x", "-30d"}, {"a\x00", ""}} {
		_, _, err := w.Platform.CreatePAT(ctx, ann, c.name, c.expires)
		actortest.Wants(t, fmt.Sprintf("%q %q", c.name, c.expires), err, kernel.CodeInvalid)
	}
	terms := []string{"", "30d", "90d", "1y", "365d", "never"}
	tokens, ids := map[string]string{}, map[string]string{}
	for i := range account.MaxPATs {
		term := terms[i%len(terms)]
		p, token, err := w.Platform.CreatePAT(ctx, ann, "x", term)
		if err != nil || !strings.HasPrefix(token, p.Prefix[:8]) || strings.Contains(p.Prefix, token[8:]) {
			t.Fatal(p, err)
		}
		tokens[term], ids[term] = token, p.ID
	}
	_, _, err := w.Platform.CreatePAT(ctx, ann, "x", "")
	actortest.Wants(t, "one too many", err, kernel.CodeInvalid)
	id := identify(w, tokens["30d"])
	if !id.PAT || id.ID != ann.ID || !id.LoggedInAt.IsZero() {
		t.Errorf("%+v", id)
	}
	w.Eventually("note of the use", func() bool {
		pats, err := w.Platform.PATs(ctx, ann)
		return err == nil && len(pats) == account.MaxPATs && pats[7].UsedAt == w.Clock.Now().UnixMilli()
	})
	actortest.Wants(t, "of somebody else", w.Platform.RevokePAT(ctx, bob, ids["30d"]), kernel.CodeForbidden)
	for _, missing := range []string{"none", "", "a/b", "\x00", strings.Repeat("x", 10_000)} {
		actortest.Wants(t, "missing "+missing[:min(5, len(missing))], w.Platform.RevokePAT(ctx, bob, missing), kernel.CodeNotFound)
	}
	_, socket := w.Connect(id)
	if err := w.Platform.RevokePAT(ctx, ann, ids["30d"]); err != nil || socket.Revocations() != 1 {
		t.Fatal(err, socket.Revocations())
	}
	_, err = w.Platform.Authenticate(ctx, tokens["30d"])
	actortest.Wants(t, "revoked", err, kernel.CodeUnauthorized)
	actortest.Wants(t, "again", w.Platform.RevokePAT(ctx, ann, ids["30d"]), kernel.CodeNotFound)
	if _, _, err := w.Platform.CreatePAT(ctx, ann, "room again", ""); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		after time.Duration
		dead  string
		live  string
	}{{90*24*time.Hour - time.Second, "", "90d"}, {2 * time.Second, "90d", "1y"}, {276 * 24 * time.Hour, "1y", "never"}, {0, "365d", ""}} {
		w.Clock.Advance(c.after)
		if c.live != "" {
			identify(w, tokens[c.live])
		}
		if c.dead != "" {
			_, err := w.Platform.Authenticate(ctx, tokens[c.dead])
			actortest.Wants(t, c.dead, err, kernel.CodeUnauthorized)
		}
	}
	pats, err := w.Platform.PATs(ctx, ann)
	if err != nil || len(pats) != 4 {
		t.Errorf("%d are listed after the others expired, %v", len(pats), err)
	}
	w.Restart()
	if _, _, err := w.Platform.CreatePAT(ctx, ann, "in place of an expired one", ""); err != nil {
		t.Error(err)
	}
	identify(w, tokens["never"])
}

func TestUpdateProfile(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	s := func(v string) *string { return &v }
	p, err := w.Platform.UpdateProfile(ctx, ann, account.ProfileUpdate{DisplayName: s("A"), Avatar: s("https://x/a.png"), Description: s("d"), Theme: s("dark")})
	if err != nil || p.DisplayName != "A" || *p.Avatar != "https://x/a.png" {
		t.Fatal(p, err)
	}
	p, err = w.Platform.UpdateProfile(ctx, ann, account.ProfileUpdate{Avatar: s(""), DisplayName: s("")})
	if err != nil || p.Avatar != nil || p.DisplayName != "ann" || p.Description != "d" || *p.Theme != "dark" {
		t.Fatal(p, err)
	}
	for _, bad := range []account.ProfileUpdate{{Avatar: s("javascript:1")}, {Banner: s("x")}, {DisplayName: s(strings.Repeat("x", 65))},
		{Description: s(strings.Repeat("x", 2001))}, {Font: s("a\x00")}} {
		_, err := w.Platform.UpdateProfile(ctx, ann, bad)
		actortest.Wants(t, "bad update", err, kernel.CodeInvalid)
	}
	w.Crash()
	if p, err = w.Platform.Profile(ctx, ann.ID); err != nil || p.Description != "d" || p.Avatar != nil {
		t.Errorf("%+v, %v", p, err)
	}
	for _, missing := range []string{"", "none", ann.ID + "/x", strings.Repeat("x", 10_000), "\x00"} {
		_, err := w.Platform.Profile(ctx, missing)
		actortest.Wants(t, fmt.Sprintf("%.9q", missing), err, kernel.CodeNotFound)
	}
}

func TestDeleteAccount(t *testing.T) {
	w := actortest.New(t)
	ann, token := signUp(w, "ann")
	_, patToken, err := w.Platform.CreatePAT(ctx, ann, "cli", "")
	if err != nil {
		t.Fatal(err)
	}
	pat := identify(w, patToken)
	bot, botToken, err := w.Platform.CreateAgent(ctx, ann, platform.NewAgent{Name: "Bot"})
	if err != nil {
		t.Fatal(err)
	}
	bob := w.User("bob")
	mine, shared, foreign := w.Room(ann, "Mine", true), w.Room(ann, "Shared", false), w.Room(bob, "Foreign", false)
	w.Join(shared, bob)
	w.Join(foreign, ann)
	w.Post(ann, foreign, "I was here")
	wrong := "wrong horse"
	actortest.Wants(t, "wrong password", w.Platform.DeleteAccount(ctx, ann, &wrong), kernel.CodeForbidden)
	actortest.Wants(t, "by a PAT", w.Platform.DeleteAccount(ctx, pat, nil), kernel.CodeForbidden)
	w.Clock.Advance(10*time.Minute + time.Second)
	actortest.Wants(t, "by an old login", w.Platform.DeleteAccount(ctx, ann, nil), kernel.CodeForbidden)
	w.Clock.Advance(-2 * time.Second)
	_, socket := w.Connect(ann)
	if err := w.Platform.DeleteAccount(ctx, ann, nil); err != nil {
		t.Fatal(err)
	}
	for _, dead := range []string{token, patToken} {
		_, err := w.Platform.Authenticate(ctx, dead)
		actortest.Wants(t, "a credential of the dead", err, kernel.CodeUnauthorized)
	}
	if socket.Revocations() != 1 {
		t.Errorf("the socket was told %d times", socket.Revocations())
	}
	_, _, err = w.Platform.ExchangeAgentToken(ctx, botToken)
	actortest.Wants(t, "the token of the agent", err, kernel.CodeUnauthorized)
	for _, id := range []string{ann.ID, bot.ID} {
		_, err := w.Platform.Profile(ctx, id)
		actortest.Wants(t, "profile", err, kernel.CodeNotFound)
	}
	runErrands(w)
	checkAfterDelete(t, w, bob, mine, shared, foreign)
	again, _ := signUp(w, "Ann")
	if again.ID == ann.ID {
		t.Error("a new account has the old id")
	}
}

func checkAfterDelete(t *testing.T, w *actortest.World, bob *platform.Identity, mine, shared, foreign string) {
	t.Helper()
	_, err := w.Platform.Agency(ctx, bob, mine)
	actortest.Wants(t, "an agency without heirs", err, kernel.CodeNotFound)
	if v, err := w.Platform.Agency(ctx, bob, shared); err != nil || v.Role == nil || *v.Role != agency.Owner || v.MemberCount != 1 {
		t.Errorf("an agency with an heir: %+v, %v", v, err)
	}
	if v, err := w.Platform.Agency(ctx, bob, foreign); err != nil || v.MemberCount != 1 {
		t.Errorf("somebody else's agency: %+v, %v", v, err)
	}
	page, err := w.Platform.Messages(ctx, bob, foreign, platform.History{})
	if err != nil || len(page) != 1 {
		t.Fatal(len(page), err)
	}
	if m, err := agency.DecodeMessage(page[0]); err != nil || m.Content != "I was here" || m.SenderUsername != "deleted" || strings.Contains(string(page[0]), "ann\"") {
		t.Errorf("a message of the dead: %s, %v", page[0], err)
	}
	if c := counters(w); c[persistence.CountUsers] != 1 || c[persistence.CountAgents] != 0 || c[persistence.CountAgencies] != 3 ||
		c[persistence.CountMemberships] != 2 || c[persistence.CountMessages] != 1 {
		t.Errorf("counters: %v", c)
	}
}
