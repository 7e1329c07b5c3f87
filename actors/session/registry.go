package session

import (
	"sync"
	"sync/atomic"

	"parley/actors/account"
	"parley/actors/kernel"
	"parley/actors/mirror"
	"parley/actors/platform"
)

// MaxConnections is the number of live connections that one account may have (decision 31).
const MaxConnections = 20

const registryShards = 64

// Registry knows the live sessions of this process by account. It is the account's Revoker and the platform's Live.
type Registry struct {
	shards [registryShards]registryShard
	live   atomic.Int64
	rooms  keeper
}

type registryShard struct {
	sync.RWMutex
	accounts map[string][]*Session
	touched  map[string]struct{} // accounts that came or went since the watch looked, nil without one
}

// touch notes that an account came or went. The caller holds the lock.
func (sh *registryShard) touch(account string) {
	if sh.touched != nil {
		sh.touched[account] = struct{}{}
	}
}

var (
	_ account.Revoker = (*Registry)(nil)
	_ platform.Live   = (*Registry)(nil)
	_ mirror.Live     = (*Registry)(nil)
)

// NewRegistry makes an empty registry.
func NewRegistry() *Registry {
	r := &Registry{}
	for i := range r.shards {
		r.shards[i].accounts = map[string][]*Session{}
	}
	return r
}

func (r *Registry) shard(account string) *registryShard {
	h := uint32(2166136261)
	for i := 0; i < len(account); i++ {
		h = (h ^ uint32(account[i])) * 16777619
	}
	return &r.shards[h%registryShards]
}

func (r *Registry) add(s *Session) error {
	id := s.Who().ID
	sh := r.shard(id)
	sh.Lock()
	defer sh.Unlock()
	list := sh.accounts[id]
	if len(list) >= MaxConnections {
		return kernel.Fail(kernel.CodeLimited, "too many connections: an account may have %d", MaxConnections)
	}
	sh.accounts[id] = append(list, s)
	if len(list) == 0 {
		sh.touch(id)
	}
	r.live.Add(1)
	return nil
}

func (r *Registry) remove(s *Session) {
	id := s.Who().ID
	sh := r.shard(id)
	sh.Lock()
	defer sh.Unlock()
	list := sh.accounts[id]
	for i, other := range list {
		if other == s {
			list[i] = list[len(list)-1]
			list[len(list)-1] = nil
			list = list[:len(list)-1]
			r.live.Add(-1)
			if len(list) == 0 {
				sh.touch(id)
			}
			break
		}
	}
	if len(list) == 0 {
		delete(sh.accounts, id)
		return
	}
	sh.accounts[id] = list
}

func (r *Registry) of(account string) []*Session {
	sh := r.shard(account)
	sh.RLock()
	defer sh.RUnlock()
	return append([]*Session(nil), sh.accounts[account]...)
}

// Len returns the number of live sessions.
func (r *Registry) Len() int { return int(r.live.Load()) }

// Online implements platform.Live.
func (r *Registry) Online(account string) bool {
	sh := r.shard(account)
	sh.RLock()
	defer sh.RUnlock()
	return len(sh.accounts[account]) > 0
}

// Deliver implements platform.Live.
func (r *Registry) Deliver(account, event string, data []byte) {
	e := &mirror.Event{Name: event, Data: data}
	for _, s := range r.of(account) {
		s.socket.Deliver(e)
	}
}

// Revoke implements account.Revoker.
func (r *Registry) Revoke(account string, sessions ...string) {
	for _, s := range r.of(account) {
		for _, id := range sessions {
			if s.id == id {
				s.socket.Revoked()
			}
		}
	}
}

// RevokeAll implements account.Revoker.
func (r *Registry) RevokeAll(account string) {
	for _, s := range r.of(account) {
		s.socket.Revoked()
	}
}

// Renamed implements account.Revoker.
func (r *Registry) Renamed(who account.Sender) {
	for _, s := range r.of(who.ID) {
		s.who.Store(&who)
	}
}

// Accounts implements mirror.Live.
func (r *Registry) Accounts() []string {
	list := make([]string, 0, r.Len())
	for i := range r.shards {
		sh := &r.shards[i]
		sh.RLock()
		for account := range sh.accounts {
			list = append(list, account)
		}
		sh.RUnlock()
	}
	return list
}

// Sockets implements mirror.Live.
func (r *Registry) Sockets(account string) []mirror.Socket {
	sh := r.shard(account)
	sh.RLock()
	defer sh.RUnlock()
	list := make([]mirror.Socket, len(sh.accounts[account]))
	for i, s := range sh.accounts[account] {
		list[i] = s.socket
	}
	return list
}

// Restart implements mirror.Live.
func (r *Registry) Restart(account string) {
	for _, s := range r.of(account) {
		s.socket.Restart()
	}
}

// all are the live sessions of a shard.
func (sh *registryShard) all() []*Session {
	sh.RLock()
	defer sh.RUnlock()
	list := make([]*Session, 0, len(sh.accounts))
	for _, sessions := range sh.accounts {
		list = append(list, sessions...)
	}
	return list
}
