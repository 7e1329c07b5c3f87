package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"parley/persistence"
)

// sample is a store with a log, documents, a claim, a counter, an outbox entry and a snapshot.
func sample(t *testing.T, path string) *Store {
	t.Helper()
	s := open(t, path, nil)
	lease, err := s.Acquire(t.Context(), "agency/a", 0)
	if err != nil {
		t.Fatal(err)
	}
	var batches []*persistence.Batch
	for i := range uint64(10) {
		batches = append(batches, &persistence.Batch{
			Stream: "agency/a", Epoch: lease.Epoch, Expect: i,
			Events:    []persistence.Event{{Seq: i + 1, At: 5, Kind: "kind", Data: []byte("data")}},
			Documents: []persistence.DocumentOp{{Collection: "c", Key: string(rune('a' + i)), Data: []byte("doc")}},
			Claims:    []persistence.ClaimOp{{Index: "name", Key: "k", Owner: "o"}},
			Counters:  []persistence.CounterOp{{Name: "n", Delta: 1}},
			Outbox:    []persistence.OutboxOp{{ID: "id", Data: []byte("x")}},
			Snapshot:  &persistence.Snapshot{Seq: i, Data: []byte("state")},
		})
	}
	for _, err := range s.Append(t.Context(), batches) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.Trim(t.Context(), "agency/a", 4, time.Time{}); n != 4 || err != nil {
		t.Fatal(n, err)
	}
	return s
}

// inFile moves everything into the file and returns that.
func inFile(t *testing.T, s *Store) *bbolt.DB {
	t.Helper()
	tx, err := s.committer.pin(t.Context())
	if err == nil {
		err = tx.Rollback()
	}
	if err != nil {
		t.Fatal(err)
	}
	return s.db
}

func TestVerifyCounts(t *testing.T) {
	s := sample(t, filepath.Join(t.TempDir(), "parley.db"))
	defer func() { _ = s.Close() }()
	r, err := s.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Streams != 1 || r.Events != 6 || r.Snapshots != 1 || r.Documents != 10 || r.Claims != 1 || r.Outbox != 1 || r.Problems != 0 {
		t.Errorf("report %+v", r)
	}
}

func TestVerifyFinds(t *testing.T) {
	t.Parallel()
	key := eventKey(nil, "agency/a", 7)
	forge := func(tx *bbolt.Tx, change func(e *persistence.Event, c *chain)) error {
		b := tx.Bucket(bucketEvents)
		old, err := decodeEvent(key, b.Get(key))
		if err != nil {
			return err
		}
		e := persistence.Event{Seq: 7, At: old.at, Kind: string(old.kind), Data: bytes.Clone(old.data)}
		change(&e, &old.chain)
		return b.Put(key, encodeEvent(key, make([]byte, eventSize(&e)), old.chain, &e))
	}
	first := func(b *bbolt.Bucket, change func(k, v []byte) error) error {
		k, v := b.Cursor().First()
		return change(bytes.Clone(k), bytes.Clone(v))
	}
	flip := func(name string) func(tx *bbolt.Tx) error {
		return func(tx *bbolt.Tx) error {
			b := tx.Bucket([]byte(name))
			return first(b, func(k, v []byte) error {
				v[len(v)-1] ^= 1
				return b.Put(k, v)
			})
		}
	}
	tests := map[string]func(tx *bbolt.Tx) error{
		"another text with a right checksum": func(tx *bbolt.Tx) error {
			return forge(tx, func(e *persistence.Event, _ *chain) { e.Data = []byte("DATA") })
		},
		"another time": func(tx *bbolt.Tx) error {
			return forge(tx, func(e *persistence.Event, _ *chain) { e.At++ })
		},
		"another chain": func(tx *bbolt.Tx) error {
			return forge(tx, func(_ *persistence.Event, c *chain) { c[0]++ })
		},
		"an event less in the middle": func(tx *bbolt.Tx) error { return tx.Bucket(bucketEvents).Delete(key) },
		"the oldest event less": func(tx *bbolt.Tx) error {
			return tx.Bucket(bucketEvents).Delete(eventKey(nil, "agency/a", 5))
		},
		"events that are trimmed already": func(tx *bbolt.Tx) error {
			e := persistence.Event{Seq: 3}
			k := eventKey(nil, "agency/a", 3)
			return tx.Bucket(bucketEvents).Put(k, encodeEvent(k, make([]byte, eventSize(&e)), chain{}, &e))
		},
		"the last events less": func(tx *bbolt.Tx) error {
			b := tx.Bucket(bucketEvents)
			return errors.Join(b.Delete(eventKey(nil, "agency/a", 10)), b.Delete(eventKey(nil, "agency/a", 9)))
		},
		"no snapshot": func(tx *bbolt.Tx) error { return tx.Bucket(bucketSnapshots).Delete([]byte("agency/a")) },
		"a document under another key": func(tx *bbolt.Tx) error {
			b := tx.Bucket([]byte(prefixDocuments + "c"))
			return first(b, func(_, v []byte) error { return b.Put([]byte("other"), v) })
		},
		"snapshot": flip("snapshots"), "stream": flip("streams"), "document": flip("documents/c"),
		"claim": flip("claims/name"), "counter": flip("counters"), "outbox": flip("outbox"),
	}
	for name, damage := range tests {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "parley.db")
			s := sample(t, path)
			defer func() { _ = s.Close() }()
			if err := inFile(t, s).Update(damage); err != nil {
				t.Fatal(err)
			}
			r, err := s.Verify(t.Context())
			if !errors.Is(err, persistence.ErrDamaged) || r.Problems == 0 || len(r.Details) == 0 {
				t.Errorf("verify: %+v, %v", r, err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadFile(path)
			if err := Check(t.Context(), path); !errors.Is(err, persistence.ErrDamaged) {
				t.Errorf("check: %v", err)
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Error("check has changed the file")
			}
		})
	}
}

func TestDamageStaysWhereItIs(t *testing.T) {
	t.Parallel()
	s := sample(t, filepath.Join(t.TempDir(), "parley.db"))
	defer func() { _ = s.Close() }()
	err := inFile(t, s).Update(func(tx *bbolt.Tx) error {
		return tx.Bucket(bucketStreams).Put([]byte("agency/b"), []byte("garbage"))
	})
	if err != nil {
		t.Fatal(err)
	}
	lease, err := s.Acquire(t.Context(), "agency/a", 0)
	if err != nil {
		t.Fatal(err)
	}
	errs := s.Append(t.Context(), []*persistence.Batch{
		{Stream: "agency/b", Epoch: 1},
		{Stream: "agency/a", Epoch: lease.Epoch, Expect: lease.Last, Counters: []persistence.CounterOp{{Name: "m", Delta: 1}}},
	})
	if !errors.Is(errs[0], persistence.ErrDamaged) || errs[1] != nil {
		t.Errorf("%v", errs)
	}
}

func TestDamagedSnapshot(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "parley.db"), nil)
	defer func() { _ = s.Close() }()
	lease, err := s.Acquire(t.Context(), "agency/a", 0)
	if err != nil {
		t.Fatal(err)
	}
	b := message("agency/a", lease.Epoch, 0, []byte("x"))
	b.Snapshot = &persistence.Snapshot{Seq: 1, Data: []byte("state")}
	if err := s.Append(t.Context(), []*persistence.Batch{b})[0]; err != nil {
		t.Fatal(err)
	}
	if err := inFile(t, s).Update(func(tx *bbolt.Tx) error {
		return tx.Bucket(bucketSnapshots).Put([]byte("agency/a"), []byte("garbage"))
	}); err != nil {
		t.Fatal(err)
	}
	if lease, err = s.Acquire(t.Context(), "agency/a", 0); err != nil || lease.Snapshot != nil || lease.Last != 1 {
		t.Errorf("lease %+v, %v", lease, err)
	}
	if n, err := s.Trim(t.Context(), "agency/a", 1, time.Time{}); n != 0 || !errors.Is(err, persistence.ErrDamaged) {
		t.Errorf("trim under a damaged snapshot: %d, %v", n, err)
	}
}

func TestExpiredClaimsLeaveTheFile(t *testing.T) {
	t.Parallel()
	clock := newClock()
	s := open(t, filepath.Join(t.TempDir(), "parley.db"), clock.Now)
	defer func() { _ = s.Close() }()
	lease, err := s.Acquire(t.Context(), "agency/a", 0)
	if err != nil {
		t.Fatal(err)
	}
	b := &persistence.Batch{Stream: "agency/a", Epoch: lease.Epoch}
	for i := range 3 * maxPurge {
		b.Claims = append(b.Claims, persistence.ClaimOp{
			Index: "post", Key: string(binary.BigEndian.AppendUint32(nil, uint32(i))), Owner: "o",
			Expires: clock.Now().Add(time.Minute).UnixMilli()})
	}
	if err := s.Append(t.Context(), []*persistence.Batch{b})[0]; err != nil {
		t.Fatal(err)
	}
	count := func() (claims, entries int) {
		if err := inFile(t, s).View(func(tx *bbolt.Tx) error {
			claims = tx.Bucket([]byte(prefixClaims + "post")).Stats().KeyN
			entries = tx.Bucket(bucketExpiry).Stats().KeyN
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return claims, entries
	}
	if c, n := count(); c != 3*maxPurge || n != 3*maxPurge {
		t.Fatalf("%d claims, %d entries", c, n)
	}
	clock.Advance(time.Hour)
	for left := 2; left >= 0; left-- {
		if _, err := s.Acquire(t.Context(), "agency/a", 0); err != nil {
			t.Fatal(err)
		}
		if c, n := count(); c != left*maxPurge || n != left*maxPurge {
			t.Fatalf("%d claims, %d entries, want %d", c, n, left*maxPurge)
		}
	}
}
