package session

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"parley/persistence"
)

// Limits of what is kept for connections that come back (clients.md 6.2).
const (
	// KeepRooms is how long the rooms of a lost connection are kept.
	KeepRooms = 5 * time.Minute
	// maxKept is the number of lost connections whose rooms are remembered; of more, some are forgotten.
	maxKept = 100_000
	// keepBatch is the number of documents that one commit writes, and keepBatchBytes their size in bytes.
	keepBatch      = 2000
	keepBatchBytes = 8 << 20
)

// keeper remembers the rooms of connections, so that one that comes back by the same credential gets them again. Rooms of
// live connections are in documents too, written within a second of a change: they are for the time after a crash.
type keeper struct {
	mu    sync.Mutex
	on    bool                // somebody writes and tidies up
	lost  map[string]lost     // by id of the login session or PAT
	dirty map[string]rooms    // to be written; none: to be deleted
	store persistence.Store   // nil before it is on
	until time.Time           // up to here the documents of an earlier life count
	taken map[string]struct{} // whose documents of an earlier life count no more
}

// rooms are the ids of agencies, as a document.
type rooms struct {
	Agencies []string `json:"r"`
}

type lost struct {
	rooms []string
	until time.Time
}

// changed notes the rooms of a live connection.
func (k *keeper) changed(id string, now []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.on && id != "" {
		k.dirty[id] = rooms{now}
		k.took(id)
	}
}

// took notes that a document of an earlier life counts no more.
func (k *keeper) took(id string) {
	if k.taken != nil {
		k.taken[id] = struct{}{}
	}
}

// forget drops what is kept of a connection that its client has ended.
func (k *keeper) forget(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.on && id != "" {
		delete(k.lost, id)
		k.dirty[id] = rooms{}
		k.took(id)
	}
}

// lose keeps the rooms of a connection that was lost.
func (k *keeper) lose(id string, left []string, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.on || id == "" || len(left) == 0 {
		return
	}
	if len(k.lost) >= maxKept {
		for other := range k.lost {
			delete(k.lost, other)
			k.dirty[other] = rooms{}
			break
		}
	}
	k.lost[id] = lost{left, now.Add(KeepRooms)}
	k.took(id)
}

// recall is take without a look at an earlier life.
func (k *keeper) recall(id string, now time.Time) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	l := k.lost[id]
	delete(k.lost, id)
	if !now.Before(l.until) {
		return nil
	}
	return l.rooms
}

// take returns the rooms of the last connection by a credential, if it was lost and that is not long ago.
func (k *keeper) take(ctx context.Context, id string, now time.Time) []string {
	k.mu.Lock()
	l, known := k.lost[id]
	delete(k.lost, id)
	_, taken := k.taken[id]
	read := !known && k.store != nil && !taken && id != "" && now.Before(k.until)
	k.took(id)
	store := k.store
	k.mu.Unlock()
	if known && now.Before(l.until) {
		return l.rooms
	}
	if !read {
		return nil
	}
	doc, err := store.Document(ctx, persistence.CollectionSeats, id)
	var r rooms
	if err != nil || json.Unmarshal(doc, &r) != nil {
		return nil // it comes back without rooms, as if it had taken longer
	}
	return r.Agencies
}

// expired drops what was kept long enough.
func (k *keeper) expire(now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for id, l := range k.lost {
		if !now.Before(l.until) {
			delete(k.lost, id)
			k.dirty[id] = rooms{}
		}
	}
}

// scribe writes the documents. It is the only writer of its stream.
type scribe struct {
	keeper *keeper
	store  persistence.Store
	stream string
	lease  *persistence.Lease
	log    *slog.Logger
	swept  bool   // documents of an earlier life are gone
	after  string // up to where they were looked at
}

// start lets a keeper work. The documents of an earlier life count for as long as rooms are kept.
func (k *keeper) start(store persistence.Store, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.on, k.store, k.until = true, store, now.Add(KeepRooms)
	k.lost, k.dirty, k.taken = map[string]lost{}, map[string]rooms{}, map[string]struct{}{}
}

// write brings the documents up to date.
func (s *scribe) write(ctx context.Context) {
	for {
		ops, batch := s.next()
		if len(ops) == 0 {
			return
		}
		if err := s.commit(ctx, ops); err != nil {
			s.log.Warn("rooms of connections can't be written", "error", err)
			s.putBack(batch)
			return
		}
	}
}

// next takes a batch of what is to be written.
func (s *scribe) next() (ops []persistence.DocumentOp, batch map[string]rooms) {
	k := s.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	batch = map[string]rooms{}
	size := 0
	for id, r := range k.dirty {
		if len(ops) == keepBatch || size > keepBatchBytes {
			break
		}
		op := persistence.DocumentOp{Collection: persistence.CollectionSeats, Key: id}
		if len(r.Agencies) > 0 {
			data, err := json.Marshal(r)
			if err != nil {
				panic(err) // texts always encode
			}
			op.Data = data
			size += len(data)
		}
		ops = append(ops, op)
		batch[id] = r
		delete(k.dirty, id)
	}
	return ops, batch
}

// putBack returns what could not be written, unless it has changed since.
func (s *scribe) putBack(batch map[string]rooms) {
	s.keeper.mu.Lock()
	defer s.keeper.mu.Unlock()
	for id, r := range batch {
		if _, newer := s.keeper.dirty[id]; !newer {
			s.keeper.dirty[id] = r
		}
	}
}

func (s *scribe) commit(ctx context.Context, ops []persistence.DocumentOp) error {
	if s.lease == nil {
		lease, err := s.store.Acquire(ctx, s.stream, 0)
		if err != nil {
			return err
		}
		s.lease = &lease
	}
	b := &persistence.Batch{Stream: s.stream, Epoch: s.lease.Epoch, Expect: s.lease.Last, Documents: ops}
	err := s.store.Append(ctx, []*persistence.Batch{b})[0]
	if errors.Is(err, persistence.ErrFenced) {
		s.lease = nil
	}
	return err
}

// sweep deletes, once their time has passed, the documents of an earlier life whose connections did not come back.
func (s *scribe) sweep(ctx context.Context, now time.Time) {
	k := s.keeper
	if s.swept || now.Before(k.until) {
		return
	}
	page, err := s.store.Documents(ctx, persistence.CollectionSeats, persistence.Range{After: s.after, Limit: keepBatch})
	if err != nil {
		s.log.Warn("rooms of connections can't be read", "error", err)
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, d := range page {
		s.after = d.Key
		if _, own := k.taken[d.Key]; !own {
			k.dirty[d.Key] = rooms{}
		}
	}
	if len(page) == 0 {
		s.swept = true
		k.taken = nil
	}
}

// stop writes what is left.
func (s *scribe) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), watchTimeout)
	defer cancel()
	s.write(ctx)
}

// Kept says until when the rooms of a lost connection are kept; zero for none.
func (r *Registry) Kept(id string) time.Time {
	r.rooms.mu.Lock()
	defer r.rooms.mu.Unlock()
	return r.rooms.lost[id].until
}
