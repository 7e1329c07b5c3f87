package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"parley/e2e/client"
)

// redial is the pause between two tries to reach the server.
const redial = 100 * time.Millisecond

// follower holds on to rooms over one socket at a time. When a socket ends it opens the next one, with the same token, and
// asks for what came meanwhile (decision 29), so that it passes on every message once, in order.
type follower struct {
	name   string
	api    client.API
	handle func(client.Message) // called from one goroutine; must not wait for send

	mu      sync.Mutex
	rooms   map[string]uint64 // agency id → seq of the last message passed on, or of the log's end when it joined
	entered map[string]bool   // joined on the present socket
	socket  *client.Socket
	changed chan struct{} // closed and replaced when any of the above changes
	lives   int           // sockets opened so far
	ended   error
}

func newFollower(name string, api client.API, handle func(client.Message)) *follower {
	return &follower{name: name, api: api, handle: handle, rooms: map[string]uint64{}, entered: map[string]bool{}, changed: make(chan struct{})}
}

// run follows until ctx ends. A refusal, or a gap that the server can't fill, ends it too and is told by await.
func (f *follower) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := f.live(ctx)
		var refused *client.RefusedError
		if errors.As(err, &refused) || errors.Is(err, errGap) {
			f.update(func() { f.ended = err })
			return
		}
		f.update(func() { f.socket, f.entered = nil, map[string]bool{} })
		select {
		case <-ctx.Done():
		case <-time.After(redial):
		}
	}
}

// errGap means that messages were missed for good.
var errGap = errors.New("the server could not recover what was missed")

// live is the life of one socket.
func (f *follower) live(ctx context.Context) error {
	s, err := client.DialSocketIO(ctx, f.api.Base, f.api.Token)
	if err != nil {
		return err
	}
	defer s.Close()
	f.update(func() { f.socket, f.lives = s, f.lives+1 })
	for id, since := range f.known() {
		if err := join(s, id, since); err != nil {
			return err
		}
	}
	for {
		frame, err := s.Next(ctx)
		if err != nil {
			return err
		}
		if err := f.take(s, frame); err != nil {
			return err
		}
	}
}

// join asks for a room; since 0 is a first visit.
func join(s *client.Socket, id string, since uint64) error {
	body := map[string]any{"agencyId": id}
	if since > 0 {
		body["since"] = since
	}
	return s.Emit("join-agency", body)
}

// take handles one frame.
func (f *follower) take(s *client.Socket, frame client.Frame) error {
	switch frame.Event {
	case "message":
		return f.pass(frame.Data)
	case "error":
		return fmt.Errorf("%s: the server says %s", f.name, frame.Data)
	case "agency-joined":
	default:
		return nil
	}
	var j client.Joined
	if err := json.Unmarshal(frame.Data, &j); err != nil {
		return err
	}
	if j.Recovered != nil && !*j.Recovered {
		return fmt.Errorf("%s: %w", f.name, errGap)
	}
	for _, m := range j.Missed {
		if m.Event == "message" {
			if err := f.pass(m.Data); err != nil {
				return err
			}
		}
	}
	if j.More {
		return join(s, j.AgencyID, f.known()[j.AgencyID])
	}
	f.update(func() {
		f.rooms[j.AgencyID] = max(f.rooms[j.AgencyID], j.Seq)
		f.entered[j.AgencyID] = true
	})
	return nil
}

// pass passes a message on, unless it was passed on before.
func (f *follower) pass(data []byte) error {
	var m client.Message
	if err := json.Unmarshal(data, &m); err != nil {
		return err
	}
	fresh := false
	f.update(func() {
		if m.Seq > f.rooms[m.AgencyID] {
			f.rooms[m.AgencyID], fresh = m.Seq, true
		}
	})
	if fresh {
		f.handle(m)
		f.update(func() {}) // those who wait for what handle has done look again
	}
	return nil
}

func (f *follower) update(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *follower) known() map[string]uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	rooms := map[string]uint64{}
	for id, since := range f.rooms {
		rooms[id] = since
	}
	return rooms
}

// await waits until a condition on the follower's state holds. what says what is expected.
func (f *follower) await(ctx context.Context, what string, condition func() bool) error {
	for {
		f.mu.Lock()
		holds, changed, ended := condition(), f.changed, f.ended
		f.mu.Unlock()
		switch {
		case holds:
			return nil
		case ended != nil:
			return fmt.Errorf("%s expected %s: %w", f.name, what, ended)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%s expected %s: %w", f.name, what, ctx.Err())
		}
	}
}

// enter joins a room and waits for the answer.
func (f *follower) enter(ctx context.Context, id string) error {
	var s *client.Socket
	if err := f.await(ctx, "a connection", func() bool { s = f.socket; return s != nil }); err != nil {
		return err
	}
	f.update(func() { f.rooms[id] = 0 })
	if err := join(s, id, 0); err != nil {
		return err
	}
	return f.await(ctx, "agency-joined", func() bool { return f.entered[id] })
}

// send posts a message and returns when it is durable. If the socket ends before the answer it posts again on the next
// one, under the same clientId: the message appears once (decision 21).
func (f *follower) send(ctx context.Context, id, content, clientID string) (client.Ack, error) {
	for {
		var s *client.Socket
		if err := f.await(ctx, "a connection in the room", func() bool { s = f.socket; return s != nil && f.entered[id] }); err != nil {
			return client.Ack{}, err
		}
		ack, err := s.Send(ctx, id, content, clientID)
		switch {
		case err == nil && !ack.OK:
			return ack, fmt.Errorf("%s: %q was refused: %s", f.name, content, ack.Error)
		case err == nil:
			return ack, nil
		case ctx.Err() != nil:
			return ack, fmt.Errorf("%s expected an ack to %q: %w", f.name, content, err)
		}
		if err := f.await(ctx, "the next connection", func() bool { return f.socket != s }); err != nil {
			return ack, err
		}
	}
}
