package load

import (
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// parse reads flags as the command does.
func parse(t *testing.T, args ...string) (options, error) {
	t.Helper()
	var o options
	flags := pflag.NewFlagSet("load", pflag.ContinueOnError)
	bindFlags(flags, &o)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	if err := applyScenario(flags, o.Scenario); err != nil {
		return o, err
	}
	o.postersChosen = flags.Changed("posters")
	return o, o.check()
}

func TestScenarios(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios {
		if o, err := parse(t, "--scenario="+s.name); err != nil {
			t.Errorf("%s: %v", s.name, err)
		} else if o.Rate/float64(max(o.Posters, 1)) > maxSocketRate {
			t.Errorf("%s posts %g/s a socket", s.name, o.Rate/float64(o.Posters))
		}
	}
	o, err := parse(t, "--scenario=idle", "--connections=3000")
	if err != nil || o.Connections != 3000 || o.Rooms != 1000 || o.Posters != 0 {
		t.Fatalf("%+v, %v", o, err)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	if o, err := parse(t, "--connections=1000", "--rate=4500"); err != nil || o.Posters != 125 {
		t.Fatalf("%d posters, %v", o.Posters, err)
	}
	for _, tc := range []struct{ args, want string }{
		{"--connections=0", "--connections"},
		{"--rooms=101", "--rooms"},
		{"--per-account=21", "--per-account"},
		{"--size=10", "--size"},
		{"--size=16001", "--size"},
		{"--rate=-1", "--rate"},
		{"--rate=NaN", "--rate"},
		{"--rate=100 --posters=0", "--rate"},
		{"--rate=1000 --posters=10", "at least 23 posters"},
		{"--rate=10000", "--socket-rate"},
		{"--socket-rate=0", "--socket-rate"},
		{"--posters=101", "--posters"},
		{"--posters=100 --posters-leave", "nobody listens"},
		{"--format=xml", "--format"},
		{"--duration=0s", "--duration"},
		{"--loops=0", "--loops"},
		{"--coalesce=1s", "--coalesce"},
		{"--scenario=x", "idle"},
	} {
		if _, err := parse(t, strings.Fields(tc.args)...); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", tc.args, err)
		}
	}
}

func TestTarget(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "https://127.0.0.1", "127.0.0.1:80", "http://", "http://127.0.0.1:x"} {
		if _, err := newTarget(bad); err == nil {
			t.Errorf("%q accepted", bad)
		}
	}
	target, err := newTarget("http://127.0.0.1:8080")
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for i := range 5000 {
		a := target.source(i, ^uint64(0)-100) // wraps around
		if !a.IsLoopback() || seen[a.String()] {
			t.Fatalf("source %d is %s", i, a)
		}
		seen[a.String()] = true
	}
	if far, err := newTarget("http://192.0.2.1"); err != nil || far.source(1, 1).IsValid() || far.addr.Port() != 80 {
		t.Fatalf("%v, %v", far, err)
	}
}

// TestHelpIsComplete compares the documented fields with the types.
func TestHelpIsComplete(t *testing.T) {
	t.Parallel()
	documented := make(map[string]bool)
	for _, f := range resultFields {
		documented[strings.TrimSpace(f[0])] = true
	}
	n := 1 // "latencies" is a heading
	counted := make(map[string]bool)
	for _, typ := range []reflect.Type{reflect.TypeFor[Result](), reflect.TypeFor[ServerFigures](), reflect.TypeFor[StormFigures](), reflect.TypeFor[Latency]()} {
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if !documented[name] {
				t.Errorf("%s is not documented", name)
			}
			if !counted[name] {
				counted[name] = true
				n++
			}
		}
	}
	if n != len(documented) {
		t.Errorf("%d fields documented, %d exist", len(documented), n)
	}
	if long := Command().Long; !strings.Contains(long, "--posters-leave=true") || !strings.Contains(long, "cpu_us_per_delivery") {
		t.Error("the long help lacks parts")
	}
}
