package bolt

import (
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"parley/persistence"
)

// checkpointer moves frozen overlays into the store's file, in a goroutine of its own.
type checkpointer struct {
	stack *stack
	wal   *wal
	log   *slog.Logger

	work chan *overlay // has room for the one that can be frozen
	kick chan struct{} // ends a pause between attempts
	quit chan struct{}
	done chan struct{}

	failing atomic.Int64 // when the first of the failed attempts ended, in nanoseconds since 1970; 0 when the last went well

	mu    sync.Mutex
	ended chan struct{} // closed at the end of an attempt, and replaced
}

func startCheckpointer(s *stack, l *wal, log *slog.Logger) *checkpointer {
	c := &checkpointer{
		stack: s, wal: l, log: log,
		work:  make(chan *overlay, 1),
		kick:  make(chan struct{}, 1),
		quit:  make(chan struct{}),
		done:  make(chan struct{}),
		ended: make(chan struct{}),
	}
	go c.run()
	return c
}

// stop ends the goroutine after the attempt that it makes. What is frozen may not be in the file.
func (c *checkpointer) stop() {
	close(c.quit)
	<-c.done
}

func (c *checkpointer) run() {
	defer close(c.done)
	for {
		select {
		case <-c.quit:
			return
		case o := <-c.work:
			c.persist(o)
		}
	}
}

// persist tries until the overlay is in the file.
func (c *checkpointer) persist(o *overlay) {
	for pause := retryFirst; ; pause = min(2*pause, retryMax) {
		err := c.attempt(o, true)
		if err == nil {
			return
		}
		timer := time.NewTimer(pause)
		select {
		case <-c.quit:
			timer.Stop()
			return
		case <-c.kick:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// attempt writes the frozen overlay to the file and lets go of it and of its segment. open is what the file then says
// of its log. It wakes those who wait for the end of an attempt.
func (c *checkpointer) attempt(o *overlay, open bool) error {
	err := writeOverlay(c.stack.db, o, logState{covered: o.last, open: open})
	if err == nil {
		c.stack.thaw()
		c.wal.release(o.segment)
		c.failing.Store(0)
	} else {
		c.log.Error("moving records from the log to the store's file failed", "error", err)
		c.failing.CompareAndSwap(0, time.Now().UnixNano())
	}
	c.mu.Lock()
	close(c.ended)
	c.ended = make(chan struct{})
	c.mu.Unlock()
	return err
}

// end returns what is closed when the attempt ends that is being made now, or the next one.
func (c *checkpointer) end() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// hurry ends the pause between two attempts.
func (c *checkpointer) hurry() {
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// writeOverlay moves an overlay into the file, in transactions of limited size: only the last says that the records are
// there, and doing the others twice does no harm.
func writeOverlay(db *bbolt.DB, o *overlay, state logState) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("checkpoint: %v: %w", r, persistence.ErrDamaged)
		}
	}()
	m := mover{db: db}
	defer m.rollback()
	tables := *o.tables.Load()
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		if err := m.table(name, tables[name]); err != nil {
			return fmt.Errorf("checkpoint %s: %w", name, err)
		}
	}
	if err := m.begin(); err != nil {
		return err
	}
	if err := putLogState(m.tx, state); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	return m.commit()
}

// mover fills transactions of a checkpoint.
type mover struct {
	db    *bbolt.DB
	tx    *bbolt.Tx
	rows  int
	bytes int
}

func (m *mover) begin() error {
	if m.tx != nil {
		return nil
	}
	tx, err := m.db.Begin(true)
	if err != nil {
		return fmt.Errorf("begin a checkpoint: %w", err)
	}
	m.tx, m.rows, m.bytes = tx, 0, 0
	return nil
}

func (m *mover) commit() error {
	err := m.tx.Commit()
	m.rollback()
	if err != nil {
		return fmt.Errorf("commit a checkpoint: %w", err)
	}
	return nil
}

func (m *mover) rollback() {
	if m.tx != nil {
		_ = m.tx.Rollback() // says that a committed one is closed
		m.tx = nil
	}
}

func (m *mover) table(name string, l *list) error {
	var b *bbolt.Bucket
	for n := l.root.next[0].Load(); n != nil; n = n.next[0].Load() {
		v := n.latest.Load()
		if v == nil {
			continue // undone
		}
		if m.tx != nil && (m.rows >= checkpointRows || m.bytes >= checkpointBytes) {
			if err := m.commit(); err != nil {
				return err
			}
		}
		if m.tx == nil || b == nil {
			var err error
			if b, err = m.bucket(name, v.value != nil); err != nil {
				return err
			}
		}
		if err := m.move(b, n.key, v.value); err != nil {
			return err
		}
	}
	return nil
}

// bucket returns a bucket of the current transaction, nil when there is none and create is false.
func (m *mover) bucket(name string, create bool) (*bbolt.Bucket, error) {
	if err := m.begin(); err != nil {
		return nil, err
	}
	b := m.tx.Bucket([]byte(name))
	if b == nil && create {
		var err error
		if b, err = m.tx.CreateBucket([]byte(name)); err != nil {
			return nil, err
		}
	}
	if b != nil {
		b.FillPercent = pageFill
	}
	return b, nil
}

func (m *mover) move(b *bbolt.Bucket, key, value []byte) error {
	m.rows++
	m.bytes += len(key) + len(value)
	switch {
	case value != nil:
		return b.Put(key, value)
	case b != nil:
		return b.Delete(key)
	}
	return nil
}
