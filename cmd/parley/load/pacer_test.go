package load

import (
	"math/rand/v2"
	"sort"
	"testing"
	"time"
)

// TestFixedPacer: however late the posts go out, they keep the times of the schedule.
func TestFixedPacer(t *testing.T) {
	t.Parallel()
	const start, posters, rate = 1000, 4, 1000.0
	end := int64(start + time.Second)
	var dues []int64
	for i := range posters {
		p := fixedPacer(start, end, rate, i, posters)
		for now := int64(0); !p.over(now); now += int64(3 * time.Second) {
			dues = append(dues, p.posted(now))
		}
	}
	sort.Slice(dues, func(i, j int) bool { return dues[i] < dues[j] })
	if len(dues) != int(rate) {
		t.Fatalf("%d posts", len(dues))
	}
	for i, due := range dues {
		if due != start+int64(i)*int64(time.Millisecond) {
			t.Fatalf("post %d is due at %d", i, due)
		}
	}
}

func TestClosedPacer(t *testing.T) {
	t.Parallel()
	p := closedPacer(0, int64(time.Hour), 45)
	now, held := int64(0), 0
	posts := 0
	for now < int64(20*time.Second) {
		if from := p.posted(now); from != now {
			t.Fatalf("latency counts from %d at %d", from, now)
		}
		posts++
		now += int64(time.Millisecond) // the ack's way
		if p.acked(now) {
			held++
		}
		now = max(now, p.due)
	}
	// The burst and 20 s at 45/s, and never more.
	if posts > socketBurst+20*45+1 || posts < 20*45 || held == 0 {
		t.Fatalf("%d posts, %d held", posts, held)
	}
	slow := closedPacer(0, int64(time.Hour), 45)
	for now := int64(0); now < int64(time.Minute); now += int64(30 * time.Millisecond) {
		if slow.acked(now) {
			t.Fatal("a loop below the rate was held")
		}
	}
}

func TestTurns(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	var h turns
	last := int64(-1)
	for i := range 2000 {
		h.push(turn{due: last + 1 + int64(random.IntN(1000)), slot: i})
		if i%3 == 2 {
			if next := h.pop(); next.due < last {
				t.Fatalf("%d after %d", next.due, last)
			} else {
				last = next.due
			}
		}
	}
	for len(h) > 0 {
		next := h.pop()
		if next.due < last {
			t.Fatalf("%d after %d", next.due, last)
		}
		last = next.due
	}
}

func TestLatencies(t *testing.T) {
	t.Parallel()
	a, b := newLatencies(), newLatencies()
	for ms := range int64(1000) {
		a.add((ms + 1) * int64(time.Millisecond))
	}
	b.add(-5)
	b.add(int64(time.Hour))
	a.merge(b)
	got := a.summary()
	near := func(got, want float64) bool { return got > want*0.995 && got < want*1.005 }
	if got.Count != 1002 || !near(got.P50, 500) || !near(got.P90, 900) || !near(got.P99, 990) || !near(got.Max, maxLatency/1000) {
		t.Fatalf("%+v", got)
	}
}
