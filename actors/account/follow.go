package account

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"parley/actors/kernel"
	"parley/persistence"
)

// MaxFollowing is how many accounts one account may follow. How many follow one is not limited.
const MaxFollowing = 5000

// A follow has two sides. That it follows is the follower's: its actor keeps the document of CollectionFollowing and
// counts them. The followed account's actor keeps a copy in CollectionFollower, and counts those. It brings its side into
// step with the other's whenever SyncFollower asks it to: as often as one likes, in whatever order, the last one sees what
// holds. Counts are in the profile's document, so that reading a profile costs the same however many follow.

// followRecord is the document of either side.
type followRecord struct {
	At int64 `json:"a"` // ms
}

// DecodeFollow reads the document of either side: since when it holds, in milliseconds since 1970.
func DecodeFollow(doc []byte) (int64, error) {
	var f followRecord
	if err := json.Unmarshal(doc, &f); err != nil {
		return 0, fmt.Errorf("follow record: %w", err)
	}
	return f.At, nil
}

// counted is the body of the events followingSet and followersSet.
type counted struct {
	N int64 `json:"n"`
}

func (s *state) applyFollow(kind string, decode func(any) error) error {
	var b counted
	if err := decode(&b); err != nil {
		return err
	}
	if kind == followingSet {
		s.Following = b.N
	} else {
		s.Followers = b.N
	}
	return nil
}

// Follow makes the account follow another. It answers with Followed, also when it did already; CodeInvalid for itself,
// CodeTaken when it follows MaxFollowing.
type Follow struct {
	Who    string                 // to follow
	Outbox []persistence.OutboxOp // the promise of SyncFollower, if something changes
}

// Unfollow ends that. It answers with Followed, also when it did not follow.
type Unfollow struct {
	Who    string
	Outbox []persistence.OutboxOp // as in Follow
	Done   string                 // outbox entry that this fulfils, if any
}

// Followed says whether Follow or Unfollow changed anything.
type Followed struct{ Changed bool }

// SyncFollower brings a followed account into step with a follower. It answers with Followers.
type SyncFollower struct {
	Who  string // the follower
	Done string // outbox entry that this fulfils, if any
}

// Followers is how many follow an account.
type Followers struct{ Count int64 }

// DropFollows deletes documents of a deleted account: Following are accounts that it followed, Followers those that
// followed it, together at most persistence.MaxBatchOps. It answers with kernel.Done.
type DropFollows struct{ Following, Followers []string }

func (a *Account) follow(t *kernel.Turn, c Follow) {
	if c.Who == t.ID() {
		t.Fail(kernel.Invalid("you can't follow yourself"))
		return
	}
	a.withFollowing(t, c.Who, func(follows bool) {
		switch {
		case follows:
			t.Reply(Followed{})
		case a.s.Following >= MaxFollowing:
			t.Fail(kernel.Fail(kernel.CodeTaken, "you follow %d accounts, which is as many as one may; unfollow one first", MaxFollowing))
		default:
			_, at := t.Next()
			a.setFollowing(t, c.Who, encodeFollow(at), 1, c.Outbox)
		}
	})
}

func (a *Account) unfollow(t *kernel.Turn, c Unfollow) {
	if c.Who == t.ID() {
		t.Fail(kernel.Invalid("you can't follow yourself"))
		return
	}
	var fulfilled []persistence.OutboxOp
	if c.Done != "" {
		fulfilled = []persistence.OutboxOp{{ID: c.Done, Done: true}}
	}
	a.withFollowing(t, c.Who, func(follows bool) {
		switch {
		case follows:
			a.setFollowing(t, c.Who, nil, -1, append(c.Outbox, fulfilled...))
		case c.Done != "":
			t.Commit(kernel.Change{Outbox: fulfilled}, func() { t.Reply(Followed{}) }, nil)
		default:
			t.Reply(Followed{})
		}
	})
}

// setFollowing commits the follower's side; a nil document ends it.
func (a *Account) setFollowing(t *kernel.Turn, who string, doc []byte, delta int64, outbox []persistence.OutboxOp) {
	p := a.profile()
	p.Following += delta
	t.Commit(kernel.Change{
		Events: []persistence.Event{event(followingSet, counted{p.Following})},
		Documents: []persistence.DocumentOp{
			{Collection: persistence.CollectionFollowing, Key: persistence.Key(t.ID(), who), Data: doc},
			{Collection: persistence.CollectionAccount, Key: t.ID(), Data: p.Encode()},
		},
		Outbox: outbox,
	}, func() { t.Reply(Followed{Changed: true}) }, nil)
}

func (a *Account) withFollowing(t *kernel.Turn, who string, next func(follows bool)) {
	key := persistence.Key(t.ID(), who)
	withFollow(a, t, persistence.CollectionFollowing+"/"+who, func(ctx context.Context, s persistence.Store) (bool, error) {
		doc, err := documentOf(ctx, s, persistence.CollectionFollowing, key)
		return doc != nil, err
	}, next)
}

// sides are both sides of a follow, as the store has them: nil for one that is not.
type sides struct{ follower, followed []byte }

func (a *Account) syncFollower(t *kernel.Turn, c SyncFollower) {
	id := t.ID()
	withFollow(a, t, persistence.CollectionFollower+"/"+c.Who, func(ctx context.Context, s persistence.Store) (sides, error) {
		return readSides(ctx, s, c.Who, id)
	}, func(now sides) {
		var change kernel.Change
		if c.Done != "" {
			change.Outbox = []persistence.OutboxOp{{ID: c.Done, Done: true}}
		}
		count := a.s.Followers
		if !bytes.Equal(now.follower, now.followed) {
			switch {
			case now.followed == nil:
				count++
			case now.follower == nil:
				count--
			} // else it has ended and begun again since
			p := a.profile()
			p.Followers = count
			change.Events = []persistence.Event{event(followersSet, counted{count})}
			change.Documents = []persistence.DocumentOp{
				{Collection: persistence.CollectionFollower, Key: persistence.Key(id, c.Who), Data: now.follower},
				{Collection: persistence.CollectionAccount, Key: id, Data: p.Encode()},
			}
		}
		if change.Events == nil && change.Outbox == nil {
			t.AfterCommits(func() { t.Reply(Followers{count}) })
			return
		}
		t.Commit(change, func() { t.Reply(Followers{count}) }, nil)
	})
}

// readSides reads both sides. An account that is deleted follows nobody, although its documents are dropped one page
// after the other.
func readSides(ctx context.Context, s persistence.Store, follower, followed string) (now sides, err error) {
	now.followed, err = documentOf(ctx, s, persistence.CollectionFollower, persistence.Key(followed, follower))
	if err != nil {
		return now, err
	}
	now.follower, err = documentOf(ctx, s, persistence.CollectionFollowing, persistence.Key(follower, followed))
	if err != nil || now.follower == nil {
		return now, err
	}
	profile, err := documentOf(ctx, s, persistence.CollectionAccount, follower)
	if profile == nil {
		now.follower = nil
	}
	return now, err
}

// dropFollows is for deleted accounts alone: nobody else's counts are to be left standing.
func (a *Account) dropFollows(t *kernel.Turn, c DropFollows) {
	if a.s.exists() {
		t.Fail(kernel.Forbidden("the account is not deleted"))
		return
	}
	var change kernel.Change
	for _, who := range c.Following {
		change.Documents = append(change.Documents, persistence.DocumentOp{Collection: persistence.CollectionFollowing, Key: persistence.Key(t.ID(), who)})
	}
	for _, who := range c.Followers {
		change.Documents = append(change.Documents, persistence.DocumentOp{Collection: persistence.CollectionFollower, Key: persistence.Key(t.ID(), who)})
	}
	t.Commit(change, func() { t.Reply(kernel.Done{}) }, nil)
}

// withFollow reads what holds between this account and another, behind whatever is being committed, and goes on with it.
// Those who ask about the same account wait for each other, so that each sees what the one before it did.
func withFollow[R any](a *Account, t *kernel.Turn, gate string, read func(context.Context, persistence.Store) (R, error), next func(R)) {
	a.follows.Enter(gate, func() {
		t.AfterCommits(func() {
			kernel.Load(t, read, func(v R, err error) {
				defer a.follows.Leave(gate)
				if err == nil && !a.s.exists() {
					err = errNoAccount()
				}
				if err != nil {
					t.Fail(err)
					return
				}
				next(v)
			})
		})
	})
}

// documentOf reads a document; nil when there is none.
func documentOf(ctx context.Context, s persistence.Store, collection, key string) ([]byte, error) {
	doc, err := s.Document(ctx, collection, key)
	if errors.Is(err, persistence.ErrNotFound) {
		return nil, nil
	}
	return doc, err
}

func encodeFollow(at int64) []byte {
	doc, err := json.Marshal(followRecord{At: at})
	if err != nil {
		panic(err) // a number always encodes
	}
	return doc
}
