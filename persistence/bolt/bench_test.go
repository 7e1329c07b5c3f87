package bolt

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/persistence"
)

const (
	benchAppenders = 64
	benchData      = 600
)

func benchStore(b *testing.B) *Store {
	b.Helper()
	s, err := Open(b.Context(), Options{Path: filepath.Join(b.TempDir(), "parley.db")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

func message(stream string, epoch, expect uint64, data []byte) *persistence.Batch {
	return &persistence.Batch{
		Stream: stream, Epoch: epoch, Expect: expect,
		Events:    []persistence.Event{{Seq: expect + 1, At: 1_700_000_000_000, Kind: "message.created", Data: data}},
		Documents: []persistence.DocumentOp{{Collection: persistence.CollectionMessage, Key: persistence.SeqKey(stream, expect+1), Data: data}},
	}
}

func reportRate(b *testing.B, from time.Time) {
	b.ReportMetric(float64(b.N)/time.Since(from).Seconds(), "batches/s")
}

// BenchmarkAppend has 64 callers, each with its own streams, one batch at a time.
func BenchmarkAppend(b *testing.B) {
	for _, streams := range []int{64, 5000} {
		b.Run(fmt.Sprintf("streams=%d", streams), func(b *testing.B) { benchmarkAppend(b, streams) })
	}
}

func benchmarkAppend(b *testing.B, streams int) {
	s, ctx, data := benchStore(b), context.Background(), bytes.Repeat([]byte("x"), benchData)
	type stream struct {
		name        string
		epoch, last uint64
	}
	all := make([]stream, streams)
	var wg sync.WaitGroup
	for a := range benchAppenders {
		wg.Go(func() {
			for i := a; i < streams; i += benchAppenders {
				all[i].name = fmt.Sprintf("agency/01J%023d", i*7919%streams)
				lease, err := s.Acquire(ctx, all[i].name, 0)
				if err != nil {
					b.Error(err)
				}
				all[i].epoch = lease.Epoch
			}
		})
	}
	wg.Wait()
	b.ReportAllocs()
	b.ResetTimer()
	from := time.Now()
	var n atomic.Int64
	for a := range benchAppenders {
		wg.Go(func() {
			for i := a; n.Add(1) <= int64(b.N); i += benchAppenders {
				if i >= streams {
					i = a
				}
				st := &all[i]
				if err := s.Append(ctx, []*persistence.Batch{message(st.name, st.epoch, st.last, data)})[0]; err != nil {
					b.Error(err)
					return
				}
				st.last++
			}
		})
	}
	wg.Wait()
	reportRate(b, from)
}

// BenchmarkAppendAlone has one caller with one batch at a time: what a lonely post waits for.
func BenchmarkAppendAlone(b *testing.B) {
	s, ctx, data := benchStore(b), context.Background(), bytes.Repeat([]byte("x"), benchData)
	lease, err := s.Acquire(ctx, "agency/a", 0)
	if err != nil {
		b.Fatal(err)
	}
	took := make([]time.Duration, 0, b.N)
	b.ResetTimer()
	for i := range uint64(b.N) {
		from := time.Now()
		if err := s.Append(ctx, []*persistence.Batch{message("agency/a", lease.Epoch, i, data)})[0]; err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(from))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkAppendOneStream has one caller that hands over 64 batches of one stream at a time.
func BenchmarkAppendOneStream(b *testing.B) {
	s, ctx, data := benchStore(b), context.Background(), bytes.Repeat([]byte("x"), benchData)
	lease, err := s.Acquire(ctx, "agency/hot", 0)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	from := time.Now()
	last := uint64(0)
	for done := 0; done < b.N; {
		var batches []*persistence.Batch
		for range min(64, b.N-done) {
			batches = append(batches, message("agency/hot", lease.Epoch, last, data))
			last++
		}
		for _, err := range s.Append(ctx, batches) {
			if err != nil {
				b.Fatal(err)
			}
		}
		done += len(batches)
	}
	reportRate(b, from)
}

// filled is a store with rows documents in one collection.
func filled(b *testing.B, rows int) (*Store, func(i int) string) {
	b.Helper()
	s, data := benchStore(b), bytes.Repeat([]byte("x"), benchData)
	lease, err := s.Acquire(b.Context(), "agency/a", 0)
	if err != nil {
		b.Fatal(err)
	}
	key := func(i int) string { return persistence.SeqKey("a", uint64(i)) }
	for i := 0; i < rows; {
		batch := &persistence.Batch{Stream: "agency/a", Epoch: lease.Epoch}
		for range min(4096, rows-i) {
			batch.Documents = append(batch.Documents, persistence.DocumentOp{Collection: persistence.CollectionMessage, Key: key(i), Data: data})
			i++
		}
		if err := s.Append(b.Context(), []*persistence.Batch{batch})[0]; err != nil {
			b.Fatal(err)
		}
	}
	return s, key
}

func BenchmarkDocument(b *testing.B) {
	const rows = 100_000
	s, key := filled(b, rows)
	keys := make([]string, rows)
	for i := range keys {
		keys[i] = key(i * 7919 % rows)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if _, err := s.Document(context.Background(), persistence.CollectionMessage, keys[i%rows]); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReadsWhilePosting reads documents, and the newest 50 of an agency, while eight callers post to a thousand.
func BenchmarkReadsWhilePosting(b *testing.B) {
	const agencies, posters = 1000, 8
	s, key := filled(b, 100_000)
	data, stop := bytes.Repeat([]byte("x"), benchData), make(chan struct{})
	var wg sync.WaitGroup
	name := func(i int) string { return fmt.Sprintf("agency/p%04d", i) }
	for p := range posters {
		wg.Go(func() {
			lasts := make([]uint64, agencies)
			for i := p; ; i = (i+posters)%agencies/posters*posters + p {
				select {
				case <-stop:
					return
				default:
				}
				if lasts[i] == 0 {
					if _, err := s.Acquire(context.Background(), name(i), 0); err != nil {
						b.Error(err)
					}
				}
				if err := s.Append(context.Background(), []*persistence.Batch{message(name(i), 1, lasts[i], data)})[0]; err != nil {
					b.Error(err)
					return
				}
				lasts[i]++
			}
		})
	}
	defer wg.Wait()
	defer close(stop)
	b.Run("document", func(b *testing.B) {
		for i := range b.N {
			if _, err := s.Document(context.Background(), persistence.CollectionMessage, key(i*7919%100_000)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("newest50", func(b *testing.B) {
		for i := range b.N {
			r := persistence.Range{Prefix: name(i*7919%agencies) + "/", Limit: 50, Reverse: true}
			if _, err := s.Documents(context.Background(), persistence.CollectionMessage, r); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkDocuments50 reads the 50 messages before a random one of a million.
func BenchmarkDocuments50(b *testing.B) {
	const rows = 1_000_000
	s, key := filled(b, rows)
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		r := persistence.Range{Prefix: "a/", Before: key(50 + i*7919%(rows-50)), Limit: 50, Reverse: true}
		docs, err := s.Documents(context.Background(), persistence.CollectionMessage, r)
		if err != nil || len(docs) != 50 {
			b.Fatal(len(docs), err)
		}
	}
}

// BenchmarkEvents reads 50 events in the middle of a log.
func BenchmarkEvents(b *testing.B) {
	s, data := benchStore(b), bytes.Repeat([]byte("x"), benchData)
	lease, err := s.Acquire(b.Context(), "agency/a", 0)
	if err != nil {
		b.Fatal(err)
	}
	const events = 20_000
	var batches []*persistence.Batch
	for i := range uint64(events) {
		batches = append(batches, message("agency/a", lease.Epoch, i, data))
	}
	for _, err := range s.Append(b.Context(), batches) {
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		got, err := s.Events(context.Background(), "agency/a", uint64(i*7919%(events-50)), 50)
		if err != nil || len(got) != 50 {
			b.Fatal(len(got), err)
		}
	}
}
