// Package process starts a Parley server as a process of its own, and ends it in all the ways in which servers end.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Limits of waiting for a process.
const (
	// StartTimeout is how long a server may take until it accepts requests.
	StartTimeout = 20 * time.Second
	// StopTimeout is how long a server may take to end after SIGTERM (decisions, run-time interface).
	StopTimeout = 10 * time.Second
	// killTimeout is how long the system may take to end a killed process.
	killTimeout = 10 * time.Second
	// pipeDelay is how long output is waited for after a process has ended.
	pipeDelay = 2 * time.Second
	// retryPause is the time between two tries to take an address that is still in use.
	retryPause = 50 * time.Millisecond
)

// ErrExited means that a process ended before it accepted requests.
var ErrExited = errors.New("the server ended before it accepted requests")

// Build compiles the program into a file.
func Build(ctx context.Context, file string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", file, "parley/cmd/parley")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the server: %w\n%s", err, out)
	}
	return nil
}

// Environment is this process's environment without settings of the program, which would change what a test sees.
func Environment() []string {
	var env []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "PARLEY_") {
			env = append(env, e)
		}
	}
	return env
}

// Options of a Server. Binary and DataDir are required.
type Options struct {
	// Binary is the compiled program.
	Binary string
	// DataDir is the folder of the store.
	DataDir string
	// Args are more arguments of serve. Empty: none.
	Args []string
}

// Server is a running server, or one that was running: Restart starts it again.
type Server struct {
	o      Options
	listen string

	mu   sync.Mutex
	life *life
	past strings.Builder // output of earlier lives
}

// life is one process.
type life struct {
	cmd  *exec.Cmd
	out  *output
	done chan struct{} // closed when it has ended
}

// Start starts a server on a free port of the loopback interface and waits until it accepts requests.
func Start(ctx context.Context, o Options) (*Server, error) {
	s := &Server{o: o, listen: "127.0.0.1:0"}
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	s.listen = strings.TrimPrefix(s.URL(), "http://")
	return s, nil
}

func (s *Server) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, StartTimeout)
	defer cancel()
	l := &life{out: newOutput(), done: make(chan struct{})}
	args := append([]string{"serve", "--listen", s.listen, "--data-dir", s.o.DataDir}, s.o.Args...)
	l.cmd = exec.Command(s.o.Binary, args...)
	l.cmd.Env = Environment()
	l.cmd.Stdout, l.cmd.Stderr = l.out, l.out
	l.cmd.WaitDelay = pipeDelay
	if err := l.cmd.Start(); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	go func() {
		_ = l.cmd.Wait() // the exit code is in ProcessState
		close(l.done)
	}()
	s.mu.Lock()
	if s.life != nil {
		s.past.WriteString(s.life.out.String())
	}
	s.life = l
	s.mu.Unlock()
	select {
	case <-l.out.ready:
		return nil
	case <-l.done:
		return fmt.Errorf("%w, with code %d:\n%s", ErrExited, l.cmd.ProcessState.ExitCode(), l.out.String())
	case <-ctx.Done():
		_ = l.cmd.Process.Kill()
		<-l.done
		return fmt.Errorf("the server did not say that it listens within %s:\n%s", StartTimeout, l.out.String())
	}
}

func (s *Server) current() *life {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.life
}

// Restart starts a server that has ended, on the same data folder and the same address. While something else holds the
// address it tries again.
func (s *Server) Restart(ctx context.Context) error {
	select {
	case <-s.current().done:
	default:
		return errors.New("restart: the server still runs")
	}
	deadline := time.Now().Add(StartTimeout)
	for {
		err := s.start(ctx)
		if err == nil || !strings.Contains(err.Error(), "address already in use") || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryPause):
		}
	}
}

// URL is the base address, without a slash at the end.
func (s *Server) URL() string { return strings.TrimSuffix(s.current().out.announced(), "/") }

// Log is all that the server has written, in all its lives.
func (s *Server) Log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.past.String() + s.life.out.String()
}

// Running reports whether the process lives.
func (s *Server) Running() bool {
	select {
	case <-s.current().done:
		return false
	default:
		return true
	}
}

// Kill ends the server with SIGKILL, as a crash or a power cut of the machine's would, and waits until it is gone.
func (s *Server) Kill() error {
	l := s.current()
	if err := l.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill the server: %w", err)
	}
	select {
	case <-l.done:
		return nil
	case <-time.After(killTimeout):
		return errors.New("the killed server is still there")
	}
}

// Terminate asks the server to end with SIGTERM and returns its exit code. A server that is still there after
// StopTimeout is killed, which is an error.
func (s *Server) Terminate() (code int, err error) {
	if err := s.Signal(); err != nil {
		return 0, err
	}
	return s.Ended()
}

// Signal sends SIGTERM.
func (s *Server) Signal() error {
	if err := s.current().cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("terminate the server: %w", err)
	}
	return nil
}

// Ended waits for the end of a server that was sent SIGTERM and returns its exit code.
func (s *Server) Ended() (code int, err error) {
	l := s.current()
	select {
	case <-l.done:
		return l.cmd.ProcessState.ExitCode(), nil
	case <-time.After(StopTimeout):
		return 0, errors.Join(fmt.Errorf("the server is still there %s after SIGTERM", StopTimeout), s.Kill())
	}
}
