package load

import (
	"math/rand/v2"
	"testing"
)

// naive is the obvious way to count, against which the small one is checked.
type naive map[[2]uint32]int

func TestReceiverAgainstNaive(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		const posters, posts = 3, 60
		r := newReceiver(posters)
		seen := naive{}
		var repeats, wantRepeats int
		senders := make([]*sent, posters)
		for p := range senders {
			senders[p] = &sent{}
			for range posts {
				senders[p].post(0)
			}
			for seq := range uint32(posts) {
				if random.IntN(10) > 0 { // else still unanswered
					senders[p].ack(seq, random.IntN(10) > 0)
				}
			}
		}
		for range 300 {
			p, seq := uint32(random.IntN(posters)), uint32(random.IntN(posts))
			if seen[[2]uint32{p, seq}]++; seen[[2]uint32{p, seq}] > 1 {
				wantRepeats++
			}
			if v, _ := r.take(p, seq, -1); v == repeated {
				repeats++
			}
		}
		var lost, wantLost int64
		for p, s := range senders {
			lost += r.missing(uint32(p), s, true)
			for seq := range uint32(posts) {
				if seen[[2]uint32{uint32(p), seq}] == 0 && s.ackedIn(span{seq, seq + 1}) == 1 {
					wantLost++
				}
			}
		}
		if repeats != wantRepeats || lost != wantLost {
			t.Fatalf("seed %d: %d repeated, want %d; %d lost, want %d", seed, repeats, wantRepeats, lost, wantLost)
		}
	}
}

func TestReceiverOrder(t *testing.T) {
	t.Parallel()
	r := newReceiver(2)
	for i, step := range []struct {
		poster, seq uint32
		log         int64
		v           verdict
		inOrder     bool
	}{
		{0, 0, 5, fresh, true},
		{1, 0, 9, fresh, true},
		{0, 1, 9, fresh, false}, // two messages at one position
		{0, 3, 10, fresh, true},
		{0, 2, 8, late, false},
		{0, 2, 11, repeated, true},
		{2, 0, 12, unknown, true},
		{1, 1, -1, fresh, true},
	} {
		if v, inOrder := r.take(step.poster, step.seq, step.log); v != step.v || inOrder != step.inOrder {
			t.Fatalf("step %d: %v, in order %v", i, v, inOrder)
		}
	}
}

// TestReceiverTail: a connection that closed early owes nothing after the last message it saw, but
// everything before it.
func TestReceiverTail(t *testing.T) {
	t.Parallel()
	s := &sent{}
	for seq := range uint32(10) {
		s.post(0)
		s.ack(seq, true)
	}
	r := newReceiver(1)
	r.take(0, 0, 1)
	r.take(0, 4, 5)
	if open, closed := r.missing(0, s, true), r.missing(0, s, false); open != 8 || closed != 3 {
		t.Fatalf("open %d, closed %d", open, closed)
	}
}

func TestReceiverBoundsGaps(t *testing.T) {
	t.Parallel()
	s := &sent{}
	r := newReceiver(1)
	const posts = 4 * maxGaps
	for seq := range uint32(posts) {
		s.post(0)
		s.ack(seq, true)
		if seq%2 == 1 {
			r.take(0, seq, -1)
		}
	}
	if len(r.gaps[0]) != maxGaps || r.missing(0, s, true) != posts/2 {
		t.Fatalf("%d gaps, %d lost", len(r.gaps[0]), r.missing(0, s, true))
	}
}
