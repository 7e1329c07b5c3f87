package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"
)

// dialWait is how long a server may take to answer the door.
const dialWait = 5 * time.Second

// ErrNoServer means that no server answers on the socket.
var ErrNoServer = errors.New("no server answers on the control socket")

// Backup asks the server behind the socket for a copy of its store and writes it to w. A copy that ended early is an
// error, whatever the reason. Without a server the error is ErrNoServer.
func Backup(ctx context.Context, path string, w io.Writer) error {
	response, err := get(ctx, path, "/backup")
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // read to its end, or given up
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, maxResult)) // the status says enough
		return fmt.Errorf("the server refuses the backup: %s", strings.TrimSpace(string(text)))
	}
	if _, err := io.Copy(w, response.Body); err != nil {
		return fmt.Errorf("receive the backup: %w", err)
	}
	switch result := response.Trailer.Get(resultTrailer); result {
	case resultOK:
		return nil
	case "":
		return errors.New("the server ended the backup without a word")
	default:
		return fmt.Errorf("the server could not finish the backup: %s", result)
	}
}

// Running says whether a server answers on the socket.
func Running(ctx context.Context, path string) bool {
	ctx, cancel := context.WithTimeout(ctx, dialWait)
	defer cancel()
	response, err := get(ctx, path, "/ping")
	if err != nil {
		return !errors.Is(err, ErrNoServer) // somebody holds it, though not politely
	}
	_ = response.Body.Close() // its status is all that counts
	return true
}

// get sends one request over a connection of its own.
func get(ctx context.Context, path, what string) (*http.Response, error) {
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			name, release, err := short(path)
			if err != nil {
				return nil, err
			}
			defer release()
			dialer := net.Dialer{Timeout: dialWait}
			return dialer.DialContext(ctx, "unix", name)
		},
		ResponseHeaderTimeout: stallWait,
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://control"+what, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask the server: %w", err)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOTSOCK) {
			err = ErrNoServer
		}
		return nil, fmt.Errorf("ask the server: %w", err)
	}
	return response, nil
}
