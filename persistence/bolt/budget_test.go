package bolt

import (
	"context"
	"path/filepath"
	"testing"

	"parley/persistence"
)

// Pages end early at MaxReadBytes, with the row that reaches it, and the next page goes on behind it.
func TestReadsAreBoundedByBytes(t *testing.T) {
	ctx := context.Background()
	s, err := Open(ctx, Options{Path: filepath.Join(t.TempDir(), "store.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	lease, err := s.Acquire(ctx, "agency/a", 0)
	if err != nil {
		t.Fatal(err)
	}
	row := make([]byte, persistence.MaxReadBytes*3/4)
	b := &persistence.Batch{Stream: "agency/a", Epoch: lease.Epoch}
	for i, key := range []string{"a", "b", "c"} {
		b.Events = append(b.Events, persistence.Event{Seq: uint64(i + 1), At: 1, Kind: "x", Data: row})
		b.Documents = append(b.Documents, persistence.DocumentOp{Collection: "message", Key: key, Data: row})
	}
	if err := s.Append(ctx, []*persistence.Batch{b})[0]; err != nil {
		t.Fatal(err)
	}
	for after, want := range map[uint64]int{0: 2, 2: 1} {
		if events, err := s.Events(ctx, "agency/a", after, 10); err != nil || len(events) != want {
			t.Errorf("events after %d: %d, %v, want %d", after, len(events), err, want)
		}
	}
	for after, want := range map[string]int{"": 2, "b": 1} {
		if docs, err := s.Documents(ctx, "message", persistence.Range{After: after}); err != nil || len(docs) != want {
			t.Errorf("documents after %q: %d, %v, want %d", after, len(docs), err, want)
		}
	}
}
