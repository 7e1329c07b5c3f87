package kernel

import (
	"hash/maphash"
	"strings"
	"sync"
	"time"
)

// Sleep of actors.
const (
	sweepEvery = 15 * time.Second
	// idleAfter is how long an actor may be without a message before it is asked to sleep.
	idleAfter = 90 * time.Second
	dirShards = 64
)

// Factory makes the behavior of one actor of a kind.
type Factory func(id string) Behavior

// Local is the directory of one process: every actor lives here.
type Local struct {
	sys    *System
	seed   maphash.Seed
	kinds  map[Kind]Factory
	shards [dirShards]shard
	ended  chan struct{}
	swept  sync.WaitGroup
	idle   time.Duration
}

type shard struct {
	sync.Mutex
	actors map[Ref]*resident
}

type resident struct {
	process  *Process
	lastUsed int64 // unix nanoseconds, under the shard's lock
}

// Sweep asks an actor whether it can sleep; it stops itself if it can.
type Sweep struct{}

var _ Directory = (*Local)(nil)

// NewLocal starts an empty directory and its sweeper; Close ends both.
func NewLocal(sys *System) *Local {
	l := &Local{sys: sys, seed: maphash.MakeSeed(), kinds: map[Kind]Factory{}, ended: make(chan struct{}), idle: idleAfter}
	for i := range l.shards {
		l.shards[i].actors = map[Ref]*resident{}
	}
	l.swept.Add(1)
	go l.sweeper()
	return l
}

// Register says how actors of a kind are made. It must be called before the first message to that kind.
func (l *Local) Register(k Kind, f Factory) { l.kinds[k] = f }

// Tell implements Directory.
func (l *Local) Tell(ref Ref, msg any) { l.post(ref, msg) }

// TellResident posts a message to an actor that is awake, and reports whether it was.
func (l *Local) TellResident(ref Ref, msg any) bool {
	sh := l.shard(ref)
	sh.Lock()
	r := sh.actors[ref]
	sh.Unlock()
	if r == nil {
		return false
	}
	r.process.Tell(msg)
	return true
}

// Resident reports whether an actor is awake.
func (l *Local) Resident(ref Ref) bool {
	sh := l.shard(ref)
	sh.Lock()
	defer sh.Unlock()
	return sh.actors[ref] != nil
}

// maxID is the longest id of an actor, in bytes.
const maxID = 128

// validID reports whether an actor can have this id: ids come from outside, and become part of keys in the store.
func validID(id string) bool {
	return id != "" && len(id) <= maxID && !strings.ContainsAny(id, "/\x00")
}

// Call implements Directory. An id that no actor can have is answered with CodeNotFound.
func (l *Local) Call(ref Ref, command any, reply func(any, error)) {
	if !validID(ref.ID) {
		reply(nil, NotFound("there is no such %s", ref.Kind))
		return
	}
	l.dispatch(ref, &call{ref: ref, command: command, reply: reply, dir: l})
}

func (l *Local) dispatch(ref Ref, c *call) { l.post(ref, c) }

func (l *Local) shard(ref Ref) *shard {
	var h maphash.Hash
	h.SetSeed(l.seed)
	_, _ = h.WriteString(ref.ID)
	return &l.shards[h.Sum64()%dirShards]
}

// post wakes the actor if it sleeps and posts to it.
func (l *Local) post(ref Ref, msg any) {
	sh := l.shard(ref)
	sh.Lock()
	r := sh.actors[ref]
	if r == nil {
		r = &resident{process: l.spawn(ref, sh)}
		sh.actors[ref] = r
	}
	r.lastUsed = l.sys.Now().UnixNano()
	p := r.process
	sh.Unlock()
	p.Tell(msg)
}

func (l *Local) spawn(ref Ref, sh *shard) *Process {
	make, ok := l.kinds[ref.Kind]
	if !ok {
		panic("no factory for actors of kind " + string(ref.Kind))
	}
	p := &Process{sys: l.sys, box: &mailbox{limit: MailboxLimit}}
	p.onStop = func() {
		sh.Lock()
		if r := sh.actors[ref]; r != nil && r.process == p {
			delete(sh.actors, ref)
		}
		sh.Unlock()
	}
	l.sys.supervised(p, func() Behavior { return make(ref.ID) })
	return p
}

func (l *Local) sweeper() {
	defer l.swept.Done()
	t := time.NewTicker(sweepEvery)
	defer t.Stop()
	for {
		select {
		case <-l.ended:
			return
		case <-t.C:
			l.sweep(l.sys.Now().Add(-l.idle).UnixNano())
		}
	}
}

// sweep asks the actors that were not used since then to sleep.
func (l *Local) sweep(since int64) {
	var idle []*Process
	for i := range l.shards {
		sh := &l.shards[i]
		sh.Lock()
		for _, r := range sh.actors {
			if r.lastUsed < since {
				idle = append(idle, r.process)
			}
		}
		sh.Unlock()
	}
	for _, p := range idle {
		p.Tell(Sweep{})
	}
}

// Awake returns the number of actors that are awake.
func (l *Local) Awake() int {
	n := 0
	for i := range l.shards {
		l.shards[i].Lock()
		n += len(l.shards[i].actors)
		l.shards[i].Unlock()
	}
	return n
}

// drainPoll is how often Close looks whether the actors have gone.
const drainPoll = 5 * time.Millisecond

// Close ends the sweeper, asks every actor to finish and sleep, and waits for that until the deadline.
func (l *Local) Close(deadline time.Time) {
	close(l.ended)
	l.swept.Wait()
	for l.Awake() > 0 && time.Now().Before(deadline) {
		l.sweep(1<<63 - 1)
		time.Sleep(drainPoll)
	}
}
