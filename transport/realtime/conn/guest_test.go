package conn

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

// visitor is a Guest that counts.
type visitor struct {
	beats, checks, ticks, closes, aborts atomic.Int64
	seat                                 *Seat
}

func (v *visitor) Beat(int64)        { v.beats.Add(1) }
func (v *visitor) Check(int64)       { v.checks.Add(1) }
func (v *visitor) Tick(int64)        { v.ticks.Add(1) }
func (v *visitor) Close(int, string) { v.closes.Add(1); v.seat.Leave() }
func (v *visitor) Abort()            { v.aborts.Add(1); v.seat.Leave() }

func join(t *testing.T, h *Hub) *visitor {
	t.Helper()
	v := &visitor{}
	var err error
	if v.seat, err = h.Join(v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestGuestLivesWithTheHub(t *testing.T) {
	h := NewHub(Options{PingInterval: 100 * time.Millisecond, PingTimeout: 50 * time.Millisecond, MaxConns: 2})
	v := join(t, h)
	wait(t, "heartbeats", func() bool { return v.beats.Load() > 2 && v.checks.Load() > 1 && v.ticks.Load() > 0 })
	other := join(t, h)
	if _, err := h.Join(&visitor{}); !errors.Is(err, ErrFull) || h.Len() != 2 {
		t.Errorf("the third of two: %v, %d", err, h.Len())
	}
	other.seat.Leave()
	if err := h.Drain(t.Context(), CodeServiceRestart, "", 0); err != nil || v.closes.Load() != 1 || h.Len() != 0 {
		t.Errorf("drained with %v, %d closes, %d left", err, v.closes.Load(), h.Len())
	}
	if _, err := h.Join(&visitor{}); !errors.Is(err, ErrHubClosed) {
		t.Errorf("joined a hub that drains: %v", err)
	}
	h.Close()
	h = NewHub(Options{})
	v = join(t, h)
	h.Close()
	if v.aborts.Load() != 1 {
		t.Error("the end of the hub was not told")
	}
}

// The first heartbeat is due after nearly a whole interval, but not that of everybody at the same moment.
func TestWheelSpreadsCrowds(t *testing.T) {
	w := newWheel[*Seat](25*time.Second, 20*time.Second)
	w.turned = 100
	slot := func() int {
		s := &Seat{}
		if err := w.add(s); err != nil {
			t.Fatal(err)
		}
		return int(s.place.slot)
	}
	for range slotSlack {
		if got := slot(); got != 99 {
			t.Fatalf("put into slot %d at turn 100", got)
		}
	}
	for range 10_000 {
		slot()
	}
	most, used := 0, 0
	for _, s := range w.slots {
		most = max(most, len(s))
		if len(s) > 0 {
			used++
		}
	}
	if most > slotSlack+2*w.count/len(w.slots)+1 || used < len(w.slots)/2-10 {
		t.Errorf("%d members at most in a slot, %d of %d slots used", most, used, len(w.slots))
	}
}
