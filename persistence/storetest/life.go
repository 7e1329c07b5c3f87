package storetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"parley/persistence"
)

func isExists(err error) bool { return errors.Is(err, persistence.ErrExists) }

// calls are all methods of the contract that may fail, for tests of what they have in common.
var calls = []struct {
	name string
	call func(ctx context.Context, s persistence.Store) error
}{
	{"Acquire", func(ctx context.Context, s persistence.Store) error {
		_, err := s.Acquire(ctx, "agency/a", 0)
		return err
	}},
	{"Append", func(ctx context.Context, s persistence.Store) error {
		return s.Append(ctx, []*persistence.Batch{{Stream: "agency/a", Epoch: 1}})[0]
	}},
	{"Trim", func(ctx context.Context, s persistence.Store) error {
		_, err := s.Trim(ctx, "agency/a", 1, time.Time{})
		return err
	}},
	{"Events", func(ctx context.Context, s persistence.Store) error {
		_, err := s.Events(ctx, "agency/a", 0, 1)
		return err
	}},
	{"Head", func(ctx context.Context, s persistence.Store) error {
		_, _, err := s.Head(ctx, "agency/a")
		return err
	}},
	{"Document", func(ctx context.Context, s persistence.Store) error {
		_, err := s.Document(ctx, "c", "k")
		return err
	}},
	{"Documents", func(ctx context.Context, s persistence.Store) error {
		_, err := s.Documents(ctx, "c", persistence.Range{})
		return err
	}},
	{"Claim", func(ctx context.Context, s persistence.Store) error {
		_, err := s.Claim(ctx, "name", "k")
		return err
	}},
	{"Counters", func(ctx context.Context, s persistence.Store) error {
		_, err := s.Counters(ctx)
		return err
	}},
	{"Outbox", func(ctx context.Context, s persistence.Store) error {
		_, err := s.Outbox(ctx, "", 1)
		return err
	}},
	{"Streams", func(ctx context.Context, s persistence.Store) error {
		_, err := s.Streams(ctx, "", "", 1)
		return err
	}},
	{"Backup", func(ctx context.Context, s persistence.Store) error {
		_, err := s.Backup(ctx, io.Discard)
		return err
	}},
}

var lifeTests = []test{
	{"a context that has ended", func(e *env) {
		e.acquire("agency/a").write(1, nil)
		ctx, cancel := context.WithCancel(e.ctx)
		cancel()
		for _, c := range calls {
			e.Log(c.name)
			e.wants(persistence.ErrUnavailable, c.call(ctx, e.store))
		}
		e.events("agency/a", 1, 1)
		e.check(e.store.Ready(e.ctx))
	}},
	{"a closed store", func(e *env) {
		e.acquire("agency/a").write(1, nil)
		store := e.store
		e.check(store.Close())
		for _, c := range calls {
			e.Log(c.name)
			e.wants(persistence.ErrClosed, c.call(e.ctx, store))
		}
		e.wants(persistence.ErrClosed, store.Ready(e.ctx))
		e.check(store.Close())
		e.store = e.Open(e.T)
		e.events("agency/a", 1, 1)
	}},
	{"closing waits for running calls", func(e *env) {
		const writers = 8
		var wg sync.WaitGroup
		lasts := make([]uint64, writers)
		started := make(chan struct{}, writers)
		for i := range writers {
			w := e.acquire("agency/" + string(rune('a'+i)))
			wg.Go(func() {
				for once := true; ; once = false {
					err := e.store.Append(e.ctx, []*persistence.Batch{w.batch(1)})[0]
					if err != nil {
						if !errors.Is(err, persistence.ErrClosed) {
							e.Errorf("%v", err)
						}
						lasts[i] = w.last
						return
					}
					w.last++
					if once {
						started <- struct{}{}
					}
				}
			})
		}
		for range writers {
			<-started
		}
		closed := e.store
		e.check(closed.Close())
		wg.Wait()
		e.store = e.Open(e.T)
		for i, last := range lasts {
			e.events("agency/"+string(rune('a'+i)), 1, last)
		}
	}},
	{"a backup is the store", func(e *env) {
		if e.Restore == nil {
			e.Skip("the engine's harness restores no backups")
		}
		w := e.acquire("agency/a")
		w.write(5, everything("good"))
		trims(e, "agency/a", 5, time.Time{}, 0)
		w.write(5, snapshot(7))
		trims(e, "agency/a", 3, time.Time{}, 3)
		var copied bytes.Buffer
		n, err := e.store.Backup(e.ctx, &copied)
		e.check(err)
		equal(e, "bytes", n, int64(copied.Len()))
		w.write(5, deleteDocument("c", "good"))

		original := e.store
		e.store = e.Restore(e.T, copied.Bytes())
		e.events("agency/a", 4, 10)
		e.head("agency/a", 4, 10)
		e.holds("name", "good", "owner")
		e.document("c", "good", "data of good")
		counters(e, map[string]int64{"good": 1})
		outbox(e, "", 0, "good")
		restored := e.acquire("agency/a")
		if restored.epoch <= w.epoch || restored.last != 10 {
			e.Fatalf("lease of the restored: epoch %d, last %d", restored.epoch, restored.last)
		}
		restored.write(1, nil)
		e.check(e.store.Close())
		e.store = original
		e.noDocument("c", "good")
	}},
	{"a backup while writing", func(e *env) {
		if e.Restore == nil {
			e.Skip("the engine's harness restores no backups")
		}
		w := e.acquire("agency/a")
		w.write(20, nil)
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				b := w.batch(2)
				putDocument("c", "last", string(rune(w.last+2)))(b)
				if err := e.store.Append(e.ctx, []*persistence.Batch{b})[0]; err != nil {
					e.Errorf("%v", err)
					return
				}
				w.last += 2
			}
		})
		var copied bytes.Buffer
		_, err := e.store.Backup(e.ctx, &copied)
		close(stop)
		wg.Wait()
		e.check(err)
		original := e.store
		e.store = e.Restore(e.T, copied.Bytes())
		_, last, err := e.store.Head(e.ctx, "agency/a")
		e.check(err)
		e.events("agency/a", 1, last)
		if last > 20 {
			e.document("c", "last", string(rune(last)))
		}
		e.check(e.store.Close())
		e.store = original
	}},
	{"a backup that cannot be written", func(e *env) {
		e.acquire("agency/a").write(1, nil)
		if _, err := e.store.Backup(e.ctx, brokenWriter{}); err == nil {
			e.Fatal("no error")
		}
		e.acquire("agency/a").write(1, nil)
		e.events("agency/a", 1, 2)
	}},
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken") }
