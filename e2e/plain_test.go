package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"parley/e2e/client"
)

// raw opens a WebSocket at /ws and says nothing on it.
func raw(t *testing.T, api client.API, header http.Header) *websocket.Conn {
	t.Helper()
	c, err := client.DialRaw(soon(t), api.Base+"/ws", header)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.CloseNow() })
	return c
}

// frame is what the plain format sends.
type frame struct {
	Event string          `json:"event"`
	Data  json.RawMessage `json:"data"`
	Ack   *int64          `json:"ack"`
}

func write(t *testing.T, c *websocket.Conn, text string) {
	t.Helper()
	if err := c.Write(soon(t), websocket.MessageText, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, c *websocket.Conn) frame {
	t.Helper()
	_, text, err := c.Read(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	var f frame
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return f
}

// closes wants the server to close with a code, after whatever else it says.
func closes(t *testing.T, c *websocket.Conn, code websocket.StatusCode) {
	t.Helper()
	ctx := soon(t)
	for {
		if _, _, err := c.Read(ctx); err != nil {
			if got := websocket.CloseStatus(err); got != code {
				t.Fatalf("closed with %d (%v), want %d", got, err, code)
			}
			return
		}
	}
}

// TestPlainAuth: the first frame, the header, and what is refused (decision 45).
func TestPlainAuth(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann := user(t, api, "ann")
	for name, c := range map[string]struct {
		header http.Header
		first  string
		code   websocket.StatusCode // 0: let in
	}{
		"frame":           {first: `{"event":"auth","data":{"token":"` + ann.Token + `"}}`},
		"header":          {header: http.Header{"Authorization": {"Bearer " + ann.Token}}},
		"bad token":       {first: `{"event":"auth","data":{"token":"nonsense"}}`, code: 4401},
		"bad header":      {header: http.Header{"Authorization": {"Bearer nonsense"}}, code: 4401},
		"no token":        {first: `{"event":"auth","data":{}}`, code: 4401},
		"token of a kind": {first: `{"event":"auth","data":{"token":5}}`, code: 4401},
		"other event":     {first: `{"event":"join-agency","data":{"agencyId":"x"}}`, code: 4401},
		"no JSON":         {first: `hello`, code: 4401},
		"big":             {first: `{"event":"auth","data":{"token":"` + strings.Repeat("x", 100<<10) + `"}}`, code: 1009},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := raw(t, api, c.header)
			if c.first != "" {
				write(t, conn, c.first)
			}
			if c.code != 0 {
				closes(t, conn, c.code)
				return
			}
			f := read(t, conn)
			var ready struct {
				User      client.Profile
				SessionID string
			}
			if err := json.Unmarshal(f.Data, &ready); err != nil || f.Event != "ready" || ready.User.ID != ann.ID || ready.SessionID == "" {
				t.Fatalf("got %s %s, want ready: %v", f.Event, f.Data, err)
			}
		})
	}
}

// TestPlainAuthTimeout: a socket that does not say who it is for ten seconds is closed.
func TestPlainAuthTimeout(t *testing.T) {
	t.Parallel()
	closes(t, raw(t, common(t), nil), 4401)
}

// TestPlainAgent: an agent's permanent token opens nothing, verified or not (decision 26).
func TestPlainAgent(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann := user(t, api, "ann")
	made := must[created](t, ann.API, http.MethodPost, "/api/agents", map[string]string{"name": fresh("bot")})
	for range 2 {
		_, err := client.DialPlain(soon(t), api.Base, made.AgentToken)
		if code := websocket.CloseStatus(err); code != 4401 && code != 4403 {
			t.Errorf("closed with %v, want 4401 or 4403", err)
		}
		must[created](t, ann.API, http.MethodPost, "/api/agents/"+made.Agent.ID+"/verify", nil)
	}
}

// TestPlainRoom: events, acks and errors in the plain format.
func TestPlainRoom(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann, bob := user(t, api, "ann"), user(t, api, "bob")
	g, hidden := ann.room(t, "room", false), ann.room(t, "hidden", true)
	s, b := ann.plain(t), bob.plain(t)
	if j := joined(t, s, g); j.Seq == 0 || j.MemberCount != 1 || len(j.Members) != 1 || j.Members[0].Role != "owner" {
		t.Fatalf("joined: %v", j)
	}
	joined(t, b, g)
	if m := event[struct{ Change string }](t, s, "members-updated"); m.Change != "joined" {
		t.Fatalf("members-updated says %+v", m)
	}
	ack, err := s.Send(soon(t), g.ID, "hello", "")
	if err != nil || !ack.OK {
		t.Fatalf("acked %+v, %v", ack, err)
	}
	for _, to := range []*client.Socket{s, b} {
		if m := message(t, to, "hello"); m.ID != ack.MessageID || m.AgencyID != g.ID || m.SenderID != ann.ID {
			t.Fatalf("got %+v", m)
		}
	}
	if err := s.Emit("edit-message", map[string]string{"agencyId": g.ID, "messageId": ack.MessageID, "content": "edited"}); err != nil {
		t.Fatal(err)
	}
	if e := event[map[string]any](t, b, "message-edited"); e["content"] != "edited" || e["messageId"] != ack.MessageID {
		t.Fatalf("got %v", e)
	}
	var done client.Ack
	if err := b.Call(soon(t), "delete-message", map[string]string{"agencyId": g.ID, "messageId": ack.MessageID}, &done); err != nil || done.OK {
		t.Fatalf("deleted another's message: %+v, %v", done, err)
	}
	if err := s.Call(soon(t), "delete-message", map[string]string{"agencyId": g.ID, "messageId": ack.MessageID}, &done); err != nil || !done.OK {
		t.Fatalf("not deleted: %+v, %v", done, err)
	}
	if d := event[map[string]any](t, b, "message-deleted"); d["messageId"] != ack.MessageID {
		t.Fatalf("got %v", d)
	}
	ack, err = s.Send(soon(t), g.ID, "/frobnicate", "")
	if err != nil || ack.OK || ack.Content == nil || *ack.Content == "" {
		t.Fatalf("a command is acked %+v, %v", ack, err)
	}
	if _, err := b.Join(soon(t), hidden.ID, nil); err == nil {
		t.Fatal("joined a private room")
	}
	if ack, err = b.Send(soon(t), hidden.ID, "hello?", ""); err != nil || ack.OK {
		t.Fatalf("posted to a private room: %+v, %v", ack, err)
	}
	ann.post(t, g, "from REST")
	message(t, b, "from REST")
	if err := b.Emit("leave-agency", map[string]string{"agencyId": g.ID}); err != nil {
		t.Fatal(err)
	}
	event[json.RawMessage](t, b, "agency-left")
	ann.post(t, g, "unheard")
	joined(t, b, g)
	for _, f := range b.Log() {
		if bytes.Contains(f.Data, []byte("unheard")) && f.Event == "message" {
			t.Fatal("a message came after leave-agency")
		}
		if bytes.Contains(f.Data, []byte("frobnicate")) {
			t.Fatal("somebody else's command came")
		}
	}
}

// TestPlainBadFrames: what is answered and what ends the connection.
func TestPlainBadFrames(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann := user(t, api, "ann")
	g := ann.room(t, "room", false)
	s := ann.plain(t)
	joined(t, s, g)
	for _, text := range []string{
		`{"event":`, `[]`, `5`, `""`, `{}`, `{"event":5}`, `{"event":""}`, `{"event":"frobnicate","data":{}}`, `{"event":"join-agency"}`,
		`{"event":"join-agency","data":"x"}`, `{"event":"join-agency","data":{"agencyId":["x"]}}`, `{"event":"join-agency","data":{"agencyId":"../../x"}}`,
		`{"event":"send-message","data":{"agencyId":"` + g.ID + `","content":{"a":1}}}`, `{"event":"send-message","ack":-1,"data":{}}`,
		`{"event":"send-message","ack":"one","data":{}}`, `{"event":"` + strings.Repeat("x", 100) + `"}`, `{"event":"auth","data":{"token":"` + ann.Token + `"}}`,
		strings.Repeat(`{"event":`, 20_000), "{\"event\":\"frob\u0000\"}",
	} {
		if err := s.WriteText([]byte(text)); err != nil {
			t.Fatalf("%.80q: %v", text, err)
		}
		if e := event[struct{ Message string }](t, s, "error"); e.Message == "" || strings.Contains(e.Message, "target.") {
			t.Errorf("%.80q is answered with the error %q", text, e.Message)
		}
	}
	if ack, err := s.Send(soon(t), g.ID, "still here", ""); err != nil || !ack.OK {
		t.Fatalf("after the bad frames: %+v, %v", ack, err)
	}
	for name, c := range map[string]struct {
		kind websocket.MessageType
		data []byte
		code int
	}{
		"invalid UTF-8": {websocket.MessageText, []byte("{\"event\":\"\xff\xfe\"}"), 1007},
		"over 8 MB":     {websocket.MessageText, bytes.Repeat([]byte(" "), 8<<20+1), 1009},
		"binary":        {websocket.MessageBinary, []byte(`{"event":"frobnicate"}`), 1003},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := ann.plain(t)
			// the server may close before it has read all, so that the write fails
			_ = s.Conn().Write(soon(t), c.kind, c.data)
			wantClose(t, s, c.code)
		})
	}
}

// TestPlainLargeFrame: a frame of just 8 MB is read; its content is too long for a message, and the connection stays.
func TestPlainLargeFrame(t *testing.T) {
	t.Parallel()
	ann := user(t, common(t), "ann")
	g := ann.room(t, "room", false)
	s := ann.plain(t)
	joined(t, s, g)
	ack, err := s.Send(soon(t), g.ID, strings.Repeat("x", 8<<20-300), "")
	if err != nil || ack.OK || ack.Error == "" {
		t.Fatalf("acked %+v, %v", ack, err)
	}
	if ack, err = s.Send(soon(t), g.ID, "small", ""); err != nil || !ack.OK {
		t.Fatalf("acked %+v, %v", ack, err)
	}
}

// TestNoUpgrade: a request that is no WebSocket handshake is answered in JSON (decision 3).
func TestNoUpgrade(t *testing.T) {
	t.Parallel()
	api := common(t)
	for _, path := range []string{"/ws", "/socket.io/?EIO=4&transport=websocket", "/socket.io/?EIO=3&transport=websocket", "/socket.io/?EIO=4&transport=nonsense"} {
		res, err := http.Get(api.Base + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil || res.StatusCode < 400 || res.StatusCode > 499 || !json.Valid(body) || !strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
			t.Errorf("%s: %d %s %q, %v", path, res.StatusCode, res.Header.Get("Content-Type"), body, err)
		}
	}
	_, err := client.DialRaw(soon(t), api.Base+"/ws", http.Header{"Origin": {"https://evil.example"}})
	wantStatus(t, err, 403)
	c, err := client.DialRaw(soon(t), api.Base+"/ws", http.Header{"Origin": {api.Base}})
	if err != nil {
		t.Fatal(err)
	}
	_ = c.CloseNow()
}

// TestTooManyConnections: the 21st of an account is refused, and a place that gets free is free (decision 45).
func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann := user(t, api, "ann")
	var open []*client.Socket
	for range 20 {
		open = append(open, ann.plain(t))
	}
	for name, dial := range map[string]dialer{"plain": client.DialPlain, "Socket.IO": client.DialSocketIO} {
		if s, err := dial(soon(t), api.Base, ann.Token); err == nil {
			s.Close()
			t.Errorf("the 21st connection was let in, %s", name)
		}
	}
	user(t, api, "bob").plain(t)
	open[0].Close()
	eventually(t, "getting the place of a closed connection", func() bool {
		s, err := client.DialPlain(soon(t), api.Base, ann.Token)
		if err == nil {
			t.Cleanup(s.Close)
		}
		return err == nil
	})
}

// TestRecovery: since in all its forms (decisions 29, 39).
func TestRecovery(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann := user(t, api, "ann")
	g := ann.room(t, "room", false)
	first := ann.post(t, g, "one")
	second := ann.post(t, g, "two")
	must[json.RawMessage](t, ann.API, http.MethodPatch, "/api/agencies/"+g.ID+"/messages/"+first.ID, map[string]string{"content": "one, edited"})
	must[json.RawMessage](t, ann.API, http.MethodDelete, "/api/agencies/"+g.ID+"/messages/"+second.ID, nil)
	s := ann.plain(t)
	rejoin := func(since uint64) *client.Joined {
		t.Helper()
		j, err := s.Join(soon(t), g.ID, &since)
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	j := rejoin(first.Seq)
	var names []string
	for _, m := range j.Missed {
		names = append(names, m.Event)
	}
	if j.Recovered == nil || !*j.Recovered || marshal(t, names) != `["message","message-edited","message-deleted"]` || j.More {
		t.Fatalf("missed %v of %v", names, j)
	}
	if j := rejoin(j.Seq); j.Recovered == nil || !*j.Recovered || len(j.Missed) != 0 {
		t.Fatalf("nothing was missed, but %v", j)
	}
	if j := rejoin(j.Seq + 1000); j.Recovered == nil || *j.Recovered || len(j.Missed) != 0 {
		t.Fatalf("a since of another life: %v", j)
	}

	// more than 256 KB come in several parts, without a gap or a repetition
	since := rejoin(j.Seq).Seq
	const parts = 40
	for i := range parts {
		ann.post(t, g, fmt.Sprintf("%d %s", i, strings.Repeat("x", 15_000)))
	}
	got, cut := 0, 0
	for more := true; more; {
		j := rejoin(since)
		if j.Recovered == nil || !*j.Recovered || j.More && len(j.Missed) == 0 {
			t.Fatalf("not recovered after %d of %d", got, parts)
		}
		for _, m := range j.Missed {
			var d client.Message
			if err := json.Unmarshal(m.Data, &d); err != nil || !strings.HasPrefix(d.Content, fmt.Sprint(got, " ")) || d.Seq <= since {
				t.Fatalf("message %d is %.30q with seq %d after %d, %v", got, d.Content, d.Seq, since, err)
			}
			got, since = got+1, d.Seq
		}
		if more = j.More; more {
			cut++
		}
	}
	if got != parts || cut < 2 {
		t.Fatalf("%d of %d messages were recovered in %d parts", got, parts, cut+1)
	}
}

// TestRecoveryOfTooMuch: more than 1,000 events are not repeated, and 1,000 are. Those are deletions, since they are small:
// as many messages come in parts.
func TestRecoveryOfTooMuch(t *testing.T) {
	t.Parallel()
	const sockets, each = 11, 91 // 1,001 in all, within the burst of each socket
	ann := user(t, common(t), "ann")
	g := ann.room(t, "room", false)
	var open []*client.Socket
	for range sockets {
		open = append(open, ann.plain(t))
	}
	calls := func(event string, data func(i int) map[string]string) []client.Ack {
		t.Helper()
		var waiting []<-chan client.Frame
		for i := range sockets * each {
			_, answer, err := open[i%sockets].Begin(event, data(i))
			if err != nil {
				t.Fatal(err)
			}
			waiting = append(waiting, answer)
		}
		return acks(t, waiting)
	}
	posts := calls("send-message", func(i int) map[string]string { return map[string]string{"agencyId": g.ID, "content": fmt.Sprint(i)} })
	before := joined(t, open[0], g).Seq
	calls("delete-message", func(i int) map[string]string {
		return map[string]string{"agencyId": g.ID, "messageId": posts[i].MessageID}
	})

	j, err := open[0].Join(soon(t), g.ID, &before)
	if err != nil || j.Recovered == nil || *j.Recovered || len(j.Missed) != 0 || j.Seq != before+sockets*each {
		t.Fatalf("1,001 events: %v, %v", j, err)
	}
	long := uint64(1) // messages too, which would be cut for their size if they were repeated
	if j, err = open[0].Join(soon(t), g.ID, &long); err != nil || j.Recovered == nil || *j.Recovered || len(j.Missed) != 0 || j.More {
		t.Fatalf("2,002 events: %v, %v", j, err)
	}
	before++
	if j, err = open[0].Join(soon(t), g.ID, &before); err != nil || j.Recovered == nil || !*j.Recovered || len(j.Missed) != 1000 || j.More {
		t.Fatalf("1,000 events: %v, %v", j, err)
	}
}

// acks waits for the answers of calls, which must all be ok.
func acks(t *testing.T, waiting []<-chan client.Frame) []client.Ack {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*wait)
	defer cancel()
	var all []client.Ack
	for i, answer := range waiting {
		select {
		case f := <-answer:
			var a client.Ack
			if err := json.Unmarshal(f.Data, &a); err != nil || !a.OK {
				t.Fatalf("call %d is answered with %s, %v", i, f.Data, err)
			}
			all = append(all, a)
		case <-ctx.Done():
			t.Fatalf("%d of %d calls are answered", i, len(waiting))
		}
	}
	return all
}

// TestDeletedRoom: those in a room learn of its end.
func TestDeletedRoom(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann, bob := user(t, api, "ann"), user(t, api, "bob")
	g := ann.room(t, "room", false)
	s := bob.socketIO(t)
	joined(t, s, g)
	must[json.RawMessage](t, ann.API, http.MethodPatch, "/api/agencies/"+g.ID, map[string]string{"charter": "soon gone"})
	if u := event[struct{ Agency struct{ Charter string } }](t, s, "agency-updated"); u.Agency.Charter != "soon gone" {
		t.Fatalf("agency-updated says %+v", u)
	}
	must[json.RawMessage](t, ann.API, http.MethodDelete, "/api/agencies/"+g.ID, nil)
	if d := event[struct{ AgencyID string }](t, s, "agency-deleted"); d.AgencyID != g.ID {
		t.Fatalf("agency-deleted says %+v", d)
	}
	if _, err := s.Join(soon(t), g.ID, nil); err == nil {
		t.Fatal("joined a deleted room")
	}
	ack, err := s.Send(soon(t), g.ID, "anybody?", "")
	if err != nil || ack.OK {
		t.Fatalf("posted into a deleted room: %+v, %v", ack, err)
	}
	if errors.Is(s.Err(), client.ErrClosed) {
		t.Fatal("the socket ended")
	}
}
