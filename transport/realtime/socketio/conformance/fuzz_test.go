package conformance

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"parley/transport/realtime/engineio"
)

// alarm is a log that only counts.
type alarm struct{ n atomic.Int64 }

func (a *alarm) Enabled(context.Context, slog.Level) bool { return true }
func (a *alarm) Handle(_ context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		a.n.Add(1)
	}
	return nil
}
func (a *alarm) WithAttrs([]slog.Attr) slog.Handler { return a }
func (a *alarm) WithGroup(string) slog.Handler      { return a }

// FuzzPolling sends payloads of any kind to a connected session: none is answered but as the protocol says, and none makes a
// handler panic.
func FuzzPolling(f *testing.F) {
	for _, s := range []string{"40", "40\x1e42[\"message\",1]", "451-[\"message\",{\"_placeholder\":true,\"num\":0}]\x1ebAQID", "40/custom,{}\x1e41/custom",
		"42/custom,1[\"message-with-ack\",[[]]]", "431[]", "1", "2", "3", "461-7[{\"_placeholder\":true,\"num\":0}]\x1eb", "4510-[]"} {
		f.Add(s)
	}
	bell := &alarm{}
	o := calm
	o.Logger = slog.New(bell)
	s := New(o)
	f.Cleanup(s.Hub.Close)
	do := func(method, sid, body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(method, "/socket.io/?EIO=4&transport=polling&sid="+sid, strings.NewReader(body)))
		return w
	}
	f.Fuzz(func(t *testing.T, payload string) {
		open := do("GET", "", "").Body.String()
		sid := sids.FindStringSubmatch(open)[1]
		if w := do("POST", sid, "40"); w.Code != http.StatusOK {
			t.Fatalf("CONNECT: %d", w.Code)
		}
		packets, err := engineio.DecodePayload([]byte(payload))
		w := do("POST", sid, payload)
		if w.Code != 200 && w.Code != 400 || err != nil && w.Code != 400 {
			t.Fatalf("%d packets, %v: answered with %d %s", len(packets), err, w.Code, w.Body)
		}
		do("POST", sid, "1") // answered in one way or the other
		if w := do("GET", sid, ""); w.Code != 400 && w.Body.String() != "6" && w.Body.Len() == 0 {
			t.Fatalf("the poll after it: %d %s", w.Code, w.Body)
		}
		if bell.n.Load() > 0 {
			t.Fatal("a handler has panicked")
		}
	})
}
