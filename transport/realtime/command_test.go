package realtime_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/actors/actortest"
	"parley/actors/command"
	"parley/actors/platform"
	"parley/transport/realtime"
	"parley/transport/realtime/conn"
)

// slow executes /slow outside of the server, until the test lets it go on, and everything else as the platform does.
type slow struct {
	*platform.Platform
	release chan struct{}
}

func (s *slow) RunCommand(i platform.Invoke, reply func(command.Result)) {
	if command.Parse(i.Message.Content).Name != "slow" {
		s.Platform.RunCommand(i, reply)
		return
	}
	if err := i.Detach(); err != nil {
		reply(command.Failed(command.Parse(i.Message.Content), err.Error()))
		return
	}
	go func() {
		<-s.release
		reply(command.Result{OK: true, Command: "/slow", Content: "at last", Type: command.ToolResult})
	}()
}

// known admits everybody as one account.
type known struct{ id *platform.Identity }

func (k known) Authenticate(context.Context, string) (*platform.Identity, error) { return k.id, nil }

// A command that waits for something outside holds up no event behind it, in either format (decision 30).
func TestPendingCommandHoldsUpNothing(t *testing.T) {
	for name, format := range map[string]struct{ path, greeting, frame, ack string }{
		"plain":     {"/ws", `{"event":"auth","data":{"token":"x"}}`, `{"event":"send-message","data":%s,"ack":%d}`, `{"ack":%d,"data":{"ok":true,%s`},
		"Socket.IO": {"/socket.io/?EIO=4&transport=websocket", `40{"token":"x"}`, `42%[2]d["send-message",%[1]s]`, `43%d[{"ok":true,%s`},
	} {
		t.Run(name, func(t *testing.T) {
			w := actortest.New(t)
			ann := w.User("ann")
			room := w.Room(ann, "Room", false)
			s := &slow{w.Platform, make(chan struct{})}
			hub := conn.NewHub(conn.Options{Logger: actortest.Quiet()})
			own := &url.URL{Scheme: "http", Host: "own.test"}
			live := realtime.New(realtime.Options{Hub: hub, Auth: known{ann}, Commands: s, System: w.System, Directory: w.Local, Registry: w.Registry,
				PublicURL: own, WebURL: own, PingInterval: conn.DefaultPingInterval, PingTimeout: conn.DefaultPingTimeout, MaxFrame: conn.DefaultMaxFrame, Logger: actortest.Quiet()})
			mux := http.NewServeMux()
			mux.Handle("/ws", live.Plain())
			mux.Handle("/socket.io/", live.SocketIO())
			srv := httptest.NewServer(mux)
			t.Cleanup(func() { hub.Close(); srv.Close() })
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			c, _, err := websocket.Dial(ctx, srv.URL+format.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.CloseNow() }()
			write := func(frame string) {
				t.Helper()
				if err := c.Write(ctx, websocket.MessageText, []byte(frame)); err != nil {
					t.Fatal(err)
				}
			}
			// wants reads up to a frame, and none that begins like never.
			wants := func(want, never string) {
				t.Helper()
				for {
					_, frame, err := c.Read(ctx)
					if err != nil || never != "" && strings.HasPrefix(string(frame), never) {
						t.Fatalf("%s came instead of %s: %v", frame, want, err)
					}
					if strings.HasPrefix(string(frame), want) {
						return
					}
				}
			}
			send := func(n int, content string) {
				t.Helper()
				write(fmt.Sprintf(format.frame, fmt.Sprintf(`{"agencyId":%q,"content":%q,"silent":true}`, room, content), n))
			}
			write(format.greeting)
			pending := fmt.Sprintf(format.ack, 1, `"command":"/slow"`)
			send(1, "/slow")
			send(2, "a message")
			send(3, "/ping")
			wants(fmt.Sprintf(format.ack, 2, `"messageId":`), pending)
			wants(fmt.Sprintf(format.ack, 3, `"command":"/ping"`), pending)
			close(s.release)
			wants(pending, "")
			send(4, "/slow")
			wants(fmt.Sprintf(format.ack, 4, `"command":"/slow"`), "")
		})
	}
}
