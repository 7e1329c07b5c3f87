package realtime

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/actors/actortest"
	"parley/actors/mirror"
	"parley/actors/platform"
	"parley/actors/run"
	"parley/actors/session"
	"parley/transport/realtime/conn"
)

// scales are sockets that weigh the frames of a format that would be sent to them.
type scales struct {
	actortest.Socket
	wire  wire
	bytes atomic.Int64
	ends  atomic.Int64
}

func (s *scales) Deliver(events ...*mirror.Event) {
	for _, e := range events {
		if e.Name == run.EventComplete {
			s.ends.Add(1)
		}
		s.bytes.Add(int64(len(e.Encoded(s.wire.format(), s.wire.event).(*conn.Frame).Payload())))
	}
}

// BenchmarkRunStream is what a stream of 100,000 tokens of five bytes costs, at 50 pushes a second: what each listener of a
// room of ten is sent, and the processor time of the server from the read event to the encoded frames. At the sender's end
// of it each push has the whole text.
func BenchmarkRunStream(b *testing.B) {
	const tokens, token = 100_000, "word "
	for _, each := range []int{1, 20, 100} {
		b.Run(fmt.Sprint("tokens=", each), func(b *testing.B) {
			w := actortest.New(b)
			ann := w.User("ann")
			room := w.Room(ann, "Room", false)
			p, _, err := w.Platform.CreateAgent(context.Background(), ann, platform.NewAgent{Name: "bot", AgencyID: room})
			if err != nil {
				b.Fatal(err)
			}
			bot := &platform.Identity{Sender: p.Sender(), Session: "s"}
			var all []*scales
			for _, wire := range []wire{plainWire{}, socketWire{}} {
				for range 5 {
					s := &scales{wire: wire}
					live, err := w.Open(ann, s)
					if err != nil {
						b.Fatal(err)
					}
					b.Cleanup(live.Close)
					if _, err := actortest.Do(live, session.Join{AgencyID: room}); err != nil {
						b.Fatal(err)
					}
					s.bytes.Store(0)
					all = append(all, s)
				}
			}
			speaker, _ := w.Connect(bot)
			text := strings.Repeat(token, tokens)
			var received int64
			stop := actortest.CPU(b)
			for b.Loop() {
				id, message := uuid.NewString(), uuid.NewString()
				if _, err := actortest.Do(speaker, session.StartRun{RunID: id, AgencyID: room}); err != nil {
					b.Fatal(err)
				}
				for end := each; end <= tokens; end += each {
					received += int64(len(token) * end)
					w.Clock.Advance(20 * time.Millisecond)
					what := run.Stream{MessageID: message, Content: text[:len(token)*end], Delta: text[len(token)*(end-each) : len(token)*end]}
					if _, err := actortest.Do(speaker, session.ActRun{RunID: id, What: what}); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := actortest.Do(speaker, session.ActRun{RunID: id, What: run.Complete{}}); err != nil {
					b.Fatal(err)
				}
			}
			stop()
			for _, s := range all {
				w.Eventually("the end", func() bool { return s.ends.Load() == int64(b.N) })
			}
			for _, s := range []*scales{all[0], all[5]} {
				b.ReportMetric(float64(s.bytes.Load())/float64(b.N)/1e6, s.wire.format().String()+"-MB")
			}
			b.ReportMetric(float64(received)/float64(b.N)/1e6, "received-MB")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkReadStream is what reading one push of such a stream costs, whose text is 500 KB.
func BenchmarkReadStream(b *testing.B) {
	data, err := json.Marshal(map[string]any{"runId": uuid.NewString(), "messageId": uuid.NewString(), "content": strings.Repeat("word ", 100_000), "delta": "word "})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := decodeStream(data); err != nil {
			b.Fatal(err)
		}
	}
}
