package realtime_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/actors/actortest"
	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/transport/realtime"
	"parley/transport/realtime/conn"
)

// tokens admits whoever shows one of some tokens.
type tokens map[string]*platform.Identity

func (k tokens) Authenticate(_ context.Context, token string) (*platform.Identity, error) {
	if id := k[token]; id != nil {
		return id, nil
	}
	return nil, kernel.Fail(kernel.CodeUnauthorized, "the token is not valid")
}

// poller is a client that polls.
type poller struct {
	t   *testing.T
	url string
}

func newPoller(t *testing.T, base string) *poller {
	t.Helper()
	p := &poller{t, base + "/socket.io/?EIO=4&transport=polling"}
	sid := regexp.MustCompile(`"sid":"([^"]+)"`).FindStringSubmatch(p.get()[0])
	p.url += "&sid=" + sid[1]
	return p
}

func (p *poller) do(method, body string) (int, string) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.url, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(b)
}

func (p *poller) post(packets ...string) {
	p.t.Helper()
	if status, body := p.do("POST", strings.Join(packets, "\x1e")); status != 200 || body != "ok" {
		p.t.Fatalf("post: %d %s", status, body)
	}
}

func (p *poller) get() []string {
	p.t.Helper()
	status, body := p.do("GET", "")
	if status != 200 {
		p.t.Fatalf("poll: %d %s", status, body)
	}
	return strings.Split(body, "\x1e")
}

// until polls to a packet that begins like this, and returns it with those before it.
func (p *poller) until(prefix string) (all []string) {
	p.t.Helper()
	for {
		for _, packet := range p.get() {
			all = append(all, packet)
			if strings.HasPrefix(packet, prefix) {
				return all
			}
		}
	}
}

// TestPollingCarriesChat: a client that polls gets the very bytes that a WebSocket gets, acks before the events that they
// cause, and a farewell before the end.
func TestPollingCarriesChat(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	hub := conn.NewHub(conn.Options{Logger: actortest.Quiet()})
	own := &url.URL{Scheme: "http", Host: "own.test"}
	live := realtime.New(realtime.Options{Hub: hub, Auth: tokens{"x": ann}, Commands: w.Platform, System: w.System, Directory: w.Local, Registry: w.Registry,
		PublicURL: own, WebURL: own, PingInterval: conn.DefaultPingInterval, PingTimeout: conn.DefaultPingTimeout, MaxFrame: conn.DefaultMaxFrame, Logger: actortest.Quiet()})
	srv := httptest.NewServer(live.SocketIO())
	t.Cleanup(func() { hub.Close(); srv.Close() })
	join := fmt.Sprintf(`42["join-agency",{"agencyId":%q}]`, room)

	stranger := newPoller(t, srv.URL)
	stranger.post(`40{"token":"y"}`, `40/admin,{"token":"x"}`)
	if got := strings.Join(stranger.get(), " "); got != `44{"message":"the token is not valid"} 44/admin,{"message":"Invalid namespace"}` {
		t.Errorf("a stranger is answered with %s", got)
	}
	stranger.post(join) // before CONNECT
	if got := stranger.get(); got[0] != "1" {
		t.Errorf("an event before CONNECT is answered with %q", got)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	socket, _, err := websocket.Dial(ctx, srv.URL+"/socket.io/?EIO=4&transport=websocket", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.CloseNow() }()
	for _, packet := range []string{`40{"token":"x"}`, join} {
		if err := socket.Write(ctx, websocket.MessageText, []byte(packet)); err != nil {
			t.Fatal(err)
		}
	}
	p := newPoller(t, srv.URL)
	p.post(`40{"token":"x"}`, join)
	p.until(`42["agency-joined"`)
	p.post(fmt.Sprintf(`427["send-message",{"agencyId":%q,"content":"first"}]`, room), fmt.Sprintf(`428["send-message",{"agencyId":%q,"content":"second é"}]`, room))
	var messages []string
	for acks := 0; len(messages) < 2 || acks < 2; {
		for _, packet := range p.get() {
			switch {
			case strings.HasPrefix(packet, fmt.Sprintf(`43%d[{"ok":true`, 7+acks)):
				acks++
			case strings.HasPrefix(packet, `42["message"`):
				if messages = append(messages, packet); len(messages) > acks {
					t.Error("a message came before its ack")
				}
			case strings.HasPrefix(packet, "43"):
				t.Fatalf("ack %s", packet)
			}
		}
	}
	for len(messages) > 0 {
		_, b, err := socket.Read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(string(b), `42["message"`) {
			if string(b) != messages[0] {
				t.Errorf("the WebSocket got %s, the poll %s", b, messages[0])
			}
			messages = messages[1:]
		}
	}
	if live.Connections() != 2 {
		t.Errorf("%d connections are counted", live.Connections())
	}
	w.Registry.RevokeAll(ann.ID)
	if got := p.get(); len(got) != 1 || got[0] != "41" {
		t.Errorf("the farewell is %q", got)
	}
	if got := p.get(); len(got) != 1 || got[0] != "1" {
		t.Errorf("the end is %q", got)
	}
}
