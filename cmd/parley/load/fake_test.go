package load

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// faults tell the fake server what to do wrong.
type faults struct {
	// deliver is asked for each delivery and answers the frames to send instead of it; nil sends
	// the one. n counts the deliveries of one socket from 0.
	deliver func(socket, n int, text string) []string
	// ack changes the answer to a post; an empty one sends none.
	ack func(n int, text string) string
	// closeAfter may end a connection after its n-th post.
	closeAfter func(socket, n int) bool
	// noAgencies makes agents unable to create agencies.
	noAgencies bool
	// limited answers 429 to that many registrations first.
	limited int
	// refuse rejects the authentication of all sockets.
	refuse bool
	// joinError answers joins by an error event.
	joinError bool
	// fragment sends every text in fragments.
	fragment bool
	// recover changes the answer to a join with since; nil sends what is right.
	recover func(missed []string) (recovered bool, shown []string, more bool)
	// hangUp ends the sockets that have not posted so long after they joined; 0: never.
	hangUp time.Duration
}

// fake is a small server of the parts of the interface that the load test uses.
type fake struct {
	faults
	*httptest.Server
	mu      sync.Mutex
	next    int
	sockets int
	rooms   map[string]*fakeRoom
	deleted int
	sources map[string]bool
}

type fakeRoom struct {
	seq     int
	log     []string // messages, the first has seq 1
	members []*fakeSocket
}

type fakeSocket struct {
	number  int
	ws      *websocket.Conn
	plain   bool
	sent    int
	posts   int
	writeMu sync.Mutex
}

func newFake(t *testing.T, f faults) *fake {
	t.Helper()
	s := &fake{faults: f, rooms: make(map[string]*fakeRoom), sources: make(map[string]bool)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/agents/register", s.register)
	mux.HandleFunc("POST /api/auth/register", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusCreated, `{"token":"usertoken","user":{}}`)
	})
	mux.HandleFunc("POST /api/auth/agent", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, fmt.Sprintf(`{"token":"session%d"}`, s.number()))
	})
	mux.HandleFunc("POST /api/agencies", s.createRoom)
	mux.HandleFunc("DELETE /api/agencies/{id}", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.deleted++
		s.mu.Unlock()
		reply(w, http.StatusOK, `{"ok":true}`)
	})
	mux.HandleFunc("/socket.io/", func(w http.ResponseWriter, r *http.Request) { s.socket(w, r, false) })
	mux.HandleFunc("/ws", func(w http.ResponseWriter, r *http.Request) { s.socket(w, r, true) })
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func reply(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body))
}

func (s *fake) number() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	return s.next
}

func (s *fake) register(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.sources[strings.Split(r.RemoteAddr, ":")[0]] = true
	limited := s.limited > 0
	s.limited--
	s.mu.Unlock()
	if limited {
		w.Header().Set("Retry-After", "1")
		reply(w, http.StatusTooManyRequests, `{"error":"slow down"}`)
		return
	}
	reply(w, http.StatusCreated, fmt.Sprintf(`{"ok":true,"agent":{"token":"sk_%d"}}`, s.number()))
}

func (s *fake) createRoom(w http.ResponseWriter, r *http.Request) {
	if s.noAgencies && r.Header.Get("Authorization") != "Bearer usertoken" {
		reply(w, http.StatusForbidden, `{"error":"agents may not"}`)
		return
	}
	id := "room-" + strconv.Itoa(s.number())
	s.mu.Lock()
	s.rooms[id] = &fakeRoom{}
	s.mu.Unlock()
	reply(w, http.StatusCreated, fmt.Sprintf(`{"id":%q}`, id))
}

func (s *fake) socket(w http.ResponseWriter, r *http.Request, plain bool) {
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	s.mu.Lock()
	c := &fakeSocket{number: s.sockets, ws: ws, plain: plain}
	s.sockets++
	s.mu.Unlock()
	defer s.forget(c)
	if !plain {
		s.write(c, `0{"sid":"e","pingInterval":25000,"pingTimeout":20000}`)
	}
	for {
		_, text, err := ws.Read(context.Background())
		if err != nil || !s.handle(c, text) {
			return
		}
	}
}

func (s *fake) forget(c *fakeSocket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rooms {
		r.remove(c)
	}
}

func (r *fakeRoom) remove(c *fakeSocket) {
	for i, m := range r.members {
		if m == c {
			r.members = append(r.members[:i:i], r.members[i+1:]...)
			return
		}
	}
}

func (s *fake) write(c *fakeSocket, text string) {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	ctx := context.Background()
	if !s.fragment {
		_ = c.ws.Write(ctx, websocket.MessageText, []byte(text))
		return
	}
	w, err := c.ws.Writer(ctx, websocket.MessageText)
	if err != nil {
		return
	}
	_, _ = w.Write([]byte(text[:len(text)/2]))
	_, _ = w.Write([]byte(text[len(text)/2:]))
	_ = w.Close()
}

// handle answers one frame; false ends the connection.
func (s *fake) handle(c *fakeSocket, text []byte) bool {
	name, data, ack, ok := c.parse(text)
	if !ok {
		return true
	}
	var args struct {
		AgencyID, Content, Token string
		Since                    *int
	}
	if err := json.Unmarshal(data, &args); err != nil {
		return false
	}
	switch name {
	case "auth":
		if s.refuse {
			if c.plain {
				_ = c.ws.Close(4401, "no")
				return false
			}
			s.write(c, `44{"message":"no"}`)
			return true
		}
		if c.plain {
			s.write(c, `{"event":"ready","data":{}}`)
		} else {
			s.write(c, `40{"sid":"x"}`)
			s.write(c, `2`)
		}
	case "join-agency":
		s.join(c, args.AgencyID, args.Since)
	case "leave-agency":
		s.mu.Lock()
		s.rooms[args.AgencyID].remove(c)
		s.mu.Unlock()
		s.event(c, "agency-left", fmt.Sprintf(`{"agencyId":%q}`, args.AgencyID))
	case "send-message":
		return s.post(c, args.AgencyID, args.Content, ack)
	}
	return true
}

func (s *fake) join(c *fakeSocket, id string, since *int) {
	if s.joinError {
		s.event(c, "error", `{"message":"not here"}`)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rooms[id]
	answer := fmt.Sprintf(`{"agencyId":%q,"members":[],"seq":%d}`, id, r.seq)
	if since != nil {
		answer = s.missed(id, r, *since)
	}
	r.remove(c)
	if !strings.Contains(answer, `"more":true`) {
		r.members = append(r.members, c)
	}
	s.event(c, "agency-joined", answer)
	s.event(c, "members-updated", `{"change":"joined"}`)
	if s.hangUp > 0 {
		time.AfterFunc(s.hangUp, func() {
			s.mu.Lock()
			silent := c.posts == 0
			s.mu.Unlock()
			if silent {
				_ = c.ws.CloseNow()
			}
		})
	}
}

func (s *fake) missed(id string, r *fakeRoom, since int) string {
	recovered, shown, more := true, r.log[min(since, len(r.log)):], false
	if s.recover != nil {
		recovered, shown, more = s.recover(shown)
	}
	list := make([]string, len(shown))
	for i, data := range shown {
		list[i] = `{"event":"message","data":` + data + `}`
	}
	return fmt.Sprintf(`{"agencyId":%q,"seq":%d,"recovered":%t,"more":%t,"missed":[%s]}`, id, r.seq, recovered, more, strings.Join(list, ","))
}

// parse reads a frame of either format.
func (c *fakeSocket) parse(text []byte) (name string, data json.RawMessage, ack string, ok bool) {
	if c.plain {
		var env struct {
			Event string
			Data  json.RawMessage
			Ack   *int
		}
		if json.Unmarshal(text, &env) != nil {
			return "", nil, "", false
		}
		if env.Ack != nil {
			ack = strconv.Itoa(*env.Ack)
		}
		return env.Event, env.Data, ack, true
	}
	if rest, found := strings.CutPrefix(string(text), "40"); found {
		return "auth", json.RawMessage(rest), "", true
	}
	rest, found := strings.CutPrefix(string(text), "42")
	if !found {
		return "", nil, "", false
	}
	i := strings.IndexByte(rest, '[')
	var parts []json.RawMessage
	if i < 0 || json.Unmarshal([]byte(rest[i:]), &parts) != nil || len(parts) != 2 || json.Unmarshal(parts[0], &name) != nil {
		return "", nil, "", false
	}
	return name, parts[1], rest[:i], true
}

func (c *fakeSocket) encode(name, data string) string {
	if c.plain {
		return fmt.Sprintf(`{"event":%q,"data":%s}`, name, data)
	}
	return fmt.Sprintf(`42[%q,%s]`, name, data)
}

func (s *fake) event(c *fakeSocket, name, data string) { s.write(c, c.encode(name, data)) }

// post delivers to the room and acks; one lock for all keeps the room's order.
func (s *fake) post(c *fakeSocket, id, content, ack string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rooms[id]
	r.seq++
	data := fmt.Sprintf(`{"id":"m","agency_id":%q,"content":%q,"seq":%d}`, id, content, r.seq)
	r.log = append(r.log, data)
	for _, m := range r.members {
		out := []string{m.encode("message", data)}
		if s.deliver != nil {
			out = s.deliver(m.number, m.sent, out[0])
		}
		m.sent++
		for _, text := range out {
			s.write(m, text)
		}
	}
	answer := `{"ok":true,"messageId":"m"}`
	if s.ack != nil {
		answer = s.ack(c.posts, answer)
	}
	c.posts++
	if answer != "" {
		if c.plain {
			s.write(c, fmt.Sprintf(`{"ack":%s,"data":%s}`, ack, answer))
		} else {
			s.write(c, fmt.Sprintf(`43%s[%s]`, ack, answer))
		}
	}
	if s.closeAfter != nil && s.closeAfter(c.number, c.posts) {
		go func() { _ = c.ws.Close(1008, "slow consumer") }()
		return false
	}
	return true
}
