package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/e2e/client"
)

// sample is one of the clients in docs/clients, running.
type sample struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string
	said  []string
}

// goSample builds the client in Go.
func goSample(t *testing.T) (program string, args []string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "client")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../docs/clients/go").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program, nil
}

// jsSample needs the packages of these tests.
func jsSample(t *testing.T) (program string, args []string) {
	t.Helper()
	program, err := exec.LookPath("node")
	if err != nil {
		t.Skip("Node.js is not installed; make prepare installs it")
	}
	if _, err := os.Stat(filepath.Join("node_modules", "socket.io-client", "package.json")); err != nil {
		t.Skip("socket.io-client is not installed; make prepare installs it")
	}
	return program, []string{"../docs/clients/js/client.js"}
}

func pythonSample(t *testing.T) (program string, args []string) {
	t.Helper()
	program, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("Python 3 is not installed")
	}
	return program, []string{"../docs/clients/py/client.py"}
}

// startSample runs a client; environment is pairs of names and values.
func startSample(t *testing.T, program string, args []string, environment ...string) *sample {
	t.Helper()
	modules, err := filepath.Abs("node_modules")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &sample{t: t, lines: make(chan string, 1000)}
	s.cmd = exec.CommandContext(ctx, program, args...)
	s.cmd.Env = append(append(os.Environ(), "NODE_PATH="+modules), environment...)
	s.cmd.WaitDelay = time.Second
	out, in := io.Pipe()
	s.cmd.Stdout, s.cmd.Stderr = in, in
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = s.cmd.Wait() // killed
		_ = in.Close()
	}()
	go func() {
		defer close(s.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			select {
			case s.lines <- lines.Text():
			case <-ctx.Done():
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		for range s.lines { // until it has ended
		}
		if t.Failed() {
			t.Logf("the client printed:\n%s", strings.Join(s.said, "\n"))
		}
	})
	return s
}

// says waits for a line with a text in it, and returns it.
func (s *sample) says(what string) string {
	s.t.Helper()
	late := time.After(wait)
	for {
		select {
		case line, ok := <-s.lines:
			if !ok {
				s.t.Fatalf("the client ended; waited for %q", what)
			}
			s.said = append(s.said, line)
			if strings.Contains(line, what) {
				return line
			}
		case <-late:
			s.t.Fatalf("waited for %q in vain", what)
		}
	}
}

// signal stops the client for a while, or lets it go on.
func (s *sample) signal(sig os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// answers waits until there is an answer to a message, and counts all that there are.
func answers(t *testing.T, who person, lobby client.Agency, to client.Message) int {
	t.Helper()
	for deadline := time.Now().Add(wait); ; time.Sleep(20 * time.Millisecond) {
		n := 0
		for _, m := range must[[]struct {
			ReplyTo string `json:"reply_to"`
		}](t, who.API, http.MethodGet, "/api/agencies/"+lobby.ID+"/messages?limit=100", nil) {
			if m.ReplyTo == to.ID {
				n++
			}
		}
		if n > 0 {
			return n
		}
		if time.Now().After(deadline) {
			t.Fatalf("nobody answered %q", to.Content)
		}
	}
}

// TestClientsOfTheProtocolPage: each of the clients in docs/clients answers once whoever mentions it, also what was said
// while it was away, and after the server was killed.
func TestClientsOfTheProtocolPage(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("clients are stopped by signals")
	}
	for name, prepare := range map[string]func(*testing.T) (string, []string){"go": goSample, "js": jsSample, "py": pythonSample} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program, args := prepare(t)
			server := own(t)
			api := client.API{Base: server.URL()}
			ann, bot := user(t, api, "ann"), user(t, api, "bot")
			lobby := must[client.Agency](t, ann.API, http.MethodGet, "/api/agencies/lookup/lobby", nil)
			s := startSample(t, program, args, "PARLEY_URL="+api.Base, "PARLEY_TOKEN="+bot.Token)
			s.says("joined ")
			asked := []client.Message{ann.post(t, lobby, "Hello @"+bot.Username+", are you there?")}
			ann.post(t, lobby, "nobody is mentioned")
			s.says("answered " + asked[0].ID)
			for i := range 2 {
				s.signal(syscall.SIGSTOP) // so that it can't be back before something was missed
				crash(t, server)
				for n := range 3 {
					asked = append(asked, ann.post(t, lobby, fmt.Sprintf("And now, @%s? %d %d", bot.Username, i, n)))
				}
				s.signal(syscall.SIGCONT)
				s.says("joined ")
			}
			for _, m := range asked {
				if n := answers(t, ann, lobby, m); n != 1 {
					t.Errorf("%q was answered %d times", m.Content, n)
				}
			}
			must[any](t, bot.API, http.MethodPost, "/api/auth/logout", nil)
			s.ends()
		})
	}
}

// ends waits until the client gives up, because its token has ended.
func (s *sample) ends() {
	s.t.Helper()
	late := time.After(wait)
	for {
		select {
		case line, ok := <-s.lines:
			if !ok {
				return
			}
			s.said = append(s.said, line)
		case <-late:
			s.t.Fatal("the client goes on with a dead token")
		}
	}
}

// TestClientInPythonRegisters: without a token it makes an account of its own.
func TestClientInPythonRegisters(t *testing.T) {
	t.Parallel()
	program, args := pythonSample(t)
	api := common(t)
	s := startSample(t, program, args, "PARLEY_URL="+api.Base, "PARLEY_NAME="+fresh("py"))
	name := strings.Fields(s.says("registered "))[1]
	s.says("joined ")
	ann := user(t, api, "ann")
	lobby := must[client.Agency](t, ann.API, http.MethodGet, "/api/agencies/lookup/lobby", nil)
	if n := answers(t, ann, lobby, ann.post(t, lobby, "Hello @"+name)); n != 1 {
		t.Errorf("%d answers", n)
	}
}
