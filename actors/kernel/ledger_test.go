package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/persistence"
	"parley/persistence/bolt"
	"parley/persistence/storetest"
)

const (
	ledgerKind Kind = "ledger"
	patience        = 20 * time.Second
)

// ledger is an entity that adds numbers and remembers each of them.
type ledger struct {
	s       ledgerState
	rules   *ledgerRules
	gate    Gate[string]
	settled int
}

type ledgerState struct {
	Sum    int64            `json:"sum"`
	Seen   map[string]int64 `json:"seen"` // command id: times applied
	Names  []string         `json:"names,omitempty"`
	LastAt int64            `json:"at"`
}

// ledgerRules are shared by all ledgers of a test.
type ledgerRules struct {
	keep uint64
	age  time.Duration
	busy atomic.Bool
}

// Commands of a ledger.
type (
	add         struct{ ID string } // answered with the sum after it
	take        struct{ Name string }
	get         struct{} // answered with a ledgerState that is durable
	many        struct{ N int }
	huge        struct{}
	boom        struct{}
	boomRelease struct{}
	boomRead    struct{}
	parked      struct{ until <-chan struct{} } // reads until then, one after the other
)

func (add) Creates()         {}
func (take) Creates()        {}
func (many) Creates()        {}
func (huge) Creates()        {}
func (boomRelease) Creates() {}

type entry struct {
	ID string `json:"id,omitempty"`
	By int64  `json:"by,omitempty"`
}

func (l *ledger) Load(version uint32, data []byte) error {
	if version != 7 {
		return errors.New("another version")
	}
	return json.Unmarshal(data, &l.s)
}

func (l *ledger) Snapshot() (uint32, []byte) {
	data, err := json.Marshal(&l.s)
	if err != nil {
		panic(err)
	}
	return 7, data
}

func (l *ledger) Apply(ev *persistence.Event) error {
	if ev.At <= l.s.LastAt {
		return fmt.Errorf("time %d of event %d is not later than %d", ev.At, ev.Seq, l.s.LastAt)
	}
	l.s.LastAt = ev.At
	switch ev.Kind {
	case "add":
		var e entry
		if err := json.Unmarshal(ev.Data, &e); err != nil {
			return err
		}
		if l.s.Seen == nil {
			l.s.Seen = map[string]int64{}
		}
		l.s.Seen[e.ID]++
		l.s.Sum += e.By
	case "take":
		l.s.Names = append(l.s.Names, string(ev.Data))
	}
	return nil
}

func (l *ledger) Ready(Grain)       {}
func (l *ledger) Notice(Grain, any) {}
func (l *ledger) Settled()          { l.settled++ }
func (l *ledger) Busy() bool        { return l.rules.busy.Load() }
func (l *ledger) Retain() (uint64, time.Duration) {
	return l.rules.keep, l.rules.age
}

func (l *ledger) copy() ledgerState {
	s := l.s
	s.Seen = maps.Clone(s.Seen)
	s.Names = append([]string(nil), s.Names...)
	return s
}

func addEvent(id string) persistence.Event {
	data, _ := json.Marshal(entry{id, 1})
	return persistence.Event{Kind: "add", Data: data}
}

func (l *ledger) Handle(t *Turn, command any) {
	switch c := command.(type) {
	case add:
		t.Commit(Change{Events: []persistence.Event{addEvent(c.ID)}, Counters: []persistence.CounterOp{{Name: "adds", Delta: 1}}},
			func() { t.Reply(l.s.Sum) }, nil)
	case take:
		t.Commit(Change{Events: []persistence.Event{{Kind: "take", Data: []byte(c.Name)}},
			Claims: []persistence.ClaimOp{{Index: "name", Key: c.Name, Owner: t.ID()}}}, func() { t.Reply(Done{}) },
			func(err error) error {
				if errors.Is(err, persistence.ErrExists) {
					return Fail(CodeTaken, "taken")
				}
				return err
			})
	case get:
		s := l.copy()
		t.AfterCommits(func() { t.Reply(s) })
	case many:
		var c2 Change
		for i := range c.N {
			c2.Events = append(c2.Events, addEvent(fmt.Sprint("many", i)))
		}
		t.Commit(c2, func() { t.Reply(Done{}) }, nil)
	case huge:
		t.Commit(Change{Events: []persistence.Event{{Kind: "huge", Data: make([]byte, persistence.MaxEventData+1)}}},
			func() { t.Reply(Done{}) }, nil)
	case boom:
		panic("scripted")
	case boomRelease:
		t.Commit(Change{Events: []persistence.Event{{Kind: "bang"}}}, func() { panic("scripted") }, nil)
	case boomRead:
		Load(t, func(context.Context, persistence.Store) (int, error) { return 0, nil }, func(int, error) { panic("scripted") })
	case parked:
		l.gate.Enter("", func() {
			Load(t, func(context.Context, persistence.Store) (int, error) {
				<-c.until
				return 0, nil
			}, func(int, error) {
				t.Reply(Done{})
				l.gate.Leave("")
			})
		})
	default:
		t.Fail(fmt.Errorf("unknown %T", c))
	}
}

// house is a system over a store of its own.
type house struct {
	t      testing.TB
	path   string
	now    atomic.Int64 // unix milliseconds
	engine persistence.Store
	faults *storetest.Faulty
	sys    *System
	dir    *Local
	rules  *ledgerRules
	meter  Meter // nil: none
}

func newHouse(t testing.TB) *house {
	t.Helper()
	h := &house{t: t, path: filepath.Join(t.TempDir(), "store.db"), rules: &ledgerRules{keep: 1 << 40}}
	h.now.Store(1_700_000_000_000)
	h.start()
	t.Cleanup(func() {
		if h.sys != nil {
			h.stop()
		}
	})
	return h
}

func (h *house) clock() time.Time { return time.UnixMilli(h.now.Load()) }

func (h *house) start() {
	h.t.Helper()
	engine, err := bolt.Open(context.Background(), bolt.Options{Path: h.path, Now: h.clock})
	if err != nil {
		h.t.Fatal(err)
	}
	h.engine, h.faults = engine, storetest.NewFaulty(engine)
	h.sys = NewSystem(Options{Store: h.faults, Logger: slog.New(slog.DiscardHandler), Now: h.clock, Meter: h.meter})
	h.dir = NewLocal(h.sys)
	h.dir.Register(ledgerKind, func(id string) Behavior {
		return NewGrain("ledger", id, func() Entity { return &ledger{rules: h.rules} })
	})
}

func (h *house) stop() {
	h.t.Helper()
	h.dir.Close(time.Now().Add(patience))
	if n := h.dir.Awake(); n > 0 {
		h.t.Errorf("%d actors did not go to sleep", n)
	}
	h.sys.Close()
	h.sys = nil
	if err := h.faults.Close(); err != nil {
		h.t.Error(err)
	}
}

// crash ends the system with its store taken away first, so that nothing more is written.
func (h *house) crash() {
	h.t.Helper()
	if err := h.faults.Close(); err != nil {
		h.t.Error(err)
	}
	h.dir.Close(time.Now().Add(patience))
	h.sys.Close()
	h.start()
}

func ref(id string) Ref { return Ref{Kind: ledgerKind, ID: id} }

func ask[R any](h *house, id string, command any) (R, error) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return Ask[R](ctx, h.dir, ref(id), command)
}

func must[R any](h *house, id string, command any) R {
	h.t.Helper()
	v, err := ask[R](h, id, command)
	if err != nil {
		h.t.Fatalf("%T: %v", command, err)
	}
	return v
}

// wants checks the code of an error.
func wants(t testing.TB, what string, err error, code Code) {
	t.Helper()
	if err == nil || AsError(err).Code != code {
		t.Errorf("%s: got error %v, want code %d", what, err, code)
	}
}

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never came: %s", what)
		}
	}
}

// answers gathers the answers to calls that nobody waits for one by one.
type answers struct {
	mu      sync.Mutex
	open    int
	values  []any
	errs    []error
	repeats int
}

// call sends a command; its answer has the place of its call.
func (a *answers) call(d Directory, r Ref, command any) {
	a.mu.Lock()
	place := len(a.values)
	a.values, a.errs = append(a.values, nil), append(a.errs, nil)
	a.open++
	a.mu.Unlock()
	var once atomic.Bool
	d.Call(r, command, func(v any, err error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if once.Swap(true) {
			a.repeats++
			return
		}
		a.values[place], a.errs[place] = v, err
		a.open--
	})
}

func (a *answers) left() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open
}

func (a *answers) wait(t testing.TB) {
	t.Helper()
	eventually(t, "all answers", func() bool { return a.left() == 0 })
	if a.repeats > 0 {
		t.Errorf("%d answers came twice", a.repeats)
	}
}
