package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"parley/e2e/client"
)

const engine = "/socket.io/?EIO=4&transport=websocket"

// handshaken opens an Engine.IO connection, reads its handshake and says nothing.
func handshaken(t *testing.T, api client.API, path string) *websocket.Conn {
	t.Helper()
	c, err := client.DialRaw(soon(t), api.Base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.CloseNow() })
	var open struct {
		SID                                   string
		Upgrades                              []string
		PingInterval, PingTimeout, MaxPayload int
	}
	text := packet(t, c)
	if err := json.Unmarshal([]byte(text[1:]), &open); err != nil || text[0] != '0' || open.SID == "" || open.Upgrades == nil || len(open.Upgrades) != 0 ||
		open.PingInterval != 25000 || open.PingTimeout != 20000 || open.MaxPayload != 8<<20 {
		t.Fatalf("the handshake is %s, %v", text, err)
	}
	return c
}

// packet reads a text frame.
func packet(t *testing.T, c *websocket.Conn) string {
	t.Helper()
	kind, text, err := c.Read(soon(t))
	if err != nil || kind != websocket.MessageText || len(text) == 0 {
		t.Fatalf("read %v %q, %v", kind, text, err)
	}
	return string(text)
}

// TestEngineIO: the layer below Socket.IO, as clients with other habits use it (clients.md 3.1).
func TestEngineIO(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann := user(t, api, "ann")
	c := handshaken(t, api, "/socket.io/?transport=websocket&t=1700000000.5&EIO=4") // the order of another client
	write(t, c, `40/admin,{"token":"`+ann.Token+`"}`)
	if got := packet(t, c); !strings.HasPrefix(got, `44/admin,{"message":`) {
		t.Errorf("another namespace is answered with %s", got)
	}
	write(t, c, `40{"token":"`+ann.Token+`"}`)
	if got := packet(t, c); !strings.HasPrefix(got, `40{"sid":"`) {
		t.Fatalf("CONNECT is answered with %s", got)
	}
	write(t, c, `421["send-message",{"agencyId":"none","content":"x"},"a second argument",[3]]`)
	if got := packet(t, c); !strings.HasPrefix(got, `431[{"ok":false`) {
		t.Errorf("an event with more arguments is answered with %s", got)
	}
	write(t, c, `420["frobnicate"]`)
	if got := packet(t, c); !strings.HasPrefix(got, `430[{"ok":false`) {
		t.Errorf("ack number 0 is answered with %s", got)
	}
	write(t, c, `41`) // the client's own farewell
	write(t, c, `40{"token":"`+ann.Token+`"}`)
	if got := packet(t, c); !strings.HasPrefix(got, `40{"sid":"`) {
		t.Errorf("CONNECT after a disconnect is answered with %s", got)
	}
	write(t, c, `1`)
	closes(t, c, websocket.StatusNormalClosure)
}

// TestFarewell: a client that has said its farewell and then neither connects again nor goes is no better than one that
// never said who it is: the same ten seconds, or it would count against no limit (decisions 31, 45).
func TestFarewell(t *testing.T) {
	t.Parallel()
	api := common(t)
	c := handshaken(t, api, engine)
	write(t, c, `40{"token":"`+user(t, api, "ann").Token+`"}`)
	packet(t, c)
	write(t, c, `41`)
	ctx := soon(t)
	for {
		_, text, err := c.Read(ctx)
		if ctx.Err() != nil {
			t.Fatalf("the connection is still there after %s", wait)
		}
		if err != nil {
			return
		}
		if string(text) == "2" {
			write(t, c, "3")
		}
	}
}

// TestEngineIOBadPackets: what can't be understood ends the connection, and only that one.
func TestEngineIOBadPackets(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann := user(t, api, "ann")
	auth := `40{"token":"` + ann.Token + `"}`
	for name, c := range map[string]struct {
		first  string // before the bad packet
		packet string
		code   websocket.StatusCode
	}{
		"event before CONNECT": {"", `42["join-agency",{}]`, 1008},
		"empty":                {auth, ``, 1002},
		"unknown type":         {auth, `9`, 1002},
		"no event name":        {auth, `42[]`, 1002},
		"name is a number":     {auth, `42[5,{}]`, 1002},
		"no JSON":              {auth, `42["join-agency",`, 1002},
		"deep":                 {auth, `42["join-agency",` + strings.Repeat("[", 100_000), 1002},
		"second CONNECT":       {auth, auth, 1002},
		"text for attachment":  {auth, `451-["join-agency",{"_placeholder":true,"num":0}]` + "\x00" + `42["join-agency",{}]`, 1002},
		"huge ack":             {auth, `42` + strings.Repeat("9", 40) + `["x"]`, 1002},
		"upgrade probe":        {auth, `2probe`, 1002},
		"invalid UTF-8":        {auth, "42[\"\xff\"]", 1007},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := handshaken(t, api, engine)
			if c.first != "" {
				write(t, conn, c.first)
				packet(t, conn)
			}
			for _, p := range strings.Split(c.packet, "\x00") {
				write(t, conn, p)
			}
			closes(t, conn, c.code)
		})
	}
	t.Run("binary frame", func(t *testing.T) {
		conn := handshaken(t, api, engine)
		write(t, conn, auth)
		packet(t, conn)
		if err := conn.Write(soon(t), websocket.MessageBinary, bytes.Repeat([]byte{4}, 10)); err != nil {
			t.Fatal(err)
		}
		closes(t, conn, 1003)
	})
}

// TestBinaryEvent: chat has no binary data, which is an error of the event and not of the connection.
func TestBinaryEvent(t *testing.T) {
	t.Parallel()
	api := common(t)
	c := handshaken(t, api, engine)
	write(t, c, `40{"token":"`+user(t, api, "ann").Token+`"}`)
	packet(t, c)
	for _, ack := range []string{"", "7"} {
		write(t, c, `451-`+ack+`["send-message",{"content":{"_placeholder":true,"num":0}}]`)
		if err := c.Write(soon(t), websocket.MessageBinary, []byte{1, 2}); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"": `42["error",{"message":"binary`, "7": `437[{"ok":false,"error":"binary`}[ack]
		if got := packet(t, c); !strings.HasPrefix(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestHeartbeat: the server asks within its interval of 25 seconds, and a client that answers stays.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann := user(t, api, "ann")
	conn := handshaken(t, api, engine)
	write(t, conn, `40{"token":"`+ann.Token+`"}`)
	packet(t, conn)
	if got := packetWithin(t, conn, 35*time.Second); got != "2" {
		t.Fatalf("got %q, want a ping", got)
	}
	write(t, conn, "3")
	write(t, conn, `421["frobnicate"]`)
	if got := packet(t, conn); !strings.HasPrefix(got, "431[") {
		t.Errorf("after the heartbeat came %q", got)
	}
}

func packetWithin(t *testing.T, c *websocket.Conn, limit time.Duration) string {
	t.Helper()
	type outcome struct {
		text []byte
		err  error
	}
	got := make(chan outcome, 1)
	go func() {
		_, text, err := c.Read(t.Context())
		got <- outcome{text, err}
	}()
	select {
	case o := <-got:
		if o.err != nil {
			t.Fatal(o.err)
		}
		return string(o.text)
	case <-time.After(limit):
		t.Fatalf("nothing came within %s", limit)
	}
	panic("unreachable")
}

// TestPollingOrigins: any page may poll, but only the service's own and the web front end's with credentials, and they alone
// get a WebSocket (decision 26).
func TestPollingOrigins(t *testing.T) {
	t.Parallel()
	api := common(t)
	for _, c := range []struct{ origin, allowed, credentials string }{
		{"", "*", ""}, {api.Base, api.Base, "true"}, {"https://elsewhere.test", "*", ""},
	} {
		for _, method := range []string{http.MethodGet, http.MethodOptions, http.MethodHead} {
			req, err := http.NewRequestWithContext(soon(t), method, api.Base+"/socket.io/?EIO=4&transport=polling", nil)
			if err != nil {
				t.Fatal(err)
			}
			if c.origin != "" {
				req.Header.Set("Origin", c.origin)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			want := map[string]int{http.MethodGet: 200, http.MethodOptions: 204, http.MethodHead: 400}[method]
			if h := res.Header; res.StatusCode != want || h.Get("Access-Control-Allow-Origin") != c.allowed || h.Get("Access-Control-Allow-Credentials") != c.credentials {
				t.Errorf("%s from %q: %d %v", method, c.origin, res.StatusCode, h)
			}
		}
	}
}
