package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/e2e/client"
)

// TestFlood: 300 events at one blow are more than the burst of a connection; nothing is dropped and all take effect in
// their order (decisions 30, 31).
func TestFlood(t *testing.T) {
	t.Parallel()
	const events = 300
	ann := user(t, common(t), "ann")
	for name, dial := range map[string]dialer{"plain": client.DialPlain, "Socket.IO": client.DialSocketIO} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := ann.room(t, "room", false)
			s := opened(t, dial, ann.Base, ann.Token)
			joined(t, s, g)
			var waiting []<-chan client.Frame
			for i := range events {
				_, answer, err := s.Begin("send-message", map[string]string{"agencyId": g.ID, "content": fmt.Sprint(i)})
				if err != nil {
					t.Fatal(err)
				}
				waiting = append(waiting, answer)
			}
			acked := acks(t, waiting)
			message(t, s, fmt.Sprint(events-1))
			ids, echoes, calls := map[string]bool{}, 0, uint64(0)
			for _, f := range s.Log() {
				switch {
				case f.Ack != 0:
					if f.Ack != calls+1 {
						t.Fatalf("ack %d came after ack %d", f.Ack, calls)
					}
					calls = f.Ack
				case f.Event == "message":
					var m client.Message
					if err := json.Unmarshal(f.Data, &m); err != nil || m.Content != fmt.Sprint(echoes) || m.ID != acked[echoes].MessageID {
						t.Fatalf("echo %d is %+v, want the id %s; %v", echoes, m, acked[echoes].MessageID, err)
					}
					if uint64(echoes) >= calls {
						t.Fatalf("echo %d came before its ack", echoes)
					}
					ids[m.ID] = true
					echoes++
				}
			}
			if len(ids) != events || calls != events {
				t.Fatalf("%d messages and %d acks, want %d", len(ids), calls, events)
			}
		})
	}
}

// TestSlowConsumer: clients that do not read are cut off with 1008, and nobody else notices (decision 31).
func TestSlowConsumer(t *testing.T) {
	t.Parallel()
	server := own(t)
	api := client.API{Base: server.URL()}
	ann, bob, eve := user(t, api, "ann"), user(t, api, "bob"), user(t, api, "eve")
	g := ann.room(t, "room", false)
	bob.enter(t, g)
	eve.enter(t, g)
	reader := bob.socketIO(t)
	joined(t, reader, g)
	late, _ := deaf(t, eve, g), deaf(t, eve, g)

	// More than the kernel keeps for both ends of such a connection, and 1 MB beyond.
	const posts, size = 120, 75_000
	const grace = 5 * time.Second // how long the server tries to tell a client why it is cut off
	padding := map[string]string{"pad": strings.Repeat("y", 60_000)}
	poster := ann.plain(t)
	longest, start := time.Duration(0), time.Now()
	for i := range posts {
		begin := time.Now()
		var ack client.Ack
		body := map[string]any{"agencyId": g.ID, "content": fmt.Sprintf("%d %s", i, strings.Repeat("x", size-60_000)), "metadata": padding}
		if err := poster.Call(soon(t), "send-message", body, &ack); err != nil || !ack.OK {
			t.Fatalf("post %d is acked %+v, %v", i, ack, err)
		}
		longest = max(longest, time.Since(begin))
	}
	cutOff := func() int { return strings.Count(server.Log(), "slow consumer") }
	if time.Since(start) < grace-time.Second { // whenever it was cut off, it can still be told why
		closes(t, late, websocket.StatusPolicyViolation)
	} else {
		t.Logf("posting took %s, too long to see the reason of a close", time.Since(start))
	}
	eventually(t, "cutting off both", func() bool { return cutOff() == 2 })
	if longest > 5*time.Second {
		t.Errorf("a post took %s beside the deaf clients", longest)
	}
	event[client.Message](t, reader, "message")
	eventually(t, "reading everything", func() bool {
		got := 0
		for _, f := range reader.Log() {
			if f.Event == "message" {
				got++
			}
		}
		return got == posts
	})
	if ack, err := reader.Send(soon(t), g.ID, "and on it goes", ""); err != nil || !ack.OK {
		t.Errorf("afterwards a post is acked %+v, %v", ack, err)
	}
}

// deaf is a connection in a room that is not read any more, with little room for what comes.
func deaf(t *testing.T, p person, g client.Agency) *websocket.Conn {
	t.Helper()
	dialer := net.Dialer{}
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dialer.DialContext(ctx, network, address)
		if tcp, ok := c.(*net.TCPConn); ok {
			err = tcp.SetReadBuffer(256 << 10)
		}
		return c, err
	}}
	c, _, err := websocket.Dial(soon(t), strings.Replace(p.Base, "http", "ws", 1)+"/ws", &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport}, HTTPHeader: http.Header{"Authorization": {"Bearer " + p.Token}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.CloseNow() })
	c.SetReadLimit(-1)
	read(t, c)
	write(t, c, `{"event":"join-agency","data":{"agencyId":"`+g.ID+`"}}`)
	for read(t, c).Event != "agency-joined" {
	}
	return c
}

// TestManyJoinAtOnce: a room's sockets come all at once, as after a restart, and each is answered.
func TestManyJoinAtOnce(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann := user(t, api, "ann")
	g := ann.room(t, "room", false)
	const each = 10
	var people []person
	for range 5 {
		people = append(people, user(t, api, "many"))
	}
	type outcome struct {
		s   *client.Socket
		err error
	}
	results := make(chan outcome)
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	for _, p := range people {
		for i := range each {
			dial := client.DialPlain
			if i%2 == 0 {
				dial = client.DialSocketIO
			}
			go func() {
				s, err := dial(ctx, p.Base, p.Token)
				if err == nil {
					_, err = s.Join(ctx, g.ID, nil)
				}
				results <- outcome{s, err}
			}()
		}
	}
	var open []*client.Socket
	for range len(people) * each {
		r := <-results
		if r.s != nil {
			t.Cleanup(r.s.Close)
			open = append(open, r.s)
		}
		if r.err != nil {
			t.Error(r.err)
		}
	}
	if t.Failed() {
		return
	}
	ann.post(t, g, "welcome all")
	for _, s := range open {
		message(t, s, "welcome all")
	}
	if got := must[client.Agency](t, ann.API, "GET", "/api/agencies/"+g.ID, nil).MemberCount; got != len(people)+1 {
		t.Errorf("the room has %d members, want %d", got, len(people)+1)
	}
}
