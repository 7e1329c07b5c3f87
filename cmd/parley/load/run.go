package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// watchEvery is how often a run looks at its loops.
	watchEvery = 20 * time.Millisecond
	// lead is how far ahead of its first post the schedule is published, so that every loop has it:
	// loops look at the phase every 20 ms.
	lead = 100 * time.Millisecond
	// quiet is how long nothing may arrive, after everything did, before the run ends: repeats
	// show up in it.
	quiet = 500 * time.Millisecond
	// stalled is how long nothing may arrive before missing deliveries are given up.
	stalled = 5 * time.Second
)

// run is one load test from provisioning to the result.
type run struct {
	*engine
	id        string
	conns     []*conn
	loops     []*loop
	prov      *provisioner
	show      *progress
	pid       int
	result    Result
	wait      sync.WaitGroup
	loopMu    sync.Mutex
	loopError error
}

// execute does one load test. The result is nil only when the run could not take place.
func execute(ctx context.Context, opts options, show *progress) (*Result, error) {
	r, err := newRunOf(opts, show)
	if err != nil {
		return nil, err
	}
	if err := raiseFiles(opts.Connections); err != nil {
		return nil, err
	}
	r.findServer()
	if err := r.provision(ctx); err != nil {
		return nil, fmt.Errorf("provision: %w", err)
	}
	err = r.load(ctx)
	if opts.Cleanup {
		// The rooms go even when the run was interrupted.
		err = errors.Join(err, r.prov.remove(context.WithoutCancel(ctx), r.rooms))
	}
	if err != nil {
		return nil, err
	}
	r.finish()
	return &r.result, nil
}

func newRunOf(opts options, show *progress) (*run, error) {
	t, err := newTarget(opts.URL)
	if err != nil {
		return nil, err
	}
	// The run's id is always new, so that runs on one server never meet; the seed settles all else.
	id := newRun(rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())))
	e := &engine{opts: opts, target: t, dialect: dialects[opts.Format], seed: rand.Uint64(), needle: needle(id)}
	e.pad = padding(rand.New(rand.NewPCG(opts.Seed, opts.Seed)), opts.Size-minContent)
	prov := &provisioner{opts: opts, target: t, run: id, seed: e.seed}
	r := &run{engine: e, id: id, prov: prov, show: show}
	prov.note = r.note
	r.result = Result{Run: id, Scenario: opts.Scenario, URL: opts.URL, Format: opts.Format, Connections: opts.Connections, Rooms: opts.Rooms,
		Accounts: accountsOf(opts), Posters: opts.Posters, Rate: opts.Rate, Size: opts.Size, Slow: opts.Slow}
	return r, nil
}

func accountsOf(o options) int { return (o.Connections + o.PerAccount - 1) / o.PerAccount }

// note tells the person and the result about something that limits what the figures mean.
func (r *run) note(text string) {
	r.result.Notes = append(r.result.Notes, text)
	r.show.note("note: %s", text)
}

// findServer settles which process is measured.
func (r *run) findServer() {
	if r.pid = r.opts.ServerPID; r.pid != 0 {
		return
	}
	pid, err := findProcess(r.target.addr)
	if err != nil {
		r.note("memory and CPU of the server are left out: " + err.Error() + "; --server-pid names it")
		return
	}
	r.pid = pid
}

func (r *run) provision(ctx context.Context) error {
	total := int64(accountsOf(r.opts) + r.opts.Rooms)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(watchEvery):
				r.show.update("provision: %d of %d accounts and rooms", r.prov.done.Load(), total)
			}
		}
	})
	defer wg.Wait()
	defer close(stop)
	began := time.Now()
	var err error
	if r.accounts, err = r.prov.accounts(ctx, accountsOf(r.opts)); err != nil {
		return err
	}
	if r.engine.rooms, err = r.prov.rooms(ctx, r.accounts); err != nil {
		return err
	}
	r.result.ProvisionSeconds = time.Since(began).Seconds()
	return nil
}

// load connects, posts, drains and ends the loops.
func (r *run) load(ctx context.Context) error {
	if err := r.pause(ctx, "settle before connecting"); err != nil {
		return err
	}
	before := r.sample()
	if err := r.start(); err != nil {
		return err
	}
	err := r.measure(ctx, before)
	r.phase.Store(phaseClose)
	r.wait.Wait()
	return errors.Join(err, r.loopError)
}

func (r *run) start() error {
	r.conns = newConns(r.engine)
	r.began = time.Now()
	shares := make([][]*conn, r.opts.Loops)
	for i, c := range r.conns {
		shares[i%len(shares)] = append(shares[i%len(shares)], c)
	}
	for _, share := range shares {
		l, err := newLoop(r.engine, share, len(shares))
		if err != nil {
			for _, l := range r.loops {
				err = errors.Join(err, l.release())
			}
			return err
		}
		r.loops = append(r.loops, l)
	}
	for _, l := range r.loops {
		r.wait.Go(func() {
			if err := l.run(); err != nil {
				r.loopMu.Lock()
				defer r.loopMu.Unlock()
				r.loopError = errors.Join(r.loopError, err)
			}
		})
	}
	return nil
}

func (r *run) measure(ctx context.Context, before sample) error {
	if err := r.connected(ctx); err != nil {
		return err
	}
	if err := r.pause(ctx, "settle after connecting"); err != nil {
		return err
	}
	r.result.memory(before, r.sample(), r.pid, r.instant().joined)
	r.plan()
	r.phase.Store(phasePost)
	if err := r.until(ctx, "warm up", r.measureStart); err != nil {
		return err
	}
	from, cpuFrom, ownFrom := r.instant(), r.sample(), r.own()
	if err := r.until(ctx, "measure", r.measureEnd); err != nil {
		return err
	}
	to, cpuTo, ownTo := r.instant(), r.sample(), r.own()
	r.result.window(from, to)
	r.result.cpu(from, to, cpuFrom, cpuTo, r.pid)
	r.result.ownCPU(from, to, ownFrom, ownTo)
	return r.drain(ctx)
}

// plan publishes the schedule before the phase that follows it.
func (r *run) plan() {
	r.postStart = r.now() + int64(lead)
	r.measureStart = r.postStart + int64(r.opts.Warmup)
	r.measureEnd = r.measureStart + int64(r.opts.Duration)
	r.postEnd = r.measureEnd
	if r.opts.Storm > 0 {
		r.stormAt = r.measureStart + int64(r.opts.Storm)
	}
}

// connected waits until each connection has joined or failed.
func (r *run) connected(ctx context.Context) error {
	n := int64(r.opts.Connections)
	for {
		t := r.instant()
		if t.joined+t.failed >= n {
			r.result.connects(t, n)
			if t.joined == 0 {
				return fmt.Errorf("none of %d connections could join: %s", n, r.firstFailure())
			}
			return nil
		}
		r.show.update("connect: %d of %d joined, %d failed", t.joined, n, t.failed)
		if err := r.sleep(ctx, watchEvery); err != nil {
			return err
		}
	}
}

func (r *run) firstFailure() string {
	var all texts
	for _, l := range r.loops {
		all.merge(&l.tally.failures)
	}
	for _, c := range all.list() {
		return c.Text
	}
	return "no reason known"
}

func (r *run) pause(ctx context.Context, what string) error {
	for end := time.Now().Add(r.opts.Settle); time.Now().Before(end); {
		r.show.update("%s: %s left", what, time.Until(end).Round(time.Second))
		if err := r.sleep(ctx, watchEvery); err != nil {
			return err
		}
	}
	return nil
}

// until shows the rates until a time of the run's clock.
func (r *run) until(ctx context.Context, what string, at int64) error {
	last := r.instant()
	for r.now() < at {
		if err := r.sleep(ctx, min(watchEvery, time.Duration(at-r.now()))); err != nil {
			return err
		}
		if t := r.instant(); t.at-last.at >= int64(r.show.every) {
			seconds := float64(t.at-last.at) / 1e9
			r.show.update("%s: %.0f posts/s acked, %.0f deliveries/s, %d unanswered, %d repeated, %d closed, %.0fs left", what,
				float64(t.acked-last.acked)/seconds, float64(t.delivered-last.delivered)/seconds, t.posted-t.acked-t.refused, t.repeated, t.closed, float64(at-t.at)/1e9)
			last = t
		}
	}
	return nil
}

// drain waits for what is on its way: until everything arrived and it was quiet, until nothing came
// for too long, or for --drain-timeout.
func (r *run) drain(ctx context.Context) error {
	began := r.instant()
	last, changed := began, began.at
	for {
		if err := r.sleep(ctx, watchEvery); err != nil {
			return err
		}
		t := r.instant()
		if t.acked != last.acked || t.delivered != last.delivered || t.repeated != last.repeated || t.back != last.back {
			changed = t.at
		}
		last = t
		still := time.Duration(t.at - changed)
		whole := t.delivered >= t.expected && t.acked+t.refused >= t.posted && t.back >= t.swept
		if whole && still >= quiet || still >= stalled {
			return nil
		}
		if time.Duration(t.at-began.at) >= r.opts.DrainTimeout {
			r.note("gave up waiting for deliveries after --drain-timeout while some still came: the server lags behind")
			return nil
		}
		r.show.update("drain: %d deliveries and %d acks to come", t.expected-t.delivered, t.posted-t.acked-t.refused)
	}
}

// sleep waits; it ends early with an error when the run was interrupted or a loop failed.
func (r *run) sleep(ctx context.Context, d time.Duration) error {
	r.loopMu.Lock()
	err := r.loopError
	r.loopMu.Unlock()
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return fmt.Errorf("interrupted: %w", context.Cause(ctx))
	case <-time.After(max(d, 0)):
		return nil
	}
}

// finish takes the final count from the loops, which have ended.
func (r *run) finish() {
	all := newTally()
	for _, l := range r.loops {
		all.merge(l.tally)
	}
	r.result.finish(all, lost(r.conns))
}
