package load

import (
	"strings"
	"testing"
	"time"
)

// stormy is a run in which half of the connections are dropped while the others post.
func stormy(o *options) {
	o.Rate, o.Duration, o.Storm = 300, 600*time.Millisecond, 200*time.Millisecond
	o.postersChosen = true
	o.SocketRate = 100
}

func TestStorm(t *testing.T) {
	t.Parallel()
	cut := func(missed []string) (bool, []string, bool) { // in pages of two
		if len(missed) > 2 {
			return true, missed[:2], true
		}
		return true, missed, false
	}
	for name, c := range map[string]struct {
		change func(*options, *faults)
		fails  string
	}{
		"socketio": {change: func(*options, *faults) {}},
		"plain":    {change: func(o *options, _ *faults) { o.Format = "plain" }},
		"pages":    {change: func(_ *options, f *faults) { f.recover = cut }},
		"a gap": {change: func(_ *options, f *faults) {
			f.recover = func([]string) (bool, []string, bool) { return false, nil, false }
		}, fails: "came back with a gap"},
		"lost": {change: func(_ *options, f *faults) {
			f.recover = func(missed []string) (bool, []string, bool) { return true, missed[min(1, len(missed)):], false }
		}, fails: "deliveries lost"},
		"repeated": {change: func(_ *options, f *faults) {
			f.recover = func(missed []string) (bool, []string, bool) {
				return true, append(append([]string(nil), missed...), missed...), false
			}
		}, fails: "deliveries repeated"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var f faults
			o := small("")
			stormy(&o)
			c.change(&o, &f)
			o.URL = newFake(t, f).URL
			r := begin(t, o)(t)
			failures := strings.Join(r.Failures, ", ")
			if r.OK != (c.fails == "") || !strings.Contains(failures, c.fails) {
				t.Fatalf("failures: %s, errors %v", failures, r.Errors)
			}
			if r.Storm == nil || r.Storm.Dropped != 6 || r.Storm.Back != 6 || r.Storm.Return.Count != 6 {
				t.Fatalf("%+v", r.Storm)
			}
			if r.OK && r.Delivered != r.Acked*4 {
				t.Fatalf("%d acked, %d delivered", r.Acked, r.Delivered)
			}
		})
	}
}

func TestSlowReaders(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hangs bool
		fails string
	}{"cut off": {hangs: true}, "kept": {fails: "2 slow readers were not cut off"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := small("")
			o.Slow, o.Rate, o.Posters, o.postersChosen, o.Duration = 2, 200, 10, true, 600*time.Millisecond
			var f faults
			if c.hangs {
				f.hangUp = 300 * time.Millisecond
			}
			o.URL = newFake(t, f).URL
			r := begin(t, o)(t)
			if r.OK != c.hangs || !strings.Contains(strings.Join(r.Failures, ", "), c.fails) || c.hangs && r.Cut != 2 {
				t.Fatalf("%v, %d cut off, %v", r.Failures, r.Cut, r.Closes)
			}
		})
	}
}
