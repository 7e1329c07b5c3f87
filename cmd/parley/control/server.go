// Package control is the door through which other commands of the program reach a running server: a socket in the data
// folder that only the server's own user can open. It exists because the server holds the lock of its store.
//
// It speaks HTTP over a Unix socket: GET /backup streams a copy of the store, GET /ping answers "parley".
package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// SocketName is the name of the socket in the data folder.
const SocketName = "control.sock"

const (
	socketMode = 0o600
	folderMode = 0o700

	// headerWait is how long a client may take to say what it wants, and maxHeader how many bytes.
	headerWait = 5 * time.Second
	maxHeader  = 8 << 10
	// maxConnections bounds the connections that are open at once.
	maxConnections = 16
	// stallWait is how long a client may not read before its backup ends: a backup keeps the store from using space
	// again.
	stallWait = time.Minute

	// resultTrailer follows the stream and says how it ended: resultOK, or the error.
	resultTrailer = "Backup-Result"
	resultOK      = "ok"
	pong          = "parley"
)

// ErrInUse means that another server answers on the socket.
var ErrInUse = errors.New("another server answers on the control socket")

// Path is the socket of a data folder.
func Path(dataDir string) string { return filepath.Join(dataDir, SocketName) }

// Server answers on a control socket until it is closed or its context ends.
type Server struct {
	path string
	http *http.Server
	file os.FileInfo // the socket as it was made, to remove no other
	stop func() bool
	done chan struct{}
	err  error // of Serve, set before done closes
}

// Serve listens on path and answers until Close or the end of ctx, in a goroutine of its own. backup writes a copy of
// the store; it runs once at a time, and its context ends with the client or the server. A socket that a dead server
// left is replaced, one that answers is refused with ErrInUse, and anything else at path is left alone.
func Serve(ctx context.Context, path string, backup func(context.Context, io.Writer) error) (*Server, error) {
	if err := os.MkdirAll(filepath.Dir(path), folderMode); err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	if err := makeRoom(ctx, path); err != nil {
		return nil, fmt.Errorf("control socket %s: %w", path, err)
	}
	listener, file, err := listen(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("control socket %s: %w", path, err)
	}
	s := &Server{path: path, file: file, done: make(chan struct{})}
	s.http = &http.Server{
		Handler:           routes(backup),
		ReadHeaderTimeout: headerWait,
		ReadTimeout:       headerWait,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	go func() {
		defer close(s.done)
		if err := s.http.Serve(limit(listener, maxConnections)); !errors.Is(err, http.ErrServerClosed) {
			s.err = err
		}
	}()
	s.stop = context.AfterFunc(ctx, func() { _ = s.http.Close() }) // Close reports it
	return s, nil
}

// Close ends the server, backups that are running too, and removes the socket. Closing again is no error.
func (s *Server) Close() error {
	s.stop()
	err := s.http.Close()
	<-s.done
	if now, statErr := os.Lstat(s.path); statErr == nil && os.SameFile(now, s.file) {
		err = errors.Join(err, os.Remove(s.path))
	}
	if err = errors.Join(s.err, err); err != nil {
		return fmt.Errorf("close the control socket: %w", err)
	}
	return nil
}

// makeRoom looks at what is at path: nothing and a dead socket are fine.
func makeRoom(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return errors.New("there is something else under that name; move it away")
	}
	if Running(ctx, path) {
		return ErrInUse
	}
	return nil
}

// listen makes the socket in a folder that nobody else can enter and moves it to its place when its mode is set. A dead
// socket there is replaced.
func listen(ctx context.Context, path string) (net.Listener, os.FileInfo, error) {
	dir, err := os.MkdirTemp(filepath.Dir(path), ".control-") // mode 0700
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // litter at worst
	temp := filepath.Join(dir, "s")
	name, release, err := short(temp)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "unix", name)
	if err != nil {
		return nil, nil, err
	}
	if u, ok := listener.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false) // its name is not the one that it was made under
	}
	err = errors.Join(os.Chmod(temp, socketMode), os.Rename(temp, path))
	file, statErr := os.Lstat(path)
	if err = errors.Join(err, statErr); err != nil {
		return nil, nil, errors.Join(err, listener.Close())
	}
	return listener, file, nil
}

func routes(backup func(context.Context, io.Writer) error) http.Handler {
	one := make(chan struct{}, 1) // a backup at a time
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ping", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, pong) // the client is gone
	})
	mux.HandleFunc("GET /backup", func(w http.ResponseWriter, r *http.Request) {
		select {
		case one <- struct{}{}:
			defer func() { <-one }()
		default:
			http.Error(w, "another backup is running; try again when it is done", http.StatusConflict)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Trailer", resultTrailer)
		result := resultOK
		if err := backup(r.Context(), &patient{w: w, control: http.NewResponseController(w)}); err != nil {
			result = oneLine(err.Error())
		}
		w.Header().Set(resultTrailer, result)
	})
	return mux
}

// patient is a writer that gives its client stallWait for each write.
type patient struct {
	w       io.Writer
	control *http.ResponseController
}

func (p *patient) Write(b []byte) (int, error) {
	if err := p.control.SetWriteDeadline(time.Now().Add(stallWait)); err != nil {
		return 0, err
	}
	return p.w.Write(b)
}

// maxResult is the longest error that a trailer carries, in bytes.
const maxResult = 1024

// oneLine makes a text fit into a header.
func oneLine(text string) string {
	b := []byte(text[:min(len(text), maxResult)])
	for i, c := range b {
		if c < ' ' || c > '~' {
			b[i] = ' '
		}
	}
	return string(b)
}
