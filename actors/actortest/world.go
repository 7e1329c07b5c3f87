package actortest

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/mirror"
	"parley/actors/platform"
	"parley/actors/run"
	"parley/actors/session"
	"parley/persistence"
	"parley/persistence/bolt"
	"parley/persistence/storetest"
)

// deadline bounds every wait of a test.
const deadline = 20 * time.Second

// World is a whole server without its transports.
type World struct {
	T         testing.TB
	Clock     *Clock
	Faults    *storetest.Faulty // the store that everything writes to
	Store     persistence.Store // the same, as the actors see it
	System    *kernel.System
	Local     *kernel.Local
	Registry  *session.Registry
	Platform  *platform.Platform
	Publisher *Publisher
	Mailbox   *Mailbox
	Relays    *Relays
	Watch     *session.Watch
	Chain     *Chain // nil: platforms have no chain access

	path  string
	meter kernel.Meter
	wrap  func(persistence.Store) persistence.Store
	open  bool
}

// Publisher is the way from agencies to mirrors, which can be made to fail.
type Publisher struct {
	mirror.Outlet
	fail atomic.Bool
}

// Publish implements agency.Publisher.
func (p *Publisher) Publish(id string, events []persistence.Event) bool {
	if len(events) > 0 && p.fail.CompareAndSwap(true, false) {
		panic("scripted failure of a publisher")
	}
	return p.Outlet.Publish(id, events)
}

// PublishDirect implements agency.Publisher.
func (p *Publisher) PublishDirect(id string, sides []string, h *agency.Handed, events []persistence.Event) bool {
	if len(events) > 0 && p.fail.CompareAndSwap(true, false) {
		panic("scripted failure of a publisher")
	}
	return p.Outlet.PublishDirect(id, sides, h, events)
}

// FailNext makes the next hand-over of events panic, and with it the agency's actor, after it has answered.
func (p *Publisher) FailNext() { p.fail.Store(true) }

// New starts a world over an empty store; it ends with the test.
func New(t testing.TB) *World { return NewOver(t, nil) }

// NewOver is New with a store of the test's around the embedded one.
func NewOver(t testing.TB, wrap func(persistence.Store) persistence.Store) *World {
	t.Helper()
	return start(t, &World{wrap: wrap})
}

func start(t testing.TB, w *World) *World {
	t.Helper()
	w.T, w.Clock, w.Mailbox, w.Relays, w.path = t, NewClock(), &Mailbox{}, &Relays{}, filepath.Join(t.TempDir(), "store.db")
	w.start()
	t.Cleanup(func() {
		if w.open {
			w.Stop()
		}
	})
	return w
}

// NewMetered is New with a meter that everything is told to.
func NewMetered(t testing.TB, m kernel.Meter) *World {
	t.Helper()
	return start(t, &World{meter: m})
}

// Quiet is a logger for tests that provoke errors.
func Quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// Path is the file of the store.
func (w *World) Path() string { return w.path }

func (w *World) start() {
	w.T.Helper()
	engine, err := bolt.Open(context.Background(), bolt.Options{Path: w.path, Now: w.Clock.Now})
	if err != nil {
		w.T.Fatal(err)
	}
	w.Faults = storetest.NewFaulty(engine)
	w.Store = w.Faults
	if w.wrap != nil {
		w.Store = w.wrap(w.Store)
	}
	w.System = kernel.NewSystem(kernel.Options{Store: w.Store, Logger: Quiet(), Now: w.Clock.Now, Meter: w.meter})
	w.Local = kernel.NewLocal(w.System)
	w.Registry = session.NewRegistry()
	w.Publisher = &Publisher{Outlet: mirror.Outlet{Local: w.Local, Live: w.Registry}}
	sealer, err := account.NewSealer([]byte(strings.Repeat("k", 32)))
	if err != nil {
		w.T.Fatal(err)
	}
	w.Local.Register(account.Kind, account.Factory(account.Ports{Revoker: w.Registry, Sealer: sealer}))
	w.Local.Register(agency.ActorKind, agency.Factory(agency.Ports{Publisher: w.Publisher}))
	w.Local.Register(mirror.Kind, mirror.Factory(w.Local, w.Registry))
	w.Relays.pass(w.Publisher)
	w.Local.Register(run.ActorKind, run.Factory(run.Ports{Room: w.Relays, Agents: w.Registry, Directory: w.Local}))
	w.Platform = w.NewPlatform()
	w.Watch = session.NewWatch(session.WatchOptions{Registry: w.Registry, Store: w.Store, Directory: w.Local, Touch: w.Publisher.Touch,
		Followed: w.Publisher.Followed, Log: Quiet(), Now: w.Clock.Now})
	w.open = true
}

// NewPlatform makes one more platform over the same actors: its errand runner begins with what was promised and not
// done. The caller closes it.
func (w *World) NewPlatform() *platform.Platform {
	w.T.Helper()
	p, err := platform.New(context.Background(), platform.Options{Directory: w.Local, Store: w.Store, Hasher: account.NewHasher(),
		Live: w.Registry, WebURL: "https://web.test", PublicURL: "https://api.test", Mailer: w.Mailbox, Log: Quiet(), Now: w.Clock.Now,
		Network: Network, Chain: w.chain()})
	if err != nil {
		w.T.Fatal(err)
	}
	return p
}

// Stop ends the server in order.
func (w *World) Stop() {
	w.T.Helper()
	w.open = false
	w.Watch.Close()
	w.Platform.Close()
	w.Local.Close(time.Now().Add(deadline))
	w.System.Close()
	if err := w.Faults.Close(); err != nil {
		w.T.Error(err)
	}
}

// Restart ends the server in order and starts it again.
func (w *World) Restart() {
	w.T.Helper()
	w.Stop()
	w.start()
}

// Crash takes the store away in the midst of everything and starts a new server on what was committed.
func (w *World) Crash() {
	w.T.Helper()
	w.open = false
	if err := w.Faults.Close(); err != nil {
		w.T.Error(err)
	}
	w.Watch.Close()
	w.Platform.Close()
	w.Local.Close(time.Now().Add(deadline))
	w.System.Close()
	w.start()
}

// Sleep puts an actor to sleep and waits for it.
func (w *World) Sleep(ref kernel.Ref) {
	w.T.Helper()
	w.Eventually(ref.String()+" asleep", func() bool {
		w.Local.TellResident(ref, kernel.Sweep{})
		return !w.Local.Resident(ref)
	})
}

// User registers a user without the cost of a password and without the Lobby.
func (w *World) User(name string) *platform.Identity {
	w.T.Helper()
	id, err := w.register(uuid.NewString(), name)
	if err != nil {
		w.T.Fatalf("register %s: %v", name, err)
	}
	return id
}

// UserAs is User with a given id, which is its name, too. It may be called again, from any goroutine, and while commits
// fail.
func (w *World) UserAs(name string) *platform.Identity {
	w.T.Helper()
	for {
		id, err := w.register(name, name)
		switch code, failed := Code(err); {
		case !failed || code == kernel.CodeTaken:
			return id
		case code != kernel.CodeUnavailable:
			w.T.Errorf("register %s: %v", name, err)
			return id
		}
	}
}

func (w *World) register(id, name string) (*platform.Identity, error) {
	who := &platform.Identity{Session: uuid.NewString(), LoggedInAt: w.Clock.Now(),
		Sender: account.Sender{ID: id, Username: name, DisplayName: name, Type: account.User}}
	_, err := kernel.Ask[*account.Profile](context.Background(), w.Local, account.Ref(id), account.RegisterUser{Username: name,
		PasswordHash: "none", Session: account.NewSession{ID: who.Session, Hash: persistence.HashToken(account.NewSessionToken())}})
	return who, err
}

// Room founds an agency.
func (w *World) Room(owner *platform.Identity, name string, private bool) string {
	w.T.Helper()
	v, err := w.Platform.CreateAgency(context.Background(), owner, agency.NewAgency{Name: name, Private: private})
	if err != nil {
		w.T.Fatalf("found %s: %v", name, err)
	}
	return v.ID
}

// Join makes accounts members of an agency.
func (w *World) Join(agencyID string, who ...*platform.Identity) {
	w.T.Helper()
	for _, id := range who {
		if _, err := kernel.Ask[*agency.Entered](context.Background(), w.Local, agency.Ref(agencyID), agency.AddMember{Who: id.Sender}); err != nil {
			w.T.Fatalf("%s joins: %v", id.Username, err)
		}
	}
}

// Post posts a message and returns it.
func (w *World) Post(id *platform.Identity, agencyID, content string) *agency.Message {
	w.T.Helper()
	doc, _, err := w.Platform.Post(context.Background(), id, agencyID, agency.NewMessage{Content: content})
	if err != nil {
		w.T.Fatalf("%s posts: %v", id.Username, err)
	}
	m, err := agency.DecodeMessage(doc)
	if err != nil {
		w.T.Fatal(err)
	}
	return m
}

// Connect opens a session with a recording socket; it ends with the test.
func (w *World) Connect(id *platform.Identity) (*session.Session, *Socket) {
	w.T.Helper()
	socket := &Socket{}
	s, err := w.Open(id, socket)
	if err != nil {
		w.T.Fatalf("%s connects: %v", id.Username, err)
	}
	s.Welcomed()
	w.T.Cleanup(s.Close)
	return s, socket
}

// Open opens a session. The caller closes it.
func (w *World) Open(id *platform.Identity, socket session.Socket) (*session.Session, error) {
	return session.Open(session.Options{System: w.System, Directory: w.Local, Registry: w.Registry, Commands: w.Platform, Who: id.Sender, ID: id.Session, Expires: id.Expires, Socket: socket})
}

// Do executes an operation of a session and waits for its answer.
func Do(s *session.Session, op any) (any, error) {
	type answer struct {
		v   any
		err error
	}
	got := make(chan answer, 1)
	s.Do(op, func(v any, err error) { got <- answer{v, err} })
	select {
	case a := <-got:
		return a.v, a.err
	case <-time.After(deadline):
		return nil, kernel.ErrTimeout
	}
}

// Code returns the code of an error; ok is false for nil.
func Code(err error) (code kernel.Code, ok bool) {
	if err == nil {
		return 0, false
	}
	return kernel.AsError(err).Code, true
}

// Wants checks the code of an error.
func Wants(t testing.TB, what string, err error, code kernel.Code) {
	t.Helper()
	if got, ok := Code(err); !ok || got != code {
		t.Errorf("%s: got error %v (code %d), want code %d", what, err, got, code)
	}
}

// Eventually waits until a condition holds.
func (w *World) Eventually(what string, holds func() bool) {
	w.T.Helper()
	Eventually(w.T, what, holds)
}

// Eventually waits until a condition holds.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(deadline); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never came: %s", what)
		}
	}
}

// Documents reads a collection.
func (w *World) Documents(collection string) []persistence.Document {
	w.T.Helper()
	rows, err := w.Store.Documents(context.Background(), collection, persistence.Range{})
	if err != nil {
		w.T.Fatal(err)
	}
	return rows
}
