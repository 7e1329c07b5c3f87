package agency_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/persistence"
)

// slow is a store whose reads of one kind wait for a word.
type slow struct {
	persistence.Store
	hold *atomic.Pointer[held]
}

type held struct {
	kind    string // of the claim or collection
	begun   chan struct{}
	release chan struct{}
}

func (s slow) wait(kind string) {
	if h := s.hold.Load(); h != nil && h.kind == kind && s.hold.CompareAndSwap(h, nil) {
		close(h.begun)
		<-h.release
	}
}

func (s slow) Claim(ctx context.Context, index, key string) (persistence.Claim, error) {
	s.wait(index)
	return s.Store.Claim(ctx, index, key)
}

func (s slow) Document(ctx context.Context, collection, key string) ([]byte, error) {
	s.wait(collection)
	return s.Store.Document(ctx, collection, key)
}

// Whoever is sent away while something is read for them does nothing that would come behind that in the log.
func TestNothingComesBehindADeparture(t *testing.T) {
	var hold atomic.Pointer[held]
	w := actortest.NewOver(t, func(s persistence.Store) persistence.Store { return slow{s, &hold} })
	ann := w.User("ann")
	for _, c := range []struct {
		name, kind string
		act        func(who *platform.Identity, room, own, others string) error
	}{
		{"post with a clientId", persistence.ClaimPost, func(who *platform.Identity, room, _, _ string) error {
			_, _, err := w.Platform.Post(ctx, who, room, agency.NewMessage{Content: "late", ClientID: "c"})
			return err
		}},
		{"reply", persistence.CollectionMessage, func(who *platform.Identity, room, _, others string) error {
			_, _, err := w.Platform.Post(ctx, who, room, agency.NewMessage{Content: "late", ReplyTo: others})
			return err
		}},
		{"edit", persistence.CollectionMessage, func(who *platform.Identity, room, own, _ string) error {
			_, err := w.Platform.EditMessage(ctx, who, room, own, "late")
			return err
		}},
		{"delete", persistence.CollectionMessage, func(who *platform.Identity, room, own, _ string) error {
			return w.Platform.DeleteMessage(ctx, who, room, own)
		}},
		{"reaction", persistence.CollectionMessage, func(who *platform.Identity, room, own, _ string) error {
			_, err := w.Platform.React(ctx, who, room, own, "👍", false)
			return err
		}},
		{"second reaction", persistence.CollectionReaction, func(who *platform.Identity, room, _, others string) error {
			_, err := w.Platform.React(ctx, who, room, others, "👍", false)
			return err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			room, bob := w.Room(ann, "Room", false), w.User("bob"+strings.ReplaceAll(uuid.NewString(), "-", "")[:8])
			w.Join(room, bob)
			own, others := w.Post(bob, room, "own").ID, w.Post(ann, room, "others").ID
			if _, err := w.Platform.React(ctx, ann, room, others, "👍", false); err != nil {
				t.Fatal(err)
			}
			h := &held{kind: c.kind, begun: make(chan struct{}), release: make(chan struct{})}
			hold.Store(h)
			did := make(chan error, 1)
			go func() { did <- c.act(bob, room, own, others) }()
			<-h.begun
			if err := w.Platform.Kick(ctx, ann, room, bob.ID, ""); err != nil {
				t.Fatal(err)
			}
			close(h.release)
			actortest.Wants(t, "what came late", <-did, kernel.CodeForbidden)
			if seq := w.Post(ann, room, "after").Seq; lastKind(t, w, room, seq-1) != "kicked" {
				t.Errorf("behind the kick there is an event of the kind %s", lastKind(t, w, room, seq-1))
			}
		})
	}
}

func lastKind(t *testing.T, w *actortest.World, room string, seq uint64) string {
	t.Helper()
	events, err := w.Store.Events(ctx, persistence.Stream(persistence.StreamAgency, room), seq-1, 1)
	if err != nil || len(events) != 1 {
		t.Fatal(events, err)
	}
	return events[0].Kind
}
