package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// said is a line that a script printed.
type said struct {
	Kind    string          `json:"kind"`
	Name    string          `json:"name"`
	Args    int             `json:"args"`
	Data    json.RawMessage `json:"data"`
	Message string          `json:"message"`
	Active  bool            `json:"active"` // the client will try again by itself
	SID     string          `json:"sid"`
}

func (s said) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %.300s%s", s.Kind, s.Name, s.Data, s.Message))
}

// is tells whether a line is an event of a name.
func (s said) is(event string) bool { return s.Kind == "event" && s.Name == event }

// script is a running Node.js program out of js/.
type script struct {
	t     *testing.T
	in    io.WriteCloser
	lines chan said
	seen  []said
}

// runScript starts a program that uses the real socket.io-client; wishes become its argument.
func runScript(t *testing.T, name string, wishes any) *script {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("Node.js is not installed; make prepare installs it")
	}
	if _, err := os.Stat(filepath.Join("node_modules", "socket.io-client", "package.json")); err != nil {
		t.Skip("socket.io-client is not installed; make prepare installs it")
	}
	argument, err := json.Marshal(wishes)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, node, filepath.Join("js", name), string(argument))
	cmd.WaitDelay = time.Second
	var complaints strings.Builder
	cmd.Stderr = &complaints
	s := &script{t: t, lines: make(chan said, 1000)}
	if s.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go s.read(ctx, out)
	t.Cleanup(func() {
		cancel()
		for range s.lines { // until the reader has ended
		}
		_ = cmd.Wait() // killed, or ended by itself
		if t.Failed() {
			t.Logf("%s printed:\n%s%s", name, s.transcript(), complaints.String())
		}
	})
	return s
}

// read passes lines on until the program ends.
func (s *script) read(ctx context.Context, out io.Reader) {
	defer close(s.lines)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var line said
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			line = said{Kind: "failure", Message: lines.Text()}
		}
		check(line)
		select {
		case s.lines <- line:
		case <-ctx.Done():
		}
	}
}

// check holds what the server told a program against its description. What is wrong is remembered there.
func check(line said) {
	switch {
	case line.Args != 1: // seen to elsewhere
	case line.Kind == "event":
		_ = fixture.live.Event("socketio", line.Name, line.Data)
	case line.Kind == "ack" && strings.HasPrefix(line.Name, "/"): // named by its command
		_ = fixture.live.Answered("send-message", nil, line.Data)
	case line.Kind == "ack":
		_ = fixture.live.Answered(line.Name, nil, line.Data)
	}
}

func (s *script) transcript() string {
	var b strings.Builder
	for _, line := range s.seen {
		fmt.Fprintln(&b, line)
	}
	return b.String()
}

// next returns the next line. Every event and every ack must have exactly one argument (clients.md 3.1).
func (s *script) next(what string) said {
	s.t.Helper()
	select {
	case line, ok := <-s.lines:
		if !ok {
			s.t.Fatalf("the script ended; waited for %s", what)
		}
		s.seen = append(s.seen, line)
		if line.Kind == "failure" {
			s.t.Fatalf("the script failed, waiting for %s: %s", what, line.Message)
		}
		if (line.Kind == "event" || line.Kind == "ack") && line.Args != 1 {
			s.t.Fatalf("%s has %d arguments, want one", line, line.Args)
		}
		return line
	case <-time.After(wait):
		s.t.Fatalf("waited for %s in vain", what)
	}
	panic("unreachable")
}

// until passes over lines to the first that matches, and returns the passed ones and that one.
func (s *script) until(what string, match func(said) bool) (passed []said, found said) {
	s.t.Helper()
	for {
		line := s.next(what)
		if match(line) {
			return passed, line
		}
		passed = append(passed, line)
	}
}

// kind waits for a line of a kind.
func (s *script) kind(kind string) said {
	s.t.Helper()
	_, found := s.until(kind, func(l said) bool { return l.Kind == kind })
	return found
}

// event waits for an event.
func (s *script) event(name string) said {
	s.t.Helper()
	_, found := s.until(name, func(l said) bool { return l.is(name) })
	return found
}

// part returns the lines of a part: those between its heading and the next one, or the end.
func (s *script) part(name string) []said {
	s.t.Helper()
	heading := func(l said) bool { return l.Kind == "part" && l.Name == name }
	if !slices.ContainsFunc(s.seen, heading) {
		s.until("part "+name, heading)
	}
	begin := slices.IndexFunc(s.seen, heading) + 1
	for i := begin; ; i++ {
		if i == len(s.seen) {
			s.next("the end of part " + name)
		}
		if kind := s.seen[i].Kind; kind == "part" || kind == "end" || kind == "ready" {
			return s.seen[begin:i]
		}
	}
}

// say gives the program a line of input.
func (s *script) say(wish any) {
	s.t.Helper()
	line, err := json.Marshal(wish)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		s.t.Fatal(err)
	}
}

// decoded reads a line's data.
func decoded[T any](t *testing.T, l said) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(l.Data, &v); err != nil {
		t.Fatalf("%s: %v", l, err)
	}
	return v
}
