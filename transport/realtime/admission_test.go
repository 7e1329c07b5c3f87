package realtime_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"parley/transport/realtime"
)

// guarded is a handler behind an Admission, and how often it was reached.
func guarded(o realtime.AdmissionOptions) (http.Handler, *atomic.Int64) {
	var reached atomic.Int64
	return realtime.NewAdmission(o).Guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) })), &reached
}

func knock(h http.Handler, method, target string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, target, nil))
	return w
}

func TestAdmissionKeepsThePace(t *testing.T) {
	const perSecond = 2000
	h, reached := guarded(realtime.AdmissionOptions{PerSecond: perSecond})
	begun := time.Now()
	const many = 1500
	done := make(chan struct{}, many)
	for range many {
		go func() {
			knock(h, "GET", "/ws")
			done <- struct{}{}
		}()
	}
	for range many {
		<-done
	}
	burst := 1500 - perSecond*int(time.Since(begun).Milliseconds())/1000 // what came beyond the pace
	if reached.Load() != many || burst < 50 || time.Since(begun) < 100*time.Millisecond {
		t.Errorf("%d in %s", reached.Load(), time.Since(begun))
	}
}

func TestAdmissionTurnsAway(t *testing.T) {
	now := time.Unix(1000, 0)
	var told []string
	h, reached := guarded(realtime.AdmissionOptions{PerSecond: 1, Now: func() time.Time { return now }, Refused: func(why string) { told = append(told, why) }})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	var refused *httptest.ResponseRecorder
	for range 2000 { // who has gone waits no longer, but was let in line
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/ws", nil).WithContext(gone))
		if w.Code == http.StatusServiceUnavailable {
			refused = w
			break
		}
	}
	if refused == nil || refused.Header().Get("Retry-After") == "" || !strings.Contains(refused.Body.String(), `{"error":`) || len(told) != 1 {
		t.Fatalf("nobody was turned away: %+v, %v", refused, told)
	}
	before := reached.Load()
	for _, r := range [][2]string{{"GET", "/socket.io/?EIO=4&transport=polling&sid=x"}, {"POST", "/socket.io/?sid=x"}, {"OPTIONS", "/socket.io/"}} {
		knock(h, r[0], r[1])
	}
	if reached.Load() != before+3 {
		t.Errorf("what begins no connection was held back: %d", reached.Load()-before)
	}
	now = now.Add(time.Minute)
	if w := knock(h, "GET", "/ws"); w.Code != 200 || reached.Load() != before+4 {
		t.Errorf("a minute later: %d", w.Code)
	}
}

func TestAdmissionUnderPressure(t *testing.T) {
	why := "little memory"
	var told string
	h, reached := guarded(realtime.AdmissionOptions{Pressure: func() string { return why }, Refused: func(s string) { told = s }})
	if w := knock(h, "GET", "/ws"); w.Code != 503 || w.Header().Get("Retry-After") != "10" || reached.Load() != 0 || told != why {
		t.Errorf("%d, %d came in, %q", w.Code, reached.Load(), told)
	}
	why = ""
	if w := knock(h, "GET", "/ws"); w.Code != 200 || reached.Load() != 1 {
		t.Errorf("without it: %d", w.Code)
	}
}
