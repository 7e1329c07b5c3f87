package session

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"parley/actors/account"
	"parley/actors/kernel"
	"parley/persistence"
)

// Rhythm of the watch.
const (
	// watchEvery is how often it looks who came and went, and writes down who is in which rooms.
	watchEvery = time.Second
	// lookEvery is how often it looks for credentials that expire.
	lookEvery = 15 * time.Second
	// watchTimeout bounds its work with the store at a time.
	watchTimeout = 10 * time.Second
	// maxExtended is the number of sessions that are extended in one look, so that ten thousand agents do not write at once.
	maxExtended = 200
	// membershipPage is the number of memberships that are read at once.
	membershipPage = 1000
)

// WatchOptions of a Watch. All fields but Log and Now are required.
type WatchOptions struct {
	Registry  *Registry
	Store     persistence.Store
	Directory kernel.Directory
	// Touch tells an agency's mirror of members that came or went. It reports whether there is one, and must not block.
	Touch func(agency string, accounts []string) bool
	// Followed reports whether an agency has a mirror.
	Followed func(agency string) bool
	Log      *slog.Logger
	Now      func() time.Time
}

// Watch looks after the live connections as a whole: it tells rooms who came and went, writes down who is in which rooms,
// keeps agents' sessions alive and ends connections whose credential has expired.
type Watch struct {
	WatchOptions
	scribe scribe
	ended  chan struct{}
	done   sync.WaitGroup
	mu     sync.Mutex // held during a piece of work
}

// NewWatch starts a watch; Close ends it. A registry has one.
func NewWatch(o WatchOptions) *Watch {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	w := &Watch{WatchOptions: o, ended: make(chan struct{})}
	w.scribe = scribe{keeper: &o.Registry.rooms, store: o.Store, stream: persistence.Stream(persistence.StreamSeats, "live"), log: o.Log}
	o.Registry.rooms.start(o.Store, o.Now())
	for i := range o.Registry.shards {
		sh := &o.Registry.shards[i]
		sh.Lock()
		sh.touched = map[string]struct{}{}
		sh.Unlock()
	}
	w.done.Add(1)
	go w.run()
	return w
}

// Close ends the watch. What it has to write down is written.
func (w *Watch) Close() {
	close(w.ended)
	w.done.Wait()
	w.scribe.stop()
}

func (w *Watch) run() {
	defer w.done.Done()
	often, seldom := time.NewTicker(watchEvery), time.NewTicker(lookEvery)
	defer often.Stop()
	defer seldom.Stop()
	for {
		select {
		case <-w.ended:
			return
		case <-often.C:
			w.Note()
		case <-seldom.C:
			w.Look()
		}
	}
}

// Note tells the rooms who came and went, and writes down who is in which rooms. The watch does it every second.
func (w *Watch) Note() {
	w.mu.Lock()
	defer w.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), watchTimeout)
	defer cancel()
	w.notePresence(ctx)
	w.scribe.write(ctx)
}

// Look keeps agents' sessions alive, ends connections whose credential has expired and forgets rooms that were kept long
// enough. The watch does it every quarter of a minute.
func (w *Watch) Look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), watchTimeout)
	defer cancel()
	now := w.Now()
	w.lookAtExpiry(now)
	w.Registry.rooms.expire(now)
	w.scribe.sweep(ctx, now)
}

// notePresence finds the rooms of those who came or went. What an account is by then is asked by the rooms.
func (w *Watch) notePresence(ctx context.Context) {
	news := map[string][]string{} // accounts by agency
	for i := range w.Registry.shards {
		sh := &w.Registry.shards[i]
		sh.Lock()
		var touched map[string]struct{}
		if len(sh.touched) > 0 {
			touched, sh.touched = sh.touched, map[string]struct{}{}
		}
		sh.Unlock()
		for account := range touched {
			if err := w.rooms(ctx, account, news); err != nil {
				w.Log.Warn("memberships can't be read", "account", account, "error", err)
				sh.Lock()
				sh.touch(account) // once more
				sh.Unlock()
			}
		}
	}
	for agency, accounts := range news {
		w.Touch(agency, accounts)
	}
}

// rooms adds an account to those of its agencies that somebody follows.
func (w *Watch) rooms(ctx context.Context, account string, news map[string][]string) error {
	prefix, after := account+"/", ""
	for {
		page, err := w.Store.Documents(ctx, persistence.CollectionMembership, persistence.Range{Prefix: prefix, After: after, Limit: membershipPage})
		if err != nil {
			return fmt.Errorf("read memberships: %w", err)
		}
		for _, d := range page {
			after = d.Key
			if agency := strings.TrimPrefix(d.Key, prefix); w.Followed(agency) {
				news[agency] = append(news[agency], account)
			}
		}
		if len(page) < membershipPage {
			return nil
		}
	}
}

// lookAtExpiry extends what is to be extended (decision 11) and ends what has expired.
func (w *Watch) lookAtExpiry(now time.Time) {
	extended := 0
	soon := now.Add(account.SessionLife).UnixMilli()
	for i := range w.Registry.shards {
		for _, s := range w.Registry.shards[i].all() {
			switch expires := s.expires.Load(); {
			case expires == 0:
			case s.Who().Type == account.Agent:
				if expires < soon && extended < maxExtended {
					extended++
					w.extend(s)
				}
			case expires <= now.UnixMilli():
				s.socket.Revoked()
			}
		}
	}
}

func (w *Watch) extend(s *Session) {
	w.Directory.Call(account.Ref(s.Who().ID), account.ExtendSession{ID: s.id}, func(v any, err error) {
		switch expires, ok := v.(int64); {
		case err == nil && ok:
			s.expires.Store(expires)
		case kernel.AsError(err).Code == kernel.CodeNotFound: // it has ended, and its connection with it
			s.socket.Revoked()
		default:
			w.Log.Warn("session can't be extended", "account", s.Who().ID, "error", err)
		}
	})
}
