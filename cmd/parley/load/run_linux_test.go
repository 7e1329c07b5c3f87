package load

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"
)

// small are the settings of a short run against the fake server.
func small(url string) options {
	return options{
		URL: url, Format: "socketio", Connections: 12, Rooms: 3, PerAccount: 2, Posters: 6, SocketRate: 45, Size: 120,
		Duration: 300 * time.Millisecond, DrainTimeout: 10 * time.Second, Loops: 2, Seed: 1,
	}
}

// begin starts a run and answers a function that waits for its result. Runs mostly wait, so that
// tests do many at once, more than t.Parallel would.
func begin(t *testing.T, o options) func(*testing.T) *Result {
	t.Helper()
	if err := o.check(); err != nil {
		t.Fatal(err)
	}
	type answer struct {
		r   *Result
		err error
	}
	done := make(chan answer, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		r, err := execute(ctx, o, newProgress(io.Discard))
		done <- answer{r, err}
	}()
	return func(t *testing.T) *Result {
		t.Helper()
		a := <-done
		if a.err != nil {
			t.Fatal(a.err)
		}
		return a.r
	}
}

func TestRunClean(t *testing.T) {
	t.Parallel()
	var checks []func()
	for name, change := range map[string]func(*options, *faults){
		"socketio":     func(*options, *faults) {},
		"plain":        func(o *options, _ *faults) { o.Format = "plain" },
		"rate":         func(o *options, _ *faults) { o.Rate = 200 },
		"leave":        func(o *options, _ *faults) { o.PostersLeave = true },
		"idle":         func(o *options, _ *faults) { o.Posters = 0 },
		"fragments":    func(_ *options, f *faults) { f.fragment = true },
		"by a user":    func(_ *options, f *faults) { f.noAgencies = true },
		"own sessions": func(o *options, _ *faults) { o.OwnSessions = true },
		"rate limited": func(_ *options, f *faults) { f.limited = 2 },
		"connect rate": func(o *options, _ *faults) { o.ConnectRate = 100 },
		"coalesce":     func(o *options, _ *faults) { o.Coalesce, o.Rate = time.Millisecond, 200 },
		"large":        func(o *options, _ *faults) { o.Size = maxContent },
	} {
		var f faults
		o := small("")
		change(&o, &f)
		server := newFake(t, f)
		o.URL = server.URL
		o.Cleanup = true
		wait := begin(t, o)
		checks = append(checks, func() {
			t.Run(name, func(t *testing.T) {
				r := wait(t)
				if !r.OK {
					t.Fatalf("failures: %v, errors %v, not joined %v", r.Failures, r.Errors, r.ConnectFailures)
				}
				listeners := int64(4) // of each room
				if o.PostersLeave {
					listeners = 2
				}
				if r.Joined != 12 || r.Delivered != r.Acked*listeners || (r.Posted > 0) != (o.Posters > 0) {
					t.Fatalf("joined %d, posted %d, acked %d, delivered %d", r.Joined, r.Posted, r.Acked, r.Delivered)
				}
				if o.Rate > 0 && (r.Posted < 58 || r.Posted > 62) {
					t.Fatalf("posted %d in 0.3 s at 200/s", r.Posted)
				}
				if o.Posters > 0 && (r.Ack.Count != r.Acked || r.Delivery.Count != r.Delivered || r.Delivery.P50 <= 0) {
					t.Fatalf("ack %+v, delivery %+v of %d", r.Ack, r.Delivery, r.Delivered)
				}
				if server.deleted != 3 || len(server.sources) != 6 {
					t.Fatalf("%d rooms deleted, %d sources", server.deleted, len(server.sources))
				}
				if r.Server == nil || r.Server.RSSConnected == 0 {
					t.Fatal("the server's process was not found")
				}
				if limited := f.limited > 0; limited != strings.Contains(strings.Join(r.Notes, " "), "--rate-limit-exempt") {
					t.Fatalf("notes: %v", r.Notes)
				}
			})
		})
	}
	for _, check := range checks {
		check()
	}
}

// TestRunFaults proves that each kind of fault is found: a check that cannot fail shows nothing.
func TestRunFaults(t *testing.T) {
	t.Parallel()
	seq := regexp.MustCompile(`"seq":\d+`)
	room := regexp.MustCompile(`(~parley.{8}).{8}`)
	var checks []func()
	var held string // guarded by the fake server's lock
	for _, tc := range []struct {
		name string
		f    faults
		want string
		look func(*Result) int64
		n    int64
	}{
		{"lost", faults{deliver: func(s, n int, text string) []string {
			if s == 5 && n == 3 {
				return nil
			}
			return []string{text}
		}}, "lost", func(r *Result) int64 { return r.Lost }, 1},
		{"lost at the end", faults{deliver: func(s, n int, text string) []string {
			if s == 5 && n >= 3 {
				return nil
			}
			return []string{text}
		}}, "lost", func(r *Result) int64 { return min(r.Lost, 2) }, 2},
		{"repeated", faults{deliver: func(s, n int, text string) []string {
			if s == 5 && n == 3 {
				return []string{text, text}
			}
			return []string{text}
		}}, "repeated", func(r *Result) int64 { return r.Repeated }, 1},
		{"swapped", faults{deliver: func(s, n int, text string) []string {
			if s == 5 && n == 3 {
				held = text
				return nil
			}
			if s == 5 && n == 4 {
				return []string{text, held}
			}
			return []string{text}
		}}, "out of order", func(r *Result) int64 { return r.OutOfOrder }, 1},
		{"without seq", faults{deliver: func(s, n int, text string) []string {
			if s == 5 && n == 3 {
				return []string{seq.ReplaceAllString(text, `"x":1`)}
			}
			return []string{text}
		}}, "without seq", func(r *Result) int64 { return r.WithoutSeq }, 1},
		{"misrouted", faults{deliver: func(s, n int, text string) []string {
			if s == 5 && n == 3 {
				return []string{text, room.ReplaceAllString(text, "${1}000000ff")}
			}
			return []string{text}
		}}, "wrong room", func(r *Result) int64 { return r.Misrouted }, 1},
		{"garbage", faults{deliver: func(s, n int, text string) []string {
			if s == 5 && n == 3 {
				return []string{text, "x"}
			}
			return []string{text}
		}}, "not understood", func(r *Result) int64 { return r.Strange }, 1},
		{"refused", faults{ack: func(n int, text string) string {
			if n == 2 {
				return `{"ok":false,"content":"too much"}`
			}
			return text
		}}, "refused", func(r *Result) int64 { return r.Refused }, 6},
		{"never acked", faults{ack: func(n int, text string) string {
			if n == 2 {
				return ""
			}
			return text
		}}, "never acknowledged", func(r *Result) int64 { return r.Unanswered }, 6},
		{"closed", faults{closeAfter: func(s, n int) bool { return n == 4 }}, "closed unexpectedly",
			func(r *Result) int64 {
				if len(r.Closes) != 1 || r.Closes[0].Text != "close code 1008 slow consumer" {
					return -1
				}
				return r.Closed
			}, 6},
	} {
		o := small(newFake(t, tc.f).URL)
		o.Rooms = 1
		o.Loops = 1
		o.Duration, o.DrainTimeout = time.Second, time.Second
		wait := begin(t, o)
		checks = append(checks, func() {
			t.Run(tc.name, func(t *testing.T) {
				r := wait(t)
				if r.OK || tc.look(r) != tc.n || !strings.Contains(strings.Join(r.Failures, ", "), tc.want) {
					t.Fatalf("got %d, want %d; failures %v, closes %v", tc.look(r), tc.n, r.Failures, r.Closes)
				}
			})
		})
	}
	for _, check := range checks {
		check()
	}
}

func TestRunNobodyJoins(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, format, want string
		f                  faults
	}{
		{"refused", "socketio", "refused: no", faults{refuse: true}},
		{"refused plain", "plain", "4401", faults{refuse: true}},
		{"join error", "socketio", "not here", faults{joinError: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			o := small(newFake(t, tc.f).URL)
			o.Format = tc.format
			_, err := execute(context.Background(), o, newProgress(io.Discard))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("error %v, want %q", err, tc.want)
			}
		})
	}
}

func TestRunInterrupted(t *testing.T) {
	t.Parallel()
	o := small(newFake(t, faults{}).URL)
	o.Duration = time.Hour
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := execute(ctx, o, newProgress(io.Discard)); err == nil || time.Since(began) > 10*time.Second {
		t.Fatalf("error %v after %s", err, time.Since(began))
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	once := func(f faults, more ...string) (*Result, string, error) {
		var out, progress bytes.Buffer
		cmd := Command()
		cmd.SetOut(&out)
		cmd.SetErr(&progress)
		cmd.SetArgs(append([]string{"--url", newFake(t, f).URL, "--connections=4", "--posters=2", "--duration=200ms", "--settle=0s", "--warmup=50ms", "--drain-timeout=2s"}, more...))
		err := cmd.Execute()
		var r Result
		if uerr := json.Unmarshal(out.Bytes(), &r); uerr != nil {
			return nil, out.String(), err
		}
		return &r, out.String(), err
	}
	if r, text, err := once(faults{}, "--json"); err != nil || r == nil || !r.OK || r.Delivered == 0 {
		t.Fatalf("clean run: %v, %s", err, text)
	}
	if _, text, err := once(faults{}); err != nil || !strings.Contains(text, "result           ok") {
		t.Fatalf("clean run for people: %v, %s", err, text)
	}
	lose := faults{deliver: func(s, n int, text string) []string { return nil }}
	if r, text, err := once(lose, "--json"); err == nil || r == nil || r.OK || r.Lost == 0 {
		t.Fatalf("losing run: %v, %s", err, text)
	}
	if _, _, err := once(faults{}, "--scenario=nonsense"); err == nil {
		t.Fatal("unknown scenario accepted")
	}
}

// TestStallIsMeasured is the test against coordinated omission: a server that stalls once for 300 ms
// makes all posts of that time late, and not only the one that met the stall.
func TestStallIsMeasured(t *testing.T) {
	t.Parallel()
	n := 0
	f := faults{ack: func(_ int, text string) string {
		if n++; n == 20 {
			time.Sleep(300 * time.Millisecond)
		}
		return text
	}}
	o := small(newFake(t, f).URL)
	o.Rate, o.Posters, o.Duration = 200, 6, time.Second
	r := begin(t, o)(t)
	// 60 of the 200 posts fall into the stall, evenly spread over its 300 ms.
	if !r.OK || r.Posted < 198 || r.Ack.P90 < 120 || r.Ack.Max < 250 {
		t.Fatalf("posted %d, ack %s, failures %v", r.Posted, r.Ack, r.Failures)
	}
}
