package platform_test

import (
	"fmt"
	"math/big"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/platform"
	"parley/actors/run"
	"parley/persistence"
)

// stays are the collections whose documents outlive all accounts and agencies, and why.
var stays = map[string]string{
	persistence.CollectionUpgrade: "how far the store has been brought up to date",
	persistence.CollectionSeats:   "ids of the rooms that a lost connection was in, for five minutes; see TestForgottenRooms in actors/session",
}

// lobbys are the collections with the record of the Lobby, which is made when somebody enters it.
var lobbys = []string{persistence.CollectionAgency, persistence.CollectionPublic, persistence.CollectionListing, persistence.CollectionTerm}

// collections are all that the contract with the store names, those too that come after this test was written.
func collections(t *testing.T) []string {
	t.Helper()
	source, err := os.ReadFile("../../persistence/records.go")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range regexp.MustCompile(`(?m)^\s*Collection\w+\s*= "([a-z-]+)"`).FindAllStringSubmatch(string(source), -1) {
		all = append(all, m[1])
	}
	if len(all) < 25 {
		t.Fatalf("found %d collections", len(all))
	}
	return all
}

// everything lists the documents of the store as collection: key.
func everything(t *testing.T, w *actortest.World) []string {
	t.Helper()
	var all []string
	for _, collection := range collections(t) {
		for after := ""; ; {
			rows, err := w.Store.Documents(ctx, collection, persistence.Range{After: after})
			if err != nil {
				t.Fatal(err)
			}
			if len(rows) == 0 {
				break
			}
			for _, d := range rows {
				all = append(all, collection+": "+d.Key)
				after = d.Key
			}
		}
	}
	return all
}

// live does everything in a world that leaves a document behind.
func live(t *testing.T, w *actortest.World) (people []*platform.Identity) {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ann, bob := w.User("ann"), w.User("bob")
	bot, _ := makeAgent(w, ann, "bot")
	room, open := w.Room(ann, "Secret", true), w.Room(bob, "Open", false)
	w.Join(room, bob, bot)
	w.Join(open, ann, bot)
	dm := openDM(w, ann, bob)
	for _, place := range []string{room, dm} { // a block of the index
		said := make(chan error, 1200)
		for i := range cap(said) {
			go func() {
				_, _, err := w.Platform.Post(ctx, ann, place, agency.NewMessage{Content: fmt.Sprint("word", i%10, " @bob")})
				said <- err
			}()
		}
		for range cap(said) {
			check(<-said)
		}
		w.Eventually("the index", func() bool {
			rows, err := w.Store.Documents(ctx, persistence.CollectionWord, persistence.Range{Prefix: place + "/"})
			return err == nil && len(rows) > 10
		})
		m := w.Post(bob, place, "react to this")
		for _, who := range []*platform.Identity{ann, bob} {
			_, err := w.Platform.React(ctx, who, place, m.ID, "👍", false)
			check(err)
		}
		_, err := w.Platform.EditMessage(ctx, bob, place, m.ID, "edited "+strings.Repeat("x", 300))
		check(err)
		check(w.Platform.SaveNote(ctx, ann, place, "key", "value"))
	}
	invite(w, ann, room)
	eve := w.User("eve")
	w.Join(room, eve)
	_, err := w.Platform.Ban(ctx, ann, room, eve.ID, "", "")
	check(err)
	_, _, err = w.Platform.InstallSkill(ctx, ann, room, "dice")
	check(err)
	for _, end := range []any{nil, run.Complete{Summary: "done", Transcript: []byte(`[{"type":"x"}]`)}, run.Fail{Error: "no"}} {
		id := uuid.NewString()
		check(w.Platform.StartRun(ctx, bot, id, room, w.Post(ann, room, "do it").ID))
		check(w.Platform.ActRun(ctx, bot, id, run.Status{Text: "working"}))
		check(w.Platform.ActRun(ctx, bot, id, run.Ask{ID: "p", Action: "rm"}))
		check(w.Platform.ActRun(ctx, bot, id, run.Stream{MessageID: uuid.NewString(), Content: "streamed", Done: true}))
		if end != nil {
			check(w.Platform.ActRun(ctx, bot, id, end))
		}
	}
	for _, who := range []*platform.Identity{ann, bob, bot, eve} {
		for _, name := range []string{"ann", "bob", "bot", "eve"} {
			if who.Username != name {
				_, err := w.Platform.Follow(ctx, who, name)
				check(err)
			}
		}
		for _, field := range []account.PictureField{account.AvatarField, account.BannerField} {
			_, err := w.Platform.SetPicture(ctx, who, field, drawing(t, 2))
			check(err)
		}
	}
	register(w, ann, purse1)
	register(w, bob, purse2)
	w.Chain.Mine(txHash("a"), done(transfer(purse1, purse2, 1)))
	_, err = w.Platform.Pay(ctx, ann, platform.PaymentReport{TxHash: txHash("a"), AgencyID: room, To: "bob", Amount: "0.000001"})
	check(err)
	return []*platform.Identity{ann, bob, eve}
}

// logged returns the events that still have something in them that somebody gave.
func logged(t *testing.T, w *actortest.World) (found []string) {
	t.Helper()
	streams, err := w.Store.Streams(ctx, "", "", 10_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, stream := range streams {
		if stream == persistence.Stream(persistence.StreamAgency, agency.LobbyID) {
			continue
		}
		first, _, err := w.Store.Head(ctx, stream)
		if err != nil {
			t.Fatal(err)
		}
		events, err := w.Store.Events(ctx, stream, first-1, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range events {
			for _, text := range []string{"word", "edited", "streamed", "do it", "working", "Secret", "Open", purse1} {
				if strings.Contains(string(ev.Data), text) {
					found = append(found, fmt.Sprint(stream, " ", ev.Seq, " ", ev.Kind))
				}
			}
		}
	}
	return found
}

// When all accounts end, and their agencies with them, the store holds nothing but what is said to stay: no document, no
// promise, no count. What is left in the logs are the ends.
func TestNothingStaysOfAWorld(t *testing.T) {
	w := actortest.New(t)
	w.UseChain(actortest.NewChain(new(big.Int), new(big.Int)))
	before, counted := everything(t, w), counters(w)
	people := live(t, w)
	for _, collection := range collections(t) {
		if !slices.ContainsFunc(everything(t, w), func(d string) bool { return strings.HasPrefix(d, collection+": ") }) && stays[collection] == "" {
			t.Errorf("the test makes nothing of %s", collection)
		}
	}
	for _, who := range people {
		if err := w.Platform.DeleteAccount(ctx, who, nil); err != nil {
			t.Fatal(err)
		}
	}
	runErrands(w)
	w.Clock.Advance(3 * time.Hour)
	w.Crash()
	w.Eventually("the end of all errands", func() bool {
		entries, err := w.Store.Outbox(ctx, "", 1)
		return err == nil && len(entries) == 0
	})
	known := map[string]bool{}
	for _, d := range before {
		known[d] = true
	}
	for _, d := range everything(t, w) {
		collection, _, _ := strings.Cut(d, ":")
		lobby := strings.HasSuffix(d, agency.LobbyID) && slices.Contains(lobbys, collection) // it goes on, without members
		if !known[d] && stays[collection] == "" && !lobby {
			t.Error("left: " + d)
		}
	}
	for end := time.Now().Add(20 * time.Second); len(logged(t, w)) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still in the logs: %q", logged(t, w))
		}
	}
	for name, n := range counters(w) {
		if n != counted[name] {
			t.Errorf("%s is %d, and was %d before", name, n, counted[name])
		}
	}
}
