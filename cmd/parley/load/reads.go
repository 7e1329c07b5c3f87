package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// Bounds of "parley load reads".
const (
	maxReaders   = 1024
	maxReadRooms = 10_000
	maxReadPosts = 10_000
)

// readsOptions are the flags of "parley load reads".
type readsOptions struct {
	URL      string
	Only     string
	Clients  int
	Rooms    int
	Messages int
	Size     int
	Duration time.Duration
	JSON     bool
}

// readKind is an endpoint that is read.
type readKind struct{ name, about, path string }

// readKinds is the one list of them; {room} stands for the room that has the messages.
var readKinds = []readKind{
	{"me", "the caller's profile", "/api/auth/me"},
	{"history", "a page of 50 messages", "/api/agencies/{room}/messages?limit=50"},
	{"agencies", "the agencies that the caller may see", "/api/agencies"},
}

func kindNames() string {
	names := make([]string, len(readKinds))
	for i, k := range readKinds {
		names[i] = k.name
	}
	return strings.Join(names, ", ")
}

// ReadsResult is what reading one endpoint took.
type ReadsResult struct {
	Kind        string  `json:"kind"`
	Bytes       int     `json:"bytes"`               // of an answer's body
	PerSecond   float64 `json:"requests_per_second"` // in a closed loop
	Full        Latency `json:"full"`
	Half        Latency `json:"half"`                         // at half that rate, from the scheduled time
	CPU         float64 `json:"server_cpu_us_per_request"`    // at full load; 0 when the process can't be inspected
	HalfPerS    float64 `json:"half_requests_per_second"`     // what came of the schedule
	Generator   float64 `json:"generator_cpu_us_per_request"` // at full load
	HalfLag     Latency `json:"half_generator_lag"`           // part of half
	ServerCores float64 `json:"server_cpu_cores_at_full,omitempty"`
}

// readsCommand answers "parley load reads".
func readsCommand() *cobra.Command {
	var o readsOptions
	about := make([]string, len(readKinds))
	for i, k := range readKinds {
		about[i] = fmt.Sprintf("  %-9s GET %s: %s", k.name, k.path, k.about)
	}
	cmd := &cobra.Command{
		Use:   "reads",
		Short: "Measure authenticated reads over REST",
		Long: "Read a few endpoints over connections that stay open, each first in a closed loop and then on a fixed\n" +
			"schedule of half the rate that this gave, and report rates, latencies and the server's CPU time a request:\n\n" +
			strings.Join(about, "\n") + "\n\nRooms, an account and messages are made first. Start the server with GOMAXPROCS=1 to see what one core does.",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return o.run(cmd)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.URL, "url", "http://127.0.0.1:8080", "the server's base address (http only)")
	f.StringVar(&o.Only, "only", "", "read one endpoint: "+kindNames())
	f.IntVar(&o.Clients, "clients", 16, "connections that read, each one request at a time")
	f.IntVar(&o.Rooms, "rooms", 200, "public rooms to make")
	f.IntVar(&o.Messages, "messages", 100, "messages to post into one room")
	f.IntVar(&o.Size, "size", 200, "bytes of a message's content")
	f.DurationVar(&o.Duration, "duration", 5*time.Second, "time of each measurement")
	f.BoolVar(&o.JSON, "json", false, "print the result as one JSON array on stdout; progress goes to stderr")
	return cmd
}

func (o *readsOptions) check() error {
	known := slices.ContainsFunc(readKinds, func(k readKind) bool { return k.name == o.Only })
	switch {
	case o.Only != "" && !known:
		return fmt.Errorf("--only must be one of %s, not %q", kindNames(), o.Only)
	case o.Clients < 1 || o.Clients > maxReaders:
		return fmt.Errorf("--clients must be 1 to %d", maxReaders)
	case o.Rooms < 1 || o.Rooms > maxReadRooms:
		return fmt.Errorf("--rooms must be 1 to %d", maxReadRooms)
	case o.Messages < 0 || o.Messages > maxReadPosts:
		return fmt.Errorf("--messages must be 0 to %d", maxReadPosts)
	case o.Size < 1 || o.Size > maxContent:
		return fmt.Errorf("--size must be 1 to %d bytes", maxContent)
	case o.Duration <= 0:
		return errors.New("--duration must be above 0")
	}
	return nil
}

func (o *readsOptions) run(cmd *cobra.Command) error {
	parent := cmd.Context()
	if parent == nil {
		parent = context.Background()
	}
	ctx, stop := signal.NotifyContext(parent, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	show := newProgress(cmd.ErrOrStderr())
	r, err := o.prepare(ctx, show)
	if err != nil {
		return fmt.Errorf("provision: %w", err)
	}
	var results []ReadsResult
	for _, k := range readKinds {
		if o.Only != "" && o.Only != k.name {
			continue
		}
		result, err := r.measure(ctx, k, show)
		if err != nil {
			return fmt.Errorf("read %s: %w", k.name, err)
		}
		results = append(results, *result)
	}
	if o.JSON {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(results)
	}
	for _, x := range results {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%-9s %6.1f KiB  %7.0f requests/s, %s\n%28s%.1f µs of server CPU (%.2f cores) and %.1f µs of the generator's a request\n%9s at half: %7.0f requests/s, %s\n",
			x.Kind, float64(x.Bytes)/1024, x.PerSecond, x.Full, "", x.CPU, x.ServerCores, x.Generator, "", x.HalfPerS, x.Half)
		if err != nil {
			return fmt.Errorf("write result: %w", err)
		}
	}
	return nil
}

// reads is a prepared run.
type reads struct {
	*readsOptions
	target target
	token  string
	room   string
	pid    int
}

// prepare makes an account, rooms and messages.
func (o *readsOptions) prepare(ctx context.Context, show *progress) (*reads, error) {
	t, err := newTarget(o.URL)
	if err != nil {
		return nil, err
	}
	if err := raiseFiles(o.Clients); err != nil {
		return nil, err
	}
	p := &provisioner{opts: options{Connections: 1, PerAccount: 1, Rooms: o.Rooms}, target: t, run: newRun(rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))),
		seed: rand.Uint64(), note: func(text string) { show.note("note: %s", text) }}
	show.update("provision: an account, %d rooms, %d messages", o.Rooms, o.Messages)
	accounts, err := p.accounts(ctx, 1)
	if err != nil {
		return nil, err
	}
	rooms, err := p.rooms(ctx, accounts)
	if err != nil {
		return nil, err
	}
	r := &reads{readsOptions: o, target: t, token: accounts[0].token(0), room: rooms[0].id}
	text := strings.Repeat("parley ", o.Size/7+1)[:o.Size]
	err = p.each(ctx, o.Messages, func(ctx context.Context, _ int) error {
		api := p.client(accounts[0].source)
		defer api.close()
		return api.call(ctx, http.MethodPost, "/api/agencies/"+r.room+"/messages", r.token, map[string]any{"content": text}, nil)
	})
	if err != nil {
		return nil, err
	}
	if r.pid, err = findProcess(t.addr); err != nil {
		show.note("note: CPU of the server is left out: %s", err)
		r.pid = 0
	}
	return r, nil
}

// measure reads one endpoint, first as fast as the server answers and then at half that rate.
func (r *reads) measure(ctx context.Context, k readKind, show *progress) (*ReadsResult, error) {
	request := r.request(k)
	show.update("%s: warm up", k.name)
	if _, err := r.round(ctx, request, r.Duration/5, 0); err != nil {
		return nil, err
	}
	show.update("%s: full load", k.name)
	full, err := r.round(ctx, request, r.Duration, 0)
	if err != nil {
		return nil, err
	}
	if full.requests == 0 {
		return nil, errors.New("no request was answered in time")
	}
	x := &ReadsResult{Kind: k.name, Bytes: full.bytes, PerSecond: full.perSecond(), Full: full.latency.summary(),
		CPU: each(full.serverCPU, full.requests), Generator: each(full.ownCPU, full.requests), ServerCores: full.serverCPU.Seconds() / full.took.Seconds()}
	show.update("%s: half load", k.name)
	half, err := r.round(ctx, request, r.Duration, x.PerSecond/2)
	if err != nil {
		return nil, err
	}
	x.Half, x.HalfPerS, x.HalfLag = half.latency.summary(), half.perSecond(), half.lag.summary()
	return x, nil
}

func (r *reads) request(k readKind) []byte {
	path := strings.ReplaceAll(k.path, "{room}", url.PathEscape(r.room))
	return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", path, r.target.base.Host, r.token)
}

// round lets all clients read for a time; rate 0 is a closed loop.
func (r *reads) round(ctx context.Context, request []byte, d time.Duration, rate float64) (*readTally, error) {
	readers := make([]*reader, r.Clients)
	for i := range readers {
		var err error
		if readers[i], err = dialReader(ctx, r.target.addr); err != nil {
			for _, other := range readers[:i] {
				other.close()
			}
			return nil, err
		}
	}
	server, own := sampleOrZero(r.pid), sampleOrZero(selfPID)
	began := time.Now()
	errs := make([]error, len(readers))
	var wg sync.WaitGroup
	for i, c := range readers {
		wg.Go(func() {
			defer c.close()
			p := pacer{end: int64(d)}
			if rate > 0 {
				p = fixedPacer(0, int64(d), rate, i, len(readers))
			}
			errs[i] = c.loop(ctx, request, &p, began)
		})
	}
	wg.Wait()
	all := &readTally{latency: newLatencies(), lag: newLatencies(), took: time.Since(began)}
	all.serverCPU, all.ownCPU = sampleOrZero(r.pid).cpu-server.cpu, sampleOrZero(selfPID).cpu-own.cpu
	for _, c := range readers {
		all.merge(&c.readTally)
	}
	return all, errors.Join(errs...)
}
