package kernel

import (
	"context"
	"encoding/binary"
	"fmt"

	"parley/persistence"
)

// load acquires the stream and reads the state, in the reading pool. A stream without events is acquired only to create.
func (g *grain) load(create bool) {
	g.disown() // of an absent one: refused already, or waiting for a read that is in vain
	g.loading, g.entity = true, nil
	g.setAbsent(false)
	ok := g.sys.readers.run(func() {
		m := &loaded{owner: g}
		ctx, cancel := context.WithTimeout(context.Background(), loadTimeout)
		defer cancel()
		if !create {
			m.absent, m.err = isAbsent(ctx, g.sys.Store, g.stream)
		}
		if !m.absent && m.err == nil {
			m.lease, m.events, m.err = readState(ctx, g.sys.Store, g.stream)
		}
		g.process.Tell(m)
	})
	if !ok {
		g.abandon(ErrOverloaded)
	}
}

func isAbsent(ctx context.Context, store persistence.Store, stream string) (bool, error) {
	_, last, err := store.Head(ctx, stream)
	if err != nil {
		return false, fmt.Errorf("look at %s: %w", stream, err)
	}
	return last == 0, nil
}

func readState(ctx context.Context, store persistence.Store, stream string) (l persistence.Lease, events []persistence.Event, err error) {
	if l, err = store.Acquire(ctx, stream, 0); err != nil {
		return l, nil, fmt.Errorf("acquire %s: %w", stream, err)
	}
	from := uint64(0)
	if l.Snapshot != nil {
		from = l.Snapshot.Seq
	}
	for from < l.Last {
		page, err := store.Events(ctx, stream, from, loadPage)
		if err != nil {
			return l, nil, fmt.Errorf("read %s: %w", stream, err)
		}
		if len(page) == 0 || page[0].Seq != from+1 {
			return l, nil, fmt.Errorf("read %s: %w: events after %d are missing", stream, persistence.ErrDamaged, from)
		}
		events = append(events, page...)
		from = page[len(page)-1].Seq
	}
	return l, events, nil
}

// abandon gives up a wake: everybody who waits is told, and the next message tries again.
func (g *grain) abandon(err error) {
	g.broken, g.loading = true, false
	for _, r := range g.waiting {
		r.Reply(nil, AsError(err))
	}
	g.waiting = nil
	g.process.Stop()
}

// snapshotHeader is the size of the time that the kernel keeps in front of an entity's snapshot.
const snapshotHeader = 8

func (g *grain) restore(m *loaded) {
	if m.err != nil {
		g.sys.Log.Error("actor can't be loaded", "stream", g.stream, "error", m.err)
		g.abandon(m.err)
		return
	}
	g.entity = g.build()
	g.epoch, g.seq, g.snapSeq, g.lastAt = m.lease.Epoch, m.lease.Last, 0, 0
	if s := m.lease.Snapshot; s != nil {
		if err := g.loadSnapshot(s); err != nil {
			g.sys.Log.Error("snapshot can't be read", "stream", g.stream, "error", err)
			g.abandon(err)
			return
		}
	}
	for i := range m.events {
		if err := g.entity.Apply(&m.events[i]); err != nil {
			g.sys.Log.Error("event can't be applied", "stream", g.stream, "seq", m.events[i].Seq, "error", err)
			g.abandon(err)
			return
		}
		g.lastAt = m.events[i].At
	}
	g.loading = false
	g.setAbsent(m.absent)
	g.entity.Ready(g)
	// One by one: those behind a command that panics are not lost, and one that creates the stream starts a load anew.
	for len(g.waiting) > 0 && !g.loading && !g.broken {
		r := g.waiting[0]
		g.waiting[0] = nil
		g.waiting = g.waiting[1:]
		g.command(r)
	}
	if g.absent && g.sys.absent.Load() > maxAbsent {
		g.process.Tell(Sweep{})
	}
}

// setAbsent notes whether the stream has no events, and counts the actors of which that is true.
func (g *grain) setAbsent(absent bool) {
	switch {
	case absent && !g.absent:
		g.sys.absent.Add(1)
	case !absent && g.absent:
		g.sys.absent.Add(-1)
	}
	g.absent = absent
}

func (g *grain) loadSnapshot(s *persistence.Snapshot) error {
	if len(s.Data) < snapshotHeader {
		return fmt.Errorf("snapshot of %s: %w", g.stream, persistence.ErrDamaged)
	}
	if err := g.entity.Load(s.Version, s.Data[snapshotHeader:]); err != nil {
		return fmt.Errorf("snapshot of %s: %w", g.stream, err)
	}
	g.lastAt = int64(binary.BigEndian.Uint64(s.Data))
	g.snapSeq = s.Seq
	return nil
}

func (g *grain) snapshot() *persistence.Snapshot {
	version, data := g.entity.Snapshot()
	framed := make([]byte, snapshotHeader, snapshotHeader+len(data))
	binary.BigEndian.PutUint64(framed, uint64(g.lastAt))
	g.snapSeq = g.seq
	return &persistence.Snapshot{Seq: g.seq, Version: version, Data: append(framed, data...)}
}
