package actortest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/persistence"
)

// populatePage is the number of members written at once by Populate.
const populatePage = 4000

// Populate gives an agency n more members m0000000, m0000001, … by writing their documents, as if they had joined.
func (w *World) Populate(agencyID string, n int) {
	w.T.Helper()
	w.Sleep(agency.Ref(agencyID))
	ctx, stream := context.Background(), persistence.Stream(persistence.StreamAgency, agencyID)
	lease, err := w.Store.Acquire(ctx, stream, 0)
	if err != nil {
		w.T.Fatal(err)
	}
	doc := agency.MemberRecord{Role: agency.Member, JoinedAt: w.Clock.Now().UnixMilli()}.Encode()
	for from := 0; from < n; from += populatePage {
		b := &persistence.Batch{Stream: stream, Epoch: lease.Epoch, Expect: lease.Last}
		for i := from; i < min(n, from+populatePage); i++ {
			b.Documents = append(b.Documents, persistence.DocumentOp{Collection: persistence.CollectionMember,
				Key: persistence.Key(agencyID, fmt.Sprintf("m%07d", i)), Data: doc})
		}
		if from+populatePage >= n {
			b.Events = []persistence.Event{w.countEvent(stream, lease.Last, int64(n)+1)}
		}
		if err := w.Store.Append(ctx, []*persistence.Batch{b})[0]; err != nil {
			w.T.Fatal(err)
		}
	}
}

// countEvent says that an agency has so many members now.
func (w *World) countEvent(stream string, last uint64, count int64) persistence.Event {
	w.T.Helper()
	data, err := json.Marshal(map[string]any{"member": agency.WireSender{ID: "m0000000", Type: account.User}, "role": agency.Member, "count": count})
	if err != nil {
		w.T.Fatal(err)
	}
	events, err := w.Store.Events(context.Background(), stream, last-1, 1)
	if err != nil || len(events) != 1 {
		w.T.Fatalf("%d events behind %d of %s, %v", len(events), last-1, stream, err)
	}
	return persistence.Event{Seq: last + 1, At: events[0].At + 1, Kind: "joined", Data: data}
}

// Pipeline does b.N pieces of work, each of which ends with a call of done, with up to window of them on their way.
func Pipeline(b *testing.B, window int, work func(i int, done func(error))) {
	b.Helper()
	slots := make(chan struct{}, window)
	var once sync.Once
	var failure error
	for i := range b.N {
		slots <- struct{}{}
		work(i, func(err error) {
			if err != nil {
				once.Do(func() { failure = err })
			}
			<-slots
		})
	}
	for range window {
		slots <- struct{}{}
	}
	if failure != nil {
		b.Fatal(failure)
	}
}
