package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
)

// provisionWorkers is how many accounts or rooms are made at one time.
const provisionWorkers = 16

// errForbidden is a 403 of the server.
var errForbidden = errors.New("forbidden")

// account is one agent that the run registered.
type account struct {
	name   string
	source netip.Addr
	agent  string   // its permanent token
	tokens []string // session tokens, one for all its connections or one for each
}

// token is the session token of the account's n-th connection.
func (a *account) token(n int) string { return a.tokens[n%len(a.tokens)] }

// room is an agency that the run made.
type room struct {
	index   int
	id      string
	owner   string  // session token of its owner
	senders []*sent // its posters, by their index in the room
	// members counts the connections that hear the room at the moment.
	members atomic.Int64
}

// provisioner makes accounts and rooms over the public API.
type provisioner struct {
	opts     options
	target   target
	run      string
	seed     uint64
	note     func(string)
	done     atomic.Int64 // accounts and rooms finished, for the progress display
	warnOnce sync.Once
}

// accounts registers n agents and opens their sessions, a few at a time.
func (p *provisioner) accounts(ctx context.Context, n int) ([]*account, error) {
	list := make([]*account, n)
	err := p.each(ctx, n, func(ctx context.Context, i int) error {
		a, err := p.account(ctx, i)
		list[i] = a
		return err
	})
	return list, err
}

func (p *provisioner) account(ctx context.Context, i int) (*account, error) {
	a := &account{name: accountName(p.run, i), source: p.target.source(i, p.seed)}
	api := p.client(a.source)
	defer api.close()
	var made struct {
		Agent struct {
			Token string `json:"token"`
		} `json:"agent"`
	}
	body := map[string]any{"name": a.name, "description": "made by parley load"}
	if err := api.call(ctx, http.MethodPost, "/api/agents/register", "", body, &made); err != nil {
		return nil, err
	}
	a.agent = made.Agent.Token
	sessions := 1
	if p.opts.OwnSessions {
		sessions = p.opts.PerAccount
	}
	for range sessions {
		var session struct {
			Token string `json:"token"`
		}
		if err := api.call(ctx, http.MethodPost, "/api/auth/agent", "", map[string]any{"agentToken": a.agent}, &session); err != nil {
			return nil, err
		}
		if session.Token == "" {
			return nil, errors.New("POST /api/auth/agent: the answer has no token")
		}
		a.tokens = append(a.tokens, session.Token)
	}
	return a, nil
}

// accountName is a handle of lower-case letters and digits, of 2 to 24 characters (decision 5).
func accountName(run string, i int) string {
	return "load" + run + strconv.FormatInt(int64(i), 36)
}

// rooms makes the run's public agencies, owned by the accounts in turn. Where agents may not make
// agencies one registered user owns them all.
func (p *provisioner) rooms(ctx context.Context, accounts []*account) ([]*room, error) {
	list := make([]*room, p.opts.Rooms)
	make1 := func(ctx context.Context, i int, token string) error {
		a := accounts[i%len(accounts)]
		r, err := p.room(ctx, i, a.source, token)
		list[i] = r
		return err
	}
	err := make1(ctx, 0, accounts[0].token(0))
	owner := ""
	if errors.Is(err, errForbidden) {
		if owner, err = p.user(ctx, accounts[0].source); err == nil {
			err = make1(ctx, 0, owner)
		}
	}
	if err != nil {
		return nil, err
	}
	err = p.each(ctx, p.opts.Rooms-1, func(ctx context.Context, i int) error {
		i++
		return make1(ctx, i, firstOf(owner, accounts[i%len(accounts)].token(0)))
	})
	return list, err
}

func (p *provisioner) room(ctx context.Context, i int, source netip.Addr, token string) (*room, error) {
	api := p.client(source)
	defer api.close()
	var made struct {
		ID string `json:"id"`
	}
	body := map[string]any{"name": fmt.Sprintf("Load %s %d", p.run, i)}
	if err := api.call(ctx, http.MethodPost, "/api/agencies", token, body, &made); err != nil {
		return nil, err
	}
	if made.ID == "" || !plainText(made.ID) {
		return nil, errors.New("POST /api/agencies: the answer has no usable id")
	}
	return &room{index: i, id: made.ID, owner: token}, nil
}

// plainText says whether a text can stand in JSON without escaping.
func plainText(s string) bool {
	for _, c := range []byte(s) {
		if c < 0x20 || c > 0x7E || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func (p *provisioner) user(ctx context.Context, source netip.Addr) (string, error) {
	api := p.client(source)
	defer api.close()
	var made struct {
		Token string `json:"token"`
	}
	body := map[string]any{
		"username": "owner" + p.run, "displayName": "Load " + p.run,
		"password": strconv.FormatUint(rand.Uint64(), 36) + strconv.FormatUint(rand.Uint64(), 36) + "pass",
	}
	err := api.call(ctx, http.MethodPost, "/api/auth/register", "", body, &made)
	return made.Token, err
}

// remove deletes the rooms.
func (p *provisioner) remove(ctx context.Context, rooms []*room) error {
	return p.each(ctx, len(rooms), func(ctx context.Context, i int) error {
		api := p.client(p.target.source(i, p.seed))
		defer api.close()
		return api.call(ctx, http.MethodDelete, "/api/agencies/"+rooms[i].id, rooms[i].owner, nil, nil)
	})
}

// each calls do for 0 to n-1, provisionWorkers at a time, and ends at the first error.
func (p *provisioner) each(ctx context.Context, n int, do func(context.Context, int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, provisionWorkers) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := do(ctx, i); err != nil {
					cancel(err)
					return
				}
				p.done.Add(1)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}
