package mirror_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/actors/actortest"
	"parley/actors/kernel"
	"parley/actors/mirror"
	"parley/actors/platform"
	"parley/actors/run"
	"parley/actors/session"
	"parley/persistence"
)

// scene is a room with an agent that runs.
type scene struct {
	*actortest.World
	room     string
	ann, bot *platform.Identity
}

func newScene(t testing.TB) *scene {
	t.Helper()
	w := actortest.New(t)
	s := &scene{World: w, ann: w.User("ann")}
	s.room = w.Room(s.ann, "Room", false)
	p, _, err := w.Platform.CreateAgent(ctx, s.ann, platform.NewAgent{Name: "bot", AgencyID: s.room})
	if err != nil {
		t.Fatal(err)
	}
	s.bot = &platform.Identity{Sender: p.Sender(), Session: "s"}
	return s
}

func (s *scene) start() string {
	s.T.Helper()
	id := uuid.NewString()
	if err := s.Platform.StartRun(ctx, s.bot, id, s.room, ""); err != nil {
		s.T.Fatal(err)
	}
	return id
}

func (s *scene) act(who *platform.Identity, id string, what any) {
	s.T.Helper()
	if err := s.Platform.ActRun(ctx, who, id, what); err != nil {
		s.T.Fatalf("%T: %v", what, err)
	}
}

// listener is a socket that builds what it is told of runs.
type listener struct {
	*actortest.Socket
	mu    sync.Mutex
	texts map[string]string // of streams
	steps map[string]int
	bytes int
}

func (l *listener) Deliver(events ...*mirror.Event) {
	l.Socket.Deliver(events...)
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range events {
		l.bytes += len(e.Data)
		if e.Name != run.EventStream {
			continue
		}
		var step struct {
			MessageID, Delta string
			Content          *string
		}
		if err := json.Unmarshal(e.Data, &step); err != nil {
			panic(err)
		}
		l.steps[step.MessageID]++
		if step.Content != nil {
			l.texts[step.MessageID] = *step.Content
		} else {
			l.texts[step.MessageID] += step.Delta
		}
	}
}

func (l *listener) text(id string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.texts[id]
}

func (s *scene) listen(who *platform.Identity) *listener {
	s.T.Helper()
	l := &listener{Socket: &actortest.Socket{}, texts: map[string]string{}, steps: map[string]int{}}
	live, err := s.Open(who, l)
	if err != nil {
		s.T.Fatal(err)
	}
	s.T.Cleanup(live.Close)
	if _, err := actortest.Do(live, session.Join{AgencyID: s.room}); err != nil {
		s.T.Fatal(err)
	}
	return l
}

type shownRun struct {
	ID          string
	Status      string
	LastStatus  string `json:"last_status"`
	Stopping    bool
	Permissions []struct{ PermissionID, Status string }
}

// shown are the runs in the last agency-joined of a socket.
func shown(t testing.TB, socket *actortest.Socket) (runs []shownRun, more bool) {
	t.Helper()
	joins := socket.Named(mirror.EventAgencyJoined)
	var j struct {
		Runs     []shownRun
		MoreRuns bool
	}
	if err := json.Unmarshal(joins[len(joins)-1].Data, &j); err != nil || j.Runs == nil {
		t.Fatalf("%v, %s", err, joins[len(joins)-1].Data)
	}
	return j.Runs, j.MoreRuns
}

// Who comes late is told of the open runs, with what they ask for, and of nothing that has ended.
func TestLateJoinerSeesRuns(t *testing.T) {
	s := newScene(t)
	if runs, more := shown(t, s.listen(s.ann).Socket); len(runs) != 0 || more {
		t.Errorf("runs before there are any: %+v", runs)
	}
	id, over := s.start(), s.start()
	s.act(s.bot, id, run.Status{Text: "at it"})
	s.act(s.bot, id, run.Ask{ID: "p", Action: "delete"})
	s.act(s.bot, over, run.Complete{})
	s.Eventually("one run", func() bool {
		runs, _ := shown(t, s.listen(s.ann).Socket)
		return len(runs) == 1 && runs[0].ID == id && runs[0].Status == "running" && runs[0].LastStatus == "at it" &&
			len(runs[0].Permissions) == 1 && runs[0].Permissions[0].PermissionID == "p"
	})
	s.act(s.ann, id, run.Interrupt{Action: run.Stop})
	s.Eventually("the stop", func() bool {
		runs, _ := shown(t, s.listen(s.ann).Socket)
		return len(runs) == 1 && runs[0].Stopping && len(runs[0].Permissions) == 0
	})
	s.act(s.bot, id, run.Complete{})
	s.Eventually("the end", func() bool {
		runs, _ := shown(t, s.listen(s.ann).Socket)
		return len(runs) == 0
	})
}

func (s *scene) open() []run.View {
	s.T.Helper()
	views, err := s.Platform.RunningRuns(ctx, s.ann, s.room)
	if err != nil {
		s.T.Fatal(err)
	}
	return views
}

// The list of open runs is bounded in number and in bytes, and says when there are more.
func TestManyRunsAreCut(t *testing.T) {
	s := newScene(t)
	for i := range 4 {
		p, _, err := s.Platform.CreateAgent(ctx, s.ann, platform.NewAgent{Name: fmt.Sprint("bot", i), AgencyID: s.room})
		if err != nil {
			t.Fatal(err)
		}
		s.bot = &platform.Identity{Sender: p.Sender(), Session: "s"}
		for range run.MaxOpenByAgent {
			s.start()
		}
	}
	runs, more := shown(t, s.listen(s.ann).Socket)
	if len(runs) != 50 || !more {
		t.Errorf("%d runs, more: %v", len(runs), more)
	}
	for range 15 {
		id := s.open()[0].ID
		for i := range 20 {
			_ = s.Platform.ActRun(ctx, s.bot, id, run.Ask{ID: fmt.Sprint(i), Description: strings.Repeat("x", run.MaxDescription)})
		}
	}
	socket := s.listen(s.ann)
	if runs, more = shown(t, socket.Socket); !more || len(socket.Named(mirror.EventAgencyJoined)[0].Data) > 100<<10 {
		t.Errorf("%d runs, more: %v", len(runs), more)
	}
}

// However sockets come and go while runs change, what each has in the end by agency-joined and events is what there is.
func TestRunsWhileJoining(t *testing.T) {
	s := newScene(t)
	id := s.start()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 300 {
			if err := s.Platform.ActRun(ctx, s.bot, id, run.Status{Text: fmt.Sprint(i)}); err != nil {
				t.Error(err)
			}
		}
	}()
	var all []*listener
	for busy := true; busy; {
		select {
		case <-done:
			busy = false
		default:
			if len(all) < 15 {
				all = append(all, s.listen(s.ann))
			}
		}
	}
	for i, l := range all {
		s.Eventually("the last status", func() bool {
			runs, _ := shown(t, l.Socket)
			status := runs[0].LastStatus
			for _, e := range l.Named(run.EventStatus) {
				var d struct{ Status string }
				if err := json.Unmarshal(e.Data, &d); err != nil {
					t.Fatal(err)
				}
				status = d.Status
			}
			return status == "299"
		})
		if t.Failed() {
			t.Fatalf("socket %d", i)
		}
	}
}

// Who comes in the middle of a stream gets the whole text with its next step, and the others only what was added.
func TestLateJoinerGetsTheWholeText(t *testing.T) {
	s := newScene(t)
	early := s.listen(s.ann)
	id, message := s.start(), uuid.NewString()
	text := strings.Repeat("begun ", 1000)
	s.act(s.bot, id, run.Stream{MessageID: message, Content: text})
	late := s.listen(s.ann)
	before := 0
	for i := range 20 {
		text += fmt.Sprint("more ", i)
		s.act(s.bot, id, run.Stream{MessageID: message, Content: text})
		for _, l := range []*listener{early, late} {
			s.Eventually("the step", func() bool { return l.text(message) == text })
		}
		if i == 0 {
			before = early.bytes
		}
	}
	if added := early.bytes - before; added > 20*1000 {
		t.Errorf("20 steps cost %d bytes", added)
	}
	s.Sleep(run.Ref(id)) // what the room has is forgotten
	text += "end"
	s.act(s.bot, id, run.Stream{MessageID: message, Content: text})
	s.Eventually("the last step", func() bool { return early.text(message) == text })
	s.act(s.bot, id, run.Stream{MessageID: message, Content: "other", Done: true})
	s.Eventually("the end", func() bool { return early.text(message) == "other" && late.text(message) == "other" })
}

// An agent that floods its room is told of at its pace, the room has its text in the end, and another's is not held up.
func TestFloodOfStreams(t *testing.T) {
	s := newScene(t)
	l := s.listen(s.ann)
	id, message := s.start(), uuid.NewString()
	text := ""
	for i := range 200 { // about 6.4 MB of rewritten text, and then as much that grows
		text = fmt.Sprint(i, strings.Repeat("x", 32<<10))
		s.act(s.bot, id, run.Stream{MessageID: message, Content: text})
		s.act(s.bot, id, run.Status{Text: fmt.Sprint(i, strings.Repeat("s", 1000))})
	}
	for range 20 {
		text += strings.Repeat("y", 1000)
		s.act(s.bot, id, run.Stream{MessageID: message, Content: text})
	}
	p, _, err := s.Platform.CreateAgent(ctx, s.ann, platform.NewAgent{Name: "calm", AgencyID: s.room})
	if err != nil {
		t.Fatal(err)
	}
	flooder := s.bot
	s.bot = &platform.Identity{Sender: p.Sender(), Session: "s"}
	calm, own := s.start(), uuid.NewString()
	s.act(s.bot, calm, run.Stream{MessageID: own, Content: "calm"})
	s.Eventually("the other's step", func() bool { return l.text(own) == "calm" })
	if l.bytes > 4<<20 {
		t.Errorf("the room got %d bytes", l.bytes)
	}
	if l.text(message) == text {
		t.Error("nothing was put off")
	}
	s.Clock.Advance(10 * time.Second)
	s.Eventually("what was put off", func() bool { return l.text(message) == text })
	s.Eventually("the last status", func() bool {
		events := l.Named(run.EventStatus)
		return strings.Contains(string(events[len(events)-1].Data), `"199s`)
	})
	for i := range 10 {
		s.act(flooder, id, run.ToolResult{ID: fmt.Sprint(i), Tool: "diff", Output: strings.Repeat("z", 300<<10)})
	}
	s.Eventually("all results", func() bool { return len(l.Named(run.EventToolResult)) == 10 })
	results := l.Named(run.EventToolResult)
	if short := results[9].Data; len(short) > run.ShortRelay+100 || !strings.Contains(string(short), `"truncated":true`) {
		t.Errorf("%d bytes of a result that is too much", len(short))
	}
}

// broken fails to read the open runs while it is told to.
type broken struct {
	persistence.Store
	fail *atomic.Bool
}

func (b broken) Documents(ctx context.Context, collection string, r persistence.Range) ([]persistence.Document, error) {
	if collection == persistence.CollectionRunning && b.fail.Load() {
		return nil, persistence.ErrUnavailable
	}
	return b.Store.Documents(ctx, collection, r)
}

// A sender that leaves the whole text out is put off and put together like any other.
func TestFloodOfDeltas(t *testing.T) {
	s := newScene(t)
	l := s.listen(s.ann)
	id, message := s.start(), uuid.NewString()
	s.act(s.bot, id, run.ToolResult{ID: "1", Tool: "t", Output: strings.Repeat("x", 255<<10)})
	s.act(s.bot, id, run.ToolResult{ID: "2", Tool: "t", Output: strings.Repeat("x", 255<<10)})
	text := ""
	for i := range 54 { // of which about 49 are told at once
		delta := fmt.Sprint(i, strings.Repeat("x", 10<<10))
		text += delta
		s.act(s.bot, id, run.Stream{MessageID: message, Delta: delta})
	}
	late := s.listen(s.ann)
	s.Clock.Advance(10 * time.Second)
	s.act(s.bot, id, run.Stream{MessageID: message, Delta: "end"})
	s.Eventually("the text", func() bool { return l.text(message) == text+"end" })
	s.Eventually("the end of it", func() bool { return strings.HasSuffix(late.text(message), "end") })
	if l.steps[message] > 52 {
		t.Errorf("%d steps: nothing was put together", l.steps[message])
	}
}

// A read that fails refuses those who wait for it, and they can come again.
func TestRunsCantBeRead(t *testing.T) {
	var fail atomic.Bool
	w := actortest.NewOver(t, func(s persistence.Store) persistence.Store { return broken{s, &fail} })
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	live, socket := w.Connect(ann)
	fail.Store(true)
	_, err := actortest.Do(live, session.Join{AgencyID: room})
	actortest.Wants(t, "a join", err, kernel.CodeUnavailable)
	fail.Store(false)
	if _, err := actortest.Do(live, session.Join{AgencyID: room}); err != nil {
		t.Fatal(err)
	}
	if runs, _ := shown(t, socket); len(runs) != 0 {
		t.Errorf("%+v", runs)
	}
}
