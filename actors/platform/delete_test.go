package platform_test

import (
	"context"
	"fmt"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/persistence"
)

// traces looks for an account's id in everything that is kept by key, apart from the places named in but.
func traces(t *testing.T, w *actortest.World, id string, but ...string) []string {
	t.Helper()
	var found []string
	for _, collection := range []string{persistence.CollectionAccount, persistence.CollectionMember, persistence.CollectionMembership,
		persistence.CollectionOwned, persistence.CollectionBan, persistence.CollectionFollowing, persistence.CollectionFollower} {
		rows, err := w.Store.Documents(ctx, collection, persistence.Range{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if strings.Contains(r.Key, id) || collection == persistence.CollectionAccount && strings.Contains(string(r.Data), id) {
				found = append(found, collection+": "+r.Key)
			}
		}
	}
	entries, err := w.Store.Outbox(ctx, "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.Contains(e.ID, id) {
			found = append(found, "outbox: "+e.ID)
		}
	}
	var left []string
	for _, f := range found {
		known := false
		for _, b := range but {
			known = known || strings.HasPrefix(f, b)
		}
		if !known {
			left = append(left, f)
		}
	}
	return left
}

// estate is an account with everything that an account may have.
type estate struct {
	ann, bot, bob                      *platform.Identity
	session, pat, botSession, botToken string
	shared, lonely, said, avatar       string
	socket, botSocket                  *actortest.Socket
	before, withoutAnn                 map[string]int64
}

func settle(t *testing.T, w *actortest.World) *estate {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	e := &estate{before: counters(w)}
	e.bob = w.User("bob")
	e.withoutAnn = counters(w)
	e.ann, e.session = signUp(w, "Ann")
	var err error
	_, e.pat, err = w.Platform.CreatePAT(ctx, e.ann, "cli", "never")
	check(err)
	e.bot, e.botToken = makeAgent(w, e.ann, "bot")
	_, _, err = w.Platform.VerifyAgent(ctx, e.ann, e.bot.ID)
	check(err)
	e.botSession, _, err = w.Platform.ExchangeAgentToken(ctx, e.botToken)
	check(err)
	free, err := w.Platform.RegisterAgent(ctx, platform.SelfRegistration{Name: "free"})
	check(err)
	_, err = w.Platform.ClaimAgent(ctx, e.ann, free.ClaimCode, "ann@mail.test")
	check(err)
	e.shared, e.lonely = w.Room(e.ann, "Shared", false), w.Room(e.ann, "Lonely", true)
	w.Join(e.shared, e.bob, e.bot)
	e.said = w.Post(e.ann, e.shared, "I was here").ID
	for _, f := range []struct {
		who *platform.Identity
		to  string
	}{{e.ann, "bob"}, {e.bob, "ann"}, {e.bob, "bot"}, {e.bot, "ann"}} {
		_, err := w.Platform.Follow(ctx, f.who, f.to)
		check(err)
	}
	e.avatar, err = w.Platform.SetPicture(ctx, e.ann, account.AvatarField, drawing(t, 2))
	check(err)
	_, err = w.Platform.SetPicture(ctx, e.bot, account.AvatarField, drawing(t, 2))
	check(err)
	_, e.socket = w.Connect(e.ann)
	_, e.botSocket = w.Connect(e.bot)
	return e
}

// Of an account that ends nothing stays but what it said (decision 9).
func TestNothingStaysOfAnAccount(t *testing.T) {
	w := actortest.New(t)
	e, right := settle(t, w), password
	if err := w.Platform.DeleteAccount(ctx, e.ann, &right); err != nil {
		t.Fatal(err)
	}
	checkCredentials(t, w, e)
	_, err := w.Platform.Picture(ctx, path.Base(e.avatar))
	actortest.Wants(t, "picture", err, kernel.CodeNotFound)
	if pictures(w) != 0 {
		t.Errorf("%d pictures are left", pictures(w))
	}
	for _, id := range []string{e.ann.ID, e.bot.ID} {
		// The mail of a claim and the end of one are called off when their time comes.
		if left := traces(t, w, id, "outbox: forget-again/", "outbox: mail/", "outbox: unask/"); len(left) != 0 {
			t.Errorf("left of %s: %v", id, left)
		}
	}
	checkFollows(t, w)
	if v, err := w.Platform.Agency(ctx, e.bob, e.shared); err != nil || *v.Role != agency.Owner || v.MemberCount != 1 {
		t.Errorf("the shared agency: %+v, %v", v, err)
	}
	_, err = w.Platform.Agency(ctx, e.bob, e.lonely)
	actortest.Wants(t, "the lonely agency", err, kernel.CodeNotFound)
	if page, err := w.Platform.Messages(ctx, e.bob, e.shared, platform.History{}); err != nil || len(page) != 1 || !strings.Contains(string(page[0]), e.said) ||
		!strings.Contains(string(page[0]), `"sender_username":"deleted"`) || strings.Contains(string(page[0]), "Ann") {
		t.Errorf("history: %s, %v", page, err)
	}
	after := counters(w)
	if after[persistence.CountUsers] != e.withoutAnn[persistence.CountUsers] || after[persistence.CountPendingClaims] != e.before[persistence.CountPendingClaims] ||
		after[persistence.CountAgents] != e.before[persistence.CountAgents]+1 { // the free one
		t.Errorf("counters: %v, without her %v", after, e.withoutAnn)
	}
	w.Clock.Advance(3 * time.Hour)
	p := w.NewPlatform()
	defer p.Close()
	w.Eventually("the second look at what was left behind", func() bool {
		return len(traces(t, w, e.ann.ID)) == 0 && len(traces(t, w, e.bot.ID)) == 0
	})
	checkBooks(t, w)
}

// checkCredentials tries everything that let the account in.
func checkCredentials(t *testing.T, w *actortest.World, e *estate) {
	t.Helper()
	for what, token := range map[string]string{"session": e.session, "PAT": e.pat, "session of its agent": e.botSession} {
		_, err := w.Platform.Authenticate(ctx, token)
		actortest.Wants(t, what, err, kernel.CodeUnauthorized)
	}
	_, _, err := w.Platform.ExchangeAgentToken(ctx, e.botToken)
	actortest.Wants(t, "agent token", err, kernel.CodeUnauthorized)
	_, _, err = w.Platform.Login(ctx, "ann", password)
	actortest.Wants(t, "login", err, kernel.CodeUnauthorized)
	if e.socket.Revocations() == 0 || e.botSocket.Revocations() == 0 {
		t.Error("a connection is still open")
	}
}

// A request that was let in before the account ended can do nothing that stays.
func TestActsOfTheDeleted(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	room, secret := w.Room(bob, "Room", false), w.Room(bob, "Secret", true)
	code := invite(w, bob, secret)
	if err := w.Platform.DeleteAccount(ctx, ann, nil); err != nil {
		t.Fatal(err)
	}
	_, err := w.Platform.Join(ctx, ann, room)
	actortest.Wants(t, "join", err, kernel.CodeUnauthorized)
	_, err = w.Platform.RedeemInvite(ctx, ann, code)
	actortest.Wants(t, "redeem", err, kernel.CodeUnauthorized)
	_, err = w.Platform.CreateAgency(ctx, ann, agency.NewAgency{Name: "Ghostly"})
	actortest.Wants(t, "found", err, kernel.CodeUnauthorized)
	_, _, err = w.Platform.Post(ctx, ann, room, agency.NewMessage{Content: "boo"})
	actortest.Wants(t, "post", err, kernel.CodeForbidden)
	_, _, err = w.Platform.CreateAgent(ctx, ann, platform.NewAgent{Name: "ghostbot", AgencyID: room})
	actortest.Wants(t, "create an agent", err, kernel.CodeForbidden)
	w.Eventually("nothing of it", func() bool { return len(traces(t, w, ann.ID, "outbox: forget-again/")) == 0 })
	runErrands(w)
	checkBooks(t, w)
	checkFollows(t, w)
}

func invite(w *actortest.World, by *platform.Identity, room string) string {
	w.T.Helper()
	v, err := w.Platform.CreateInvite(ctx, by, room, nil, "")
	if err != nil {
		w.T.Fatal(err)
	}
	return v.Code
}

// blind is a store that can't find out about accounts for a while.
type blind struct {
	persistence.Store
	on *atomic.Bool
}

func (b blind) Document(ctx context.Context, collection, key string) ([]byte, error) {
	if collection == persistence.CollectionAccount && b.on.Load() {
		return nil, persistence.ErrUnavailable
	}
	return b.Store.Document(ctx, collection, key)
}

// What a late request leaves behind when it could not be checked at once goes with the second look.
func TestSecondLook(t *testing.T) {
	var on atomic.Bool
	w := actortest.NewOver(t, func(s persistence.Store) persistence.Store { return blind{s, &on} })
	ann, bob := w.User("ann"), w.User("bob")
	room := w.Room(bob, "Room", false)
	if err := w.Platform.DeleteAccount(ctx, ann, nil); err != nil {
		t.Fatal(err)
	}
	on.Store(true)
	if _, err := w.Platform.Join(ctx, ann, room); err != nil {
		t.Fatal(err)
	}
	on.Store(false)
	if left := traces(t, w, ann.ID, "outbox: forget-again/"); len(left) != 2 {
		t.Fatalf("the membership: %v", left)
	}
	w.Clock.Advance(time.Minute)
	p := w.NewPlatform()
	p.Close()
	w.Clock.Advance(2 * time.Minute)
	w.Crash()
	w.Eventually("nothing of it", func() bool { return len(traces(t, w, ann.ID)) == 0 })
	checkBooks(t, w)
}

// An account ends while its sessions post, join, found and follow: what they said stays as a deleted account's, and they
// are members of nothing.
func TestDeleteWhileItActs(t *testing.T) {
	w := actortest.New(t)
	bob := w.User("bob")
	rooms := []string{w.Room(bob, "One", false), w.Room(bob, "Two", false)}
	for round := range 12 {
		ann := w.User(fmt.Sprint("ann", round))
		w.Join(rooms[0], ann)
		var wg sync.WaitGroup
		start := make(chan struct{})
		for i := range 6 {
			wg.Go(func() {
				<-start
				for step := range 10 {
					switch (i + step) % 5 {
					case 0:
						_, _ = w.Platform.Join(ctx, ann, rooms[1])
					case 1:
						_, _ = w.Platform.CreateAgency(ctx, ann, agency.NewAgency{Name: "Haste"})
					case 2:
						_, _ = w.Platform.Follow(ctx, ann, "bob")
					case 3:
						_, _ = w.Platform.SetPicture(ctx, ann, account.AvatarField, drawing(t, 2))
					default:
						_, _, _ = w.Platform.Post(ctx, ann, rooms[0], agency.NewMessage{Content: "still here"})
					}
				}
			})
		}
		wg.Go(func() {
			<-start
			if err := w.Platform.DeleteAccount(ctx, ann, nil); err != nil {
				t.Error(err)
			}
		})
		close(start)
		wg.Wait()
		w.Eventually("nothing of "+ann.Username, func() bool { return len(traces(t, w, ann.ID, "outbox: forget-again/")) == 0 })
	}
	runErrands(w)
	checkBooks(t, w)
	checkFollows(t, w)
	if pictures(w) != 0 {
		t.Errorf("%d pictures are left", pictures(w))
	}
	page, err := w.Platform.Messages(ctx, bob, rooms[0], platform.History{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range page {
		if !strings.Contains(string(m), `"sender_username":"deleted"`) {
			t.Errorf("%s", m)
		}
	}
}

// TestRequestsOfTheDeleted: what was let in just before an account ended is told that there is no account to act for, not
// that something is missing that it asked for.
func TestRequestsOfTheDeleted(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	password := "correct horse"
	ann.LoggedInAt = w.Clock.Now()
	if err := w.Platform.DeleteAccount(ctx, ann, nil); err != nil {
		t.Fatal(err)
	}
	for name, act := range map[string]func() error{
		"change the profile":  func() error { _, err := w.Platform.UpdateProfile(ctx, ann, account.ProfileUpdate{}); return err },
		"change the password": func() error { return w.Platform.ChangePassword(ctx, ann, password, "correct horse 2") },
		"delete again":        func() error { return w.Platform.DeleteAccount(ctx, ann, &password) },
		"make a token":        func() error { _, _, err := w.Platform.CreatePAT(ctx, ann, "x", "never"); return err },
		"list tokens":         func() error { _, err := w.Platform.PATs(ctx, ann); return err },
		"register a wallet": func() error {
			_, err := w.Platform.RegisterWallet(ctx, ann, "0x52908400098527886E0F7030069857D2E4169EE7")
			return err
		},
		"unregister a wallet": func() error { return w.Platform.UnregisterWallet(ctx, ann) },
		"follow":              func() error { _, err := w.Platform.Follow(ctx, ann, bob.Username); return err },
		"sign out":            func() error { return w.Platform.Logout(ctx, ann) },
	} {
		actortest.Wants(t, name, act(), kernel.CodeUnauthorized)
	}
}
