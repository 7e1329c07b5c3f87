package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/e2e/client"
	"parley/e2e/process"
	"parley/transport/realtime"
	liveconform "parley/transport/realtime/conform"
	"parley/transport/rest"
	"parley/transport/rest/conform"
)

// wait is how long a test waits for anything that should happen soon.
const wait = 20 * time.Second

// exempt frees this machine from the limits of requests per address.
var exempt = []string{"--rate-limit-exempt", "127.0.0.0/8,::1"}

// fixture is what all tests share: the program, and a server for those that need none of their own.
var fixture struct {
	dir    string
	build  func() error
	common func() (*process.Server, error)
	used   bool
	// checker holds every answer that a test gets against the description of the interface.
	checker *conform.Checker
	// live does the same for what travels over live connections.
	live *liveconform.Checker
}

func binary() string { return filepath.Join(fixture.dir, "parley") }

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "parley-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	fixture.dir = dir
	if fixture.checker, err = conform.New(rest.Describe(&url.URL{Scheme: "http", Host: "localhost"})); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if fixture.live, err = liveconform.New(realtime.Describe(&url.URL{Scheme: "http", Host: "localhost"}, rest.InterfaceVersion)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	client.NewTap = func(format string) client.Tap { return fixture.live.Line(format) }
	http.DefaultTransport = fixture.checker.Transport(http.DefaultTransport) // all clients of these tests use it
	fixture.build = sync.OnceValue(func() error { return process.Build(context.Background(), binary()) })
	fixture.common = sync.OnceValues(func() (*process.Server, error) {
		if err := fixture.build(); err != nil {
			return nil, err
		}
		fixture.used = true
		return process.Start(context.Background(), process.Options{Binary: binary(), DataDir: filepath.Join(dir, "common"), Args: exempt})
	})
	code := m.Run()
	if fixture.used {
		if err := endCommon(); err != nil {
			fmt.Fprintln(os.Stderr, "FAIL: the common server:", err)
			code = max(code, 1)
		}
	}
	client.Settle()
	if err := checkDescription(code == 0 && fixture.used && !partial()); err != nil {
		fmt.Fprintln(os.Stderr, "FAIL: the description of the interface:", err)
		code = max(code, 1)
	}
	return code
}

// partial says whether only some of the tests were asked for.
func partial() bool {
	for _, name := range []string{"test.run", "test.skip", "test.list"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" {
			return true
		}
	}
	return testing.Short()
}

// checkDescription tells of answers that were not as described, also where a test took no notice, and, after a whole run,
// of operations that no test has called with success.
func checkDescription(whole bool) error {
	err := errors.Join(append(fixture.checker.Faults(), fixture.live.Faults()...)...)
	if unserved := fixture.checker.Unserved(); whole && len(unserved) > 0 {
		err = errors.Join(err, fmt.Errorf("no test calls %s; add a call to TestEveryOperation", strings.Join(unserved, ", ")))
	}
	if unseen := fixture.live.Unseen(); whole && len(unseen) > 0 {
		err = errors.Join(err, fmt.Errorf("no test sees %s; add it to TestEveryEvent", strings.Join(unseen, ", ")))
	}
	return err
}

// endCommon ends the common server in the good way, after all that the tests did to it.
func endCommon() error {
	s, err := fixture.common()
	if err != nil {
		return err
	}
	if !s.Running() {
		return fmt.Errorf("it has ended by itself:\n%s", s.Log())
	}
	code, err := s.Terminate()
	if err == nil && code != 0 {
		err = fmt.Errorf("its exit code is %d:\n%s", code, s.Log())
	}
	if err == nil {
		err = checkLog(s.Log())
	}
	return err
}

// checkLog looks for what a healthy server never writes.
func checkLog(log string) error {
	for _, line := range strings.Split(log, "\n") {
		for _, bad := range []string{"panic", "fatal error", "level=ERROR", "DATA RACE"} {
			if strings.Contains(line, bad) {
				return fmt.Errorf("the server logged %q; all of its log:\n%s", line, log)
			}
		}
	}
	return nil
}

// common returns a client of the server that the tests share.
func common(t *testing.T) client.API {
	t.Helper()
	s, err := fixture.common()
	if err != nil {
		t.Fatal(err)
	}
	return client.API{Base: s.URL()}
}

// own starts a server for one test, on a data folder of its own; args beyond exempt. At the end of the test it is killed,
// if it still runs, and its log is checked.
func own(t *testing.T, args ...string) *process.Server {
	t.Helper()
	return ownIn(t, filepath.Join(t.TempDir(), "data"), append(append([]string(nil), exempt...), args...)...)
}

// ownIn is own with a given data folder and exactly the given arguments.
func ownIn(t *testing.T, dir string, args ...string) *process.Server {
	t.Helper()
	if err := fixture.build(); err != nil {
		t.Fatal(err)
	}
	s, err := process.Start(t.Context(), process.Options{Binary: binary(), DataDir: dir, Args: args})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Kill(); err != nil {
			t.Error(err)
		}
		if err := checkLog(s.Log()); err != nil {
			t.Error(err)
		}
	})
	return s
}
