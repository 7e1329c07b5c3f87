package search

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/persistence"
	"parley/persistence/bolt"
)

const room = "room"

// shelf is an agency's messages in a store, without an actor.
type shelf struct {
	testing.TB
	store   persistence.Store
	lease   persistence.Lease
	said    map[uint64]string // what is there
	last    uint64
	indexed uint64 // blocks
	portion int    // terms
}

func newShelf(t testing.TB) *shelf {
	t.Helper()
	store, err := bolt.Open(t.Context(), bolt.Options{Path: filepath.Join(t.TempDir(), "store.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	lease, err := store.Acquire(t.Context(), "agency/"+room, 0)
	if err != nil {
		t.Fatal(err)
	}
	return &shelf{TB: t, store: store, lease: lease, said: map[uint64]string{}, portion: 1 << 20}
}

func (s *shelf) put(ops ...persistence.DocumentOp) {
	s.Helper()
	for chunk := range slices.Chunk(ops, persistence.MaxBatchOps) {
		b := &persistence.Batch{Stream: "agency/" + room, Epoch: s.lease.Epoch, Documents: chunk}
		if err := s.store.Append(s.Context(), []*persistence.Batch{b})[0]; err != nil {
			s.Fatal(err)
		}
	}
}

func messageOp(seq uint64, content []byte) persistence.DocumentOp {
	return persistence.DocumentOp{Collection: persistence.CollectionMessage, Key: persistence.SeqKey(room, seq), Data: content}
}

// post says something at a position behind the last one.
func (s *shelf) post(gap uint64, content string) {
	s.Helper()
	s.last += 1 + gap
	s.said[s.last] = content
	s.put(messageOp(s.last, []byte(content)))
}

func (s *shelf) edit(seq uint64, content string) {
	s.Helper()
	s.put(append(Edit(room, seq, s.said[seq], content), messageOp(seq, []byte(content)))...)
	s.said[seq] = content
}

func (s *shelf) remove(seq uint64) {
	s.Helper()
	delete(s.said, seq)
	s.put(messageOp(seq, nil))
}

// index indexes one block if one is full.
func (s *shelf) index() bool {
	s.Helper()
	if s.indexed >= Full(s.last) {
		return false
	}
	for from := s.indexed * BlockSize; from < (s.indexed+1)*BlockSize; {
		p := NewPortion(room, from)
		docs, err := s.store.Documents(s.Context(), persistence.CollectionMessage, p.Span())
		if err != nil {
			s.Fatal(err)
		}
		from = p.End()
		for _, d := range docs {
			seq, err := SeqOf(room, d.Key)
			if err != nil {
				s.Fatal(err)
			}
			if p.Len() >= s.portion {
				from = seq
				break
			}
			p.Add(seq, string(d.Data))
		}
		s.put(p.Documents()...)
	}
	s.indexed++
	s.put(Reach(room, s.indexed))
	return true
}

// scan is the search without an index.
func (s *shelf) scan(r Request) (hits []string) {
	for seq, content := range s.said {
		if seq > r.After && (r.Before == 0 || seq < r.Before) && r.Query.Matches(content) {
			hits = append(hits, persistence.SeqKey(room, seq))
		}
	}
	slices.Sort(hits)
	if !r.Ascending {
		slices.Reverse(hits)
	}
	return hits[:min(len(hits), r.Limit)]
}

func (s *shelf) find(r Request) (Result, error) {
	r.Store, r.Agency, r.Content = s.store, room, plain
	return Find(s.Context(), r)
}

func plain(doc []byte) (string, error) { return string(doc), nil }

var vocabulary = strings.Fields("the the the the a a of and Rain rain in SPAIN stays mainly ÜBER über straße 東京都 京都 こんにちは @ann @Ann @ann_x bob@ann x1 re-index 🎉 42")

func chatter(r *rand.Rand) string {
	words := make([]string, 1+r.IntN(6))
	for i := range words {
		words[i] = vocabulary[r.IntN(len(vocabulary))]
	}
	return strings.Join(words, " ")
}

var questions = []string{"rain", "the", "the spain", `"rain in spain"`, `"the the"`, "京都", "東京都", "京 都", "über straße", "x1 42 the", "🎉", "index", "nowhere", "こんに rain"}

// TestFindEqualsScan: whatever is posted, edited, deleted and indexed, a search finds what looking at everything finds.
func TestFindEqualsScan(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := newShelf(t)
		s.portion = []int{15, 1 << 20}[seed%2]
		for range 1500 {
			switch seqs := s.last; {
			case r.IntN(10) < 7 || seqs == 0:
				s.post(uint64(r.IntN(1+r.IntN(30))), chatter(r))
			default:
				seq := 1 + r.Uint64N(seqs)
				if _, there := s.said[seq]; !there {
					continue
				}
				if r.IntN(3) == 0 {
					s.remove(seq)
				} else {
					s.edit(seq, chatter(r))
				}
			}
			if r.IntN(100) == 0 {
				s.index()
			}
			if r.IntN(8) == 0 {
				s.compare(r)
			}
		}
		for s.index() {
			s.compare(r)
		}
		if s.indexed < 3 {
			t.Fatalf("only %d blocks", s.indexed)
		}
	}
}

// compare asks something of the index and of a scan.
func (s *shelf) compare(r *rand.Rand) {
	s.Helper()
	text, handle := questions[r.IntN(len(questions))], ""
	if r.IntN(3) == 0 {
		handle = []string{"ann", "bob", "ann_x"}[r.IntN(3)]
		if r.IntN(2) == 0 {
			text = ""
		}
	}
	q, err := Parse(text, handle)
	if err != nil {
		s.Fatal(text, err)
	}
	req := Request{Query: q, Limit: 1 + r.IntN(100), Ascending: r.IntN(2) == 0}
	if r.IntN(2) == 0 {
		req.After = r.Uint64N(s.last + 10)
	}
	if r.IntN(2) == 0 {
		req.Before = r.Uint64N(s.last + 10)
	}
	got, err := s.find(req)
	if err != nil {
		s.Fatal(err)
	}
	keys := make([]string, 0)
	for _, d := range got.Messages {
		keys = append(keys, d.Key)
	}
	if want := s.scan(req); !slices.Equal(keys, want) {
		s.Fatalf("%q mentioning %q in %d..%d ascending %v limit %d, %d blocks of %d positions:\n got %v\nwant %v", text, handle,
			req.After, req.Before, req.Ascending, req.Limit, s.indexed, s.last, keys, want)
	}
}

// TestWorkIsBounded: a search that names much in vain says how far it came, one that waits for the index says that.
func TestWorkIsBounded(t *testing.T) {
	s := newShelf(t)
	var ops []persistence.DocumentOp
	for s.last < MaxWork/messageCost+2*BlockSize {
		s.last++
		s.said[s.last] = "b a"
		ops = append(ops, messageOp(s.last, []byte("b a")))
	}
	s.put(ops...)
	q, err := Parse(`"a b"`, "")
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.find(Request{Query: q, Limit: 50})
	if !errors.Is(err, ErrBehind) || !res.Behind {
		t.Fatalf("without an index: %+v, %v", res, err)
	}
	for s.index() {
		continue
	}
	s.edit(5, "a b")
	s.edit(s.last-5, "a b")
	for _, ascending := range []bool{false, true} {
		_, err = s.find(Request{Query: q, Limit: 50, Ascending: ascending})
		var broad *BroadError
		if !errors.As(err, &broad) || broad.Found != 1 {
			t.Fatalf("ascending %v: %v", ascending, err)
		}
		next := Request{Query: q, Limit: 50, Ascending: ascending, Before: broad.Reached + 1}
		first := Request{Query: q, Limit: 50, Ascending: ascending, After: broad.Reached}
		if ascending {
			next.Before, next.After = 0, broad.Reached-1
			first.After, first.Before = 0, broad.Reached
		}
		for _, r := range []Request{first, next} {
			if res, err := s.find(r); err != nil || len(res.Messages) != 1 {
				t.Fatalf("ascending %v, %d..%d: %d hits, %v", ascending, r.After, r.Before, len(res.Messages), err)
			}
		}
	}
}

// TestLongWalk: two words that are everywhere and never together are given up with a place to go on from, until the end.
func TestLongWalk(t *testing.T) {
	const blocks = MaxWork * 5 / 8
	s := newShelf(t)
	ops := []persistence.DocumentOp{Reach(room, blocks)}
	for n, term := range []string{"x", "y"} {
		var o offsets
		o.add(n)
		for b := range uint64(blocks) {
			ops = append(ops, persistence.DocumentOp{Collection: persistence.CollectionWord, Key: blockKey(room, term, b), Data: o.encode()})
		}
	}
	s.put(ops...)
	q, err := Parse("x y", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, ascending := range []bool{false, true} {
		r := Request{Query: q, Limit: 1, Ascending: ascending}
		_, err := s.find(r)
		var broad *BroadError
		if !errors.As(err, &broad) || broad.Reached < BlockSize*blocks/10 || broad.Reached > BlockSize*blocks*9/10 {
			t.Fatalf("ascending %v: %v", ascending, err)
		}
		if r.Before = broad.Reached + 1; ascending {
			r.Before, r.After = 0, broad.Reached-1
		}
		if res, err := s.find(r); err != nil || len(res.Messages) != 0 {
			t.Fatalf("ascending %v, the rest: %v", ascending, err)
		}
	}
}

// TestDamagedIndex: what is no index is an error, not a wrong page.
func TestDamagedIndex(t *testing.T) {
	q, err := Parse("a", "")
	if err != nil {
		t.Fatal(err)
	}
	for key, data := range map[string]string{room + "/": "x", room + "/a/00000000": "x", room + "/a/0000000/": "", room + "/a/0": "",
		room + "/a/00000001": "\xff\xff"} {
		s := newShelf(t)
		s.last = 3 * BlockSize
		s.put(Reach(room, 2), persistence.DocumentOp{Collection: persistence.CollectionWord, Key: key, Data: []byte(data)})
		if _, err := s.find(Request{Query: q, Limit: 1}); !errors.Is(err, errOffsets) {
			t.Errorf("%q: %v", key, err)
		}
	}
	s := newShelf(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Find(ctx, Request{Store: s.store, Agency: room, Query: q, Limit: 1, Content: plain}); err == nil {
		t.Error("nobody noticed that the store could not be read")
	}
}
