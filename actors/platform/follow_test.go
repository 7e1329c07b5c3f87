package platform_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"parley/actors/account"
	"parley/actors/actortest"
	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/persistence"
	"parley/persistence/storetest"
)

// checkFollows compares the two sides of every follow, and the counts of every profile.
func checkFollows(t *testing.T, w *actortest.World) {
	t.Helper()
	list := func(collection string) map[string]string {
		rows, err := w.Store.Documents(ctx, collection, persistence.Range{})
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]string{}
		for _, d := range rows {
			all[d.Key] = string(d.Data)
		}
		return all
	}
	following, followers := list(persistence.CollectionFollowing), list(persistence.CollectionFollower)
	type count struct{ following, followers int64 }
	counts := map[string]*count{}
	of := func(id string) *count {
		if counts[id] == nil {
			counts[id] = &count{}
		}
		return counts[id]
	}
	for key, doc := range following {
		from, to, _ := strings.Cut(key, "/")
		if followers[to+"/"+from] != doc {
			t.Errorf("%s follows %s since %s, and is followed since %q", from, to, doc, followers[to+"/"+from])
		}
		of(from).following++
		of(to).followers++
	}
	if len(following) != len(followers) {
		t.Errorf("%d follow, %d are followed", len(following), len(followers))
	}
	for id, doc := range list(persistence.CollectionAccount) {
		p, err := account.DecodeProfile([]byte(doc))
		if err != nil || p.Following != of(id).following || p.Followers != of(id).followers {
			t.Errorf("%s: the profile says %d and %d, there are %v, %v", id, p.Following, p.Followers, *of(id), err)
		}
		delete(counts, id)
	}
	if len(counts) != 0 {
		t.Errorf("follows of accounts that are gone: %v", counts)
	}
}

func TestFollow(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("Ann"), w.User("bob")
	bot, _ := makeAgent(w, ann, "bot")
	follow := func(who *platform.Identity, name string, want int64) {
		t.Helper()
		if f, err := w.Platform.Follow(ctx, who, name); err != nil || !f.Following || f.Followers != want {
			t.Errorf("%s follows %s: %+v, %v", who.Username, name, f, err)
		}
	}
	follow(bob, "ANN", 1)
	follow(bob, "@ann", 1)
	follow(bot, ann.ID, 2)
	follow(ann, "bot", 1)
	_, err := w.Platform.Follow(ctx, ann, "ann")
	actortest.Wants(t, "oneself", err, kernel.CodeInvalid)
	_, err = w.Platform.Unfollow(ctx, ann, "ann")
	actortest.Wants(t, "not oneself", err, kernel.CodeInvalid)
	for _, name := range []string{"none", "", "a/b", strings.Repeat("x", 100)} {
		_, err = w.Platform.Follow(ctx, ann, name)
		actortest.Wants(t, "follow "+name, err, kernel.CodeNotFound)
		_, err = w.Platform.Unfollow(ctx, ann, name)
		actortest.Wants(t, "unfollow "+name, err, kernel.CodeNotFound)
		_, err = w.Platform.Followers(ctx, name, 10, "")
		actortest.Wants(t, "followers of "+name, err, kernel.CodeNotFound)
	}
	person := func(id *platform.Identity, name string, follows bool) {
		t.Helper()
		p, err := w.Platform.Person(ctx, id, name)
		if err != nil || p.IsFollowing != follows || p.Followers != 2 || p.Following != 1 || p.ID != ann.ID {
			t.Errorf("%+v, %v", p, err)
		}
	}
	person(nil, "ann", false)
	person(bob, "aNN", true)
	person(bot, " @Ann ", true)
	person(ann, ann.ID, false)
	checkFollows(t, w)
	if f, err := w.Platform.Unfollow(ctx, bob, "ann"); err != nil || f.Following || f.Followers != 1 {
		t.Errorf("%+v, %v", f, err)
	}
	if f, err := w.Platform.Unfollow(ctx, bob, "ann"); err != nil || f.Following || f.Followers != 1 {
		t.Errorf("again: %+v, %v", f, err)
	}
	w.Crash()
	checkFollows(t, w)
	if outbox(w) != 0 {
		t.Errorf("%d errands are left", outbox(w))
	}
	if p, err := w.Platform.UpdateProfile(ctx, ann, account.ProfileUpdate{}); err != nil || p.Followers != 1 || p.Following != 1 {
		t.Errorf("after a change of the profile: %+v, %v", p, err)
	}
}

func TestFollowLists(t *testing.T) {
	w := actortest.New(t)
	star := w.User("star")
	var fans []*platform.Identity
	for i := range 23 {
		fans = append(fans, w.UserAs(fmt.Sprintf("fan%02d", i)))
		if _, err := w.Platform.Follow(ctx, fans[i], "star"); err != nil {
			t.Fatal(err)
		}
	}
	var seen []string
	for after := ""; ; {
		page, err := w.Platform.Followers(ctx, "star", 5, after)
		if err != nil || len(page) > 5 {
			t.Fatal(len(page), err)
		}
		if len(page) == 0 {
			break
		}
		for _, v := range page {
			seen = append(seen, v.Username)
			after = v.ID
		}
	}
	if len(seen) != 23 || seen[0] != "fan00" || seen[22] != "fan22" {
		t.Errorf("%v", seen)
	}
	if page, err := w.Platform.Following(ctx, "fan03", 5, ""); err != nil || len(page) != 1 || page[0].ID != star.ID || page[0].Since == 0 {
		t.Errorf("%v, %v", page, err)
	}
	if page, err := w.Platform.Followers(ctx, "star", 1000, ""); err != nil || len(page) != 23 {
		t.Errorf("%d, %v", len(page), err)
	}
	// Documents of accounts that are gone are passed over, and the page is filled from behind them.
	for _, i := range []int{0, 1, 2, 3, 5} {
		kernelDelete(t, w, fans[i])
	}
	if page, err := w.Platform.Followers(ctx, "star", 3, ""); err != nil || len(page) != 3 || page[0].Username != "fan04" || page[2].Username != "fan07" {
		t.Errorf("%v, %v", page, err)
	}
}

// kernelDelete ends an account and carries out nothing of what follows.
func kernelDelete(t *testing.T, w *actortest.World, id *platform.Identity) {
	t.Helper()
	if _, err := kernel.Ask[kernel.Done](ctx, w.Local, account.Ref(id.ID), account.Delete{}); err != nil {
		t.Fatal(err)
	}
}

func TestFollowLimit(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	var wg sync.WaitGroup
	for part := range 16 {
		wg.Go(func() {
			for i := part; i < account.MaxFollowing; i += 16 {
				if _, err := kernel.Ask[account.Followed](ctx, w.Local, account.Ref(ann.ID), account.Follow{Who: fmt.Sprint("x", i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	w.User("bob")
	_, err := w.Platform.Follow(ctx, ann, "bob")
	actortest.Wants(t, "one too many", err, kernel.CodeTaken)
	if _, err := kernel.Ask[account.Followed](ctx, w.Local, account.Ref(ann.ID), account.Unfollow{Who: "x7"}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Platform.Follow(ctx, ann, "bob"); err != nil {
		t.Error(err)
	}
}

// A crash between the two sides: the promise is kept when the server runs again.
func TestFollowCrash(t *testing.T) {
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	for round := range 2 {
		promise := []persistence.OutboxOp{{ID: "follow/" + ann.ID + "/" + bob.ID + "/r",
			Data: []byte(`{"k":"follow","w":{"ID":"` + ann.ID + `"},"o":"` + bob.ID + `","r":"r"}`)}}
		var c any = account.Follow{Who: bob.ID, Outbox: promise}
		if round == 1 {
			c = account.Unfollow{Who: bob.ID, Outbox: promise}
		}
		if _, err := kernel.Ask[account.Followed](ctx, w.Local, account.Ref(ann.ID), c); err != nil {
			t.Fatal(err)
		}
		w.Crash()
		runErrands(w)
		checkFollows(t, w)
		if p, err := w.Platform.Person(ctx, ann, "bob"); err != nil || p.Followers != int64(1-round) || p.IsFollowing != (round == 0) {
			t.Errorf("round %d: %+v, %v", round, p, err)
		}
	}
}

// Follows and their ends at once, while commits fail and actors fall asleep, and accounts end.
func TestFollowHammer(t *testing.T) {
	const people, steps = 8, 40
	w := actortest.New(t)
	var all []*platform.Identity
	for i := range people {
		all = append(all, w.UserAs(fmt.Sprint("p", i)))
	}
	var wg sync.WaitGroup
	for i := range 2 * people { // two at once for each
		wg.Go(func() {
			who := all[i%people]
			for step := range steps {
				name := fmt.Sprint("p", rand.IntN(people))
				switch n := rand.IntN(20); {
				case n < 9:
					_, _ = w.Platform.Follow(ctx, who, name)
				case n < 15:
					_, _ = w.Platform.Unfollow(ctx, who, name)
				case n < 17:
					w.Local.TellResident(account.Ref(all[rand.IntN(people)].ID), kernel.Sweep{})
				case n < 18:
					w.Faults.Script(storetest.Fault(1 + rand.IntN(2)))
				case n < 19 && step > steps/2 && i%people < 3:
					_ = w.Platform.DeleteAccount(ctx, who, nil)
				default:
					if _, err := w.Platform.Followers(ctx, name, 10, ""); err != nil && kernel.AsError(err).Code != kernel.CodeNotFound {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	w.Restart()
	runErrands(w)
	checkFollows(t, w)
}

// Deleting an account ends its follows on both sides, more than one page of them.
func TestDeleteFollows(t *testing.T) {
	const fans = 620
	w := actortest.New(t)
	star, bob := w.User("star"), w.User("bob")
	if _, err := w.Platform.Follow(ctx, star, "bob"); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for part := range 16 {
		wg.Go(func() {
			for i := part; i < fans; i += 16 {
				if _, err := w.Platform.Follow(ctx, w.UserAs(fmt.Sprint("fan", i)), "star"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if _, err := w.Platform.Follow(ctx, bob, "star"); err != nil {
		t.Fatal(err)
	}
	if err := w.Platform.DeleteAccount(ctx, star, nil); err != nil {
		t.Fatal(err)
	}
	checkFollows(t, w)
	if p, err := w.Platform.Profile(ctx, bob.ID); err != nil || p.Following != 0 || p.Followers != 0 || outbox(w) != 0 {
		t.Errorf("%+v, %v, %d errands", p, err, outbox(w))
	}
	_, err := w.Platform.Person(ctx, bob, "star")
	actortest.Wants(t, "the profile of the deleted", err, kernel.CodeNotFound)
}
