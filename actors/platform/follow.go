package platform

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/google/uuid"

	"parley/actors/account"
	"parley/actors/kernel"
	"parley/persistence"
)

// Limits of follows.
const (
	// MaxFollows is the largest number of accounts in one listing of followers.
	MaxFollows = 100
	// followPages is how many pages a listing reads at most, where accounts on them have just been deleted.
	followPages = 5
	// forgetAtOnce is how many accounts are told at once that one which they followed is deleted.
	forgetAtOnce = 16
)

// Following is what follows from Follow and Unfollow.
type Following struct {
	Following bool  `json:"following"` // the caller follows the account now
	Followers int64 `json:"followers"` // how many accounts do
}

// Follow makes the caller follow a user or agent, see Person for its name. Doing it again changes nothing. CodeInvalid:
// oneself; CodeTaken: the caller follows account.MaxFollowing already.
func (p *Platform) Follow(ctx context.Context, id *Identity, name string) (*Following, error) {
	return p.setFollowing(ctx, id, name, true)
}

// Unfollow ends what Follow began. Doing it again changes nothing.
func (p *Platform) Unfollow(ctx context.Context, id *Identity, name string) (*Following, error) {
	return p.setFollowing(ctx, id, name, false)
}

func (p *Platform) setFollowing(ctx context.Context, id *Identity, name string, follow bool) (*Following, error) {
	profile, err := p.person(ctx, name)
	if err != nil {
		return nil, err
	}
	sync := errand{Kind: errandFollow, Who: account.Sender{ID: id.ID}, Owner: profile.ID, Request: uuid.NewString()}
	var command any = account.Unfollow{Who: profile.ID, Outbox: []persistence.OutboxOp{sync.promise()}}
	if follow {
		command = account.Follow{Who: profile.ID, Outbox: []persistence.OutboxOp{sync.promise()}}
	}
	changed, err := kernel.Ask[account.Followed](ctx, p.Directory, account.Ref(id.ID), command)
	if err != nil {
		return nil, own(err)
	}
	if changed.Changed {
		_ = p.carryOut(ctx, sync) // postponed when it fails
	}
	if profile, err = p.Profile(ctx, profile.ID); gone(err) {
		return &Following{}, nil // deleted meanwhile: nobody follows it
	}
	if err != nil {
		return nil, err
	}
	return &Following{Following: follow, Followers: profile.Followers}, nil
}

// doFollow brings the followed account into step with its follower.
func (p *Platform) doFollow(ctx context.Context, e errand) error {
	_, err := kernel.Ask[account.Followers](ctx, p.Directory, account.Ref(e.Owner), account.SyncFollower{Who: e.Who.ID, Done: e.entry()})
	if !gone(err) {
		return err
	}
	// The followed account was deleted, and may have listed its followers before this one came.
	_, err = kernel.Ask[account.Followed](ctx, p.Directory, account.Ref(e.Who.ID), account.Unfollow{Who: e.Owner, Done: e.entry()})
	if gone(err) {
		return p.fulfil(ctx, e)
	}
	return err
}

// forgetFollows ends what a deleted account followed, and what followed it, a page at a time. What is done stays done
// when it fails.
func (p *Platform) forgetFollows(ctx context.Context, id string) error {
	err := p.forgetSide(ctx, persistence.CollectionFollowing, id, func(other string) error {
		_, err := kernel.Ask[account.Followers](ctx, p.Directory, account.Ref(other), account.SyncFollower{Who: id})
		return err
	}, func(page []string) account.DropFollows { return account.DropFollows{Following: page} })
	if err != nil {
		return err
	}
	return p.forgetSide(ctx, persistence.CollectionFollower, id, func(other string) error {
		_, err := kernel.Ask[account.Followed](ctx, p.Directory, account.Ref(other), account.Unfollow{Who: id})
		return err
	}, func(page []string) account.DropFollows { return account.DropFollows{Followers: page} })
}

// forgetSide tells each account on the other side, and drops the page of documents when all of it have been told.
func (p *Platform) forgetSide(ctx context.Context, collection, id string, tell func(other string) error, drop func([]string) account.DropFollows) error {
	for {
		rows, err := p.Store.Documents(ctx, collection, persistence.Range{Prefix: id + "/", Limit: errandPage})
		if err != nil || len(rows) == 0 {
			return err
		}
		page := make([]string, len(rows))
		for i, r := range rows {
			page[i] = strings.TrimPrefix(r.Key, id+"/")
		}
		if err := atOnce(page, tell); err != nil {
			return err
		}
		if err := p.tell(ctx, account.Ref(id), drop(page)); err != nil {
			return err
		}
	}
}

// atOnce does something for every account, a few at a time, and returns one of the errors. Accounts that are gone need
// nothing.
func atOnce(accounts []string, do func(string) error) error {
	var work sync.WaitGroup
	var mu sync.Mutex
	var failed error
	slots := make(chan struct{}, forgetAtOnce)
	for _, id := range accounts {
		slots <- struct{}{}
		work.Go(func() {
			defer func() { <-slots }()
			if err := do(id); err != nil && !gone(err) {
				mu.Lock()
				defer mu.Unlock()
				failed = err
			}
		})
	}
	work.Wait()
	return failed
}

// FollowView is one account in a listing of followers.
type FollowView struct {
	*account.Profile
	Since int64 // ms
}

// MarshalJSON renders the view in both spellings.
func (v FollowView) MarshalJSON() ([]byte, error) {
	a, since := v.Profile, account.FormatTime(v.Since)
	return json.Marshal(map[string]any{
		"id": a.ID, "username": a.Username, "displayName": a.DisplayName, "display_name": a.DisplayName, "type": a.Type,
		"is_agent": a.Type == account.Agent, "description": a.Description, "avatar": a.Avatar, "followedAt": since, "followed_at": since,
	})
}

// Followers lists those who follow a user or agent, in the order of their ids, those behind the id after. limit is clamped
// to MaxFollows.
func (p *Platform) Followers(ctx context.Context, name string, limit int, after string) ([]FollowView, error) {
	return p.follows(ctx, persistence.CollectionFollower, name, limit, after)
}

// Following lists those whom a user or agent follows, as Followers does.
func (p *Platform) Following(ctx context.Context, name string, limit int, after string) ([]FollowView, error) {
	return p.follows(ctx, persistence.CollectionFollowing, name, limit, after)
}

func (p *Platform) follows(ctx context.Context, collection, name string, limit int, after string) ([]FollowView, error) {
	whose, err := p.person(ctx, name)
	if err != nil {
		return nil, err
	}
	r := persistence.Range{Prefix: whose.ID + "/", Limit: min(max(limit, 1), MaxFollows)}
	if after != "" {
		r.After = persistence.Key(whose.ID, after)
	}
	views := make([]FollowView, 0, r.Limit)
	for range followPages {
		rows, err := p.Store.Documents(ctx, collection, r)
		if err != nil {
			return nil, kernel.AsError(err)
		}
		for _, d := range rows {
			r.After = d.Key
			v, err := p.followView(ctx, strings.TrimPrefix(d.Key, r.Prefix), d.Data)
			if gone(err) {
				continue // deleted since
			}
			if err != nil {
				return nil, err
			}
			if views = append(views, v); len(views) == cap(views) {
				return views, nil
			}
		}
		if len(rows) < r.Limit {
			break
		}
	}
	return views, nil
}

func (p *Platform) followView(ctx context.Context, id string, doc []byte) (FollowView, error) {
	since, err := account.DecodeFollow(doc)
	if err != nil {
		return FollowView{}, kernel.AsError(err)
	}
	profile, err := p.Profile(ctx, id)
	return FollowView{profile, since}, err
}
