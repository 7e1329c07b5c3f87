package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"parley/e2e/client"
)

// password is that of every user.
const password = "correct horse"

var (
	people atomic.Int64
	epoch  = time.Now().UnixMilli() % 1_000_000
)

// fresh makes a name that nobody has, of at most 24 lower-case letters and digits.
func fresh(prefix string) string {
	return fmt.Sprintf("%.8s%dn%d", prefix, epoch, people.Add(1))
}

// soon is a context that ends when a test has waited long enough.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	t.Cleanup(cancel)
	return ctx
}

// person is a registered user.
type person struct {
	client.API
	client.Profile
}

// user registers one.
func user(t *testing.T, api client.API, prefix string) person {
	t.Helper()
	s, err := api.Register(soon(t), fresh(prefix), password, "")
	if err != nil {
		t.Fatal(err)
	}
	return person{api.As(s.Token), s.User}
}

// room makes an agency of a person's.
func (p person) room(t *testing.T, name string, private bool) client.Agency {
	t.Helper()
	g, err := p.CreateAgency(soon(t), fresh(name), private)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// enter makes a person a member of an agency.
func (p person) enter(t *testing.T, g client.Agency) {
	t.Helper()
	if err := p.Join(soon(t), g.ID); err != nil {
		t.Fatal(err)
	}
}

// plain opens a socket in the plain format, which is closed at the end of the test.
func (p person) plain(t *testing.T) *client.Socket {
	t.Helper()
	return opened(t, client.DialPlain, p.Base, p.Token)
}

// socketIO opens a socket in the format of Socket.IO.
func (p person) socketIO(t *testing.T) *client.Socket {
	t.Helper()
	return opened(t, client.DialSocketIO, p.Base, p.Token)
}

type dialer func(ctx context.Context, base, token string) (*client.Socket, error)

func opened(t *testing.T, dial dialer, base, token string) *client.Socket {
	t.Helper()
	s, err := dial(soon(t), base, token)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// joined enters a room with a socket.
func joined(t *testing.T, s *client.Socket, g client.Agency) *client.Joined {
	t.Helper()
	j, err := s.Join(soon(t), g.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	if j.AgencyID != g.ID {
		t.Fatalf("joined %s, want %s", j.AgencyID, g.ID)
	}
	return j
}

// post posts over REST and wants success.
func (p person) post(t *testing.T, g client.Agency, content string) client.Message {
	t.Helper()
	m, err := p.Post(soon(t), g.ID, content, "")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// must makes a REST call that has to succeed and decodes its answer.
func must[T any](t *testing.T, api client.API, method, path string, body any) T {
	t.Helper()
	var out T
	if err := api.Call(soon(t), method, path, body, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// refused makes a REST call that has to fail with a status, and returns the sentence.
func refused(t *testing.T, api client.API, method, path string, body any, status int) string {
	t.Helper()
	return wantStatus(t, api.Call(soon(t), method, path, body, nil), status)
}

// wantStatus checks that an error is an answer with a status.
func wantStatus(t *testing.T, err error, status int) string {
	t.Helper()
	var answer *client.StatusError
	if !errors.As(err, &answer) || answer.Status != status {
		t.Fatalf("got %v, want status %d", err, status)
	}
	return answer.Message
}

// event waits for an event on a socket and decodes it.
func event[T any](t *testing.T, s *client.Socket, name string) T {
	t.Helper()
	var out T
	if err := s.WaitEvent(soon(t), name, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// message waits for a message of some content.
func message(t *testing.T, s *client.Socket, content string) client.Message {
	t.Helper()
	var m client.Message
	_, err := s.Wait(soon(t), fmt.Sprintf("the message %q", content), func(f client.Frame) bool {
		return f.Event == "message" && json.Unmarshal(f.Data, &m) == nil && m.Content == content
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// wantClose waits until the server closes a socket with a code.
func wantClose(t *testing.T, s *client.Socket, code int) {
	t.Helper()
	got, err := s.CloseCode(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	if got != code {
		t.Fatalf("closed with %d (%v), want %d", got, s.Err(), code)
	}
}

// eventually polls until a condition holds; what says what was waited for.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(wait)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not happen within %s", what, wait)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// me is who a token belongs to.
func me(t *testing.T, api client.API) client.Profile {
	t.Helper()
	return must[client.Profile](t, api, http.MethodGet, "/api/auth/me", nil)
}
