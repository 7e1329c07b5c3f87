package actortest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

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

// talkPage is the number of messages written at once by Talk.
const talkPage = 1000

// Talk gives an agency n messages of one sender by writing their documents, as if they had been posted before there was
// an index of words. Their events are empty, so the agency must not be followed from before them.
func (w *World) Talk(agencyID string, who account.Sender, n int, content func(i int) string) {
	w.T.Helper()
	w.Sleep(agency.Ref(agencyID))
	ctx, stream := context.Background(), persistence.Stream(persistence.StreamAgency, agencyID)
	lease, err := w.Store.Acquire(ctx, stream, 0)
	if err != nil {
		w.T.Fatal(err)
	}
	at := w.Clock.Now().UnixMilli()
	for done := 0; done < n; {
		b := &persistence.Batch{Stream: stream, Epoch: lease.Epoch, Expect: lease.Last}
		for ; done < n && len(b.Events) < talkPage; done++ {
			lease.Last++
			at++
			m := agency.Message{ID: agency.NewMessageID(at, lease.Last), Seq: lease.Last, AgencyID: agencyID, AgencyID2: agencyID, Content: content(done),
				Type: "chat", Metadata: json.RawMessage("{}"), SenderID: who.ID, SenderUsername: who.Username, Username: who.Username,
				SenderDisplayName: who.DisplayName, SenderType: who.Type, CreatedAt: *account.FormatTime(at)}
			doc, err := json.Marshal(m)
			if err != nil {
				w.T.Fatal(err)
			}
			b.Events = append(b.Events, persistence.Event{Seq: lease.Last, At: at, Kind: "message", Data: []byte("{}")})
			b.Documents = append(b.Documents, persistence.DocumentOp{Collection: persistence.CollectionMessage,
				Key: persistence.SeqKey(agencyID, lease.Last), Data: doc})
		}
		if err := w.Store.Append(ctx, []*persistence.Batch{b})[0]; err != nil {
			w.T.Fatal(err)
		}
	}
	w.Clock.Advance(time.Duration(n) * time.Millisecond)
}

// CPU has a benchmark report the processor time of a loop, which on a busy machine says more than that of the clock. The
// loop is what lies between the call and that of the function returned.
func CPU(b *testing.B) func() {
	b.Helper()
	begun := used(b)
	return func() { b.ReportMetric(float64(used(b)-begun)/float64(b.N), "cpu-ns/op") }
}

func used(b *testing.B) int64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// Pipeline does b.N pieces of work, each of which ends with a call of done, with up to window of them on their way.
func Pipeline(b *testing.B, window int, work func(i int, done func(error))) {
	b.Helper()
	PipelineOf(b, b.N, window, work)
}

// PipelineOf is Pipeline for n pieces of work.
func PipelineOf(b *testing.B, n, window int, work func(i int, done func(error))) {
	b.Helper()
	slots := make(chan struct{}, window)
	var once sync.Once
	var failure error
	for i := range n {
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
