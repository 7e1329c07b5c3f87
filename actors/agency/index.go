package agency

import (
	"context"

	"parley/actors/kernel"
	"parley/actors/search"
	"parley/persistence"
)

// Limits of the index of words (see actors/search).
const (
	// indexBatch is the number of documents that one commit puts into the index: few, so that posts do not wait behind them.
	indexBatch = 512
	// indexPortion is the number of words of a block that are held in memory at once; those of one message more at most.
	indexPortion = 16_384
)

// wordIndex is what the actor knows of the index. It is written behind the posts: a block of messages at a time, once
// the block is full.
type wordIndex struct {
	known bool   // from is
	busy  bool   // a portion is being read or written
	from  uint64 // position from which on nothing is indexed, once known
	edge  uint64 // messages before it have been read for the index, or may have been: the words of edits are put there
}

// covers reports whether the words that an edit adds have to be put into the index by the edit: else the block has not been
// read and will be as it is then.
func (w *wordIndex) covers(seq uint64) bool { return !w.known || seq < w.edge }

// Index goes on with the index of words when there are full blocks that it lacks, one portion at a time. The actor gives
// itself the command when a block is full; searches give it when they find the index behind. It answers with kernel.Done.
type Index struct{}

// filled is told of committed events.
func (a *Agency) filled(events []persistence.Event) {
	if n := len(events); n > 0 && search.Full(events[n-1].Seq) > search.Full(events[0].Seq-1) {
		a.goOnIndexing()
	}
}

// goOnIndexing lets what waits in the mailbox go first, a request to sleep among it. Whoever comes next goes on then.
func (a *Agency) goOnIndexing() {
	if !a.words.busy {
		a.grain.Call(Index{}, func(any, error) {})
	}
}

func (a *Agency) index(t *kernel.Turn) {
	switch {
	case a.words.busy:
		t.Reply(kernel.Done{}) // which goes on by itself
	case !a.words.known:
		a.words.busy = true
		kernel.Load(t, func(ctx context.Context, s persistence.Store) (uint64, error) {
			return search.Reached(ctx, s, t.ID())
		}, func(blocks uint64, err error) {
			if err == nil {
				a.words = wordIndex{known: true, busy: true, from: blocks * search.BlockSize, edge: blocks * search.BlockSize}
				err = a.ended()
			}
			if err != nil {
				a.stopIndexing(t, err)
				return
			}
			a.indexNext(t)
		})
	default:
		a.words.busy = true
		a.indexNext(t)
	}
}

func (a *Agency) stopIndexing(t *kernel.Turn, err error) {
	a.words.busy = false
	if err != nil {
		t.Fail(err)
		return
	}
	t.Reply(kernel.Done{})
}

// indexNext reads the next portion, if its block is full, and writes its words. It reads what is committed; from when it
// begins to read, edits put their words themselves.
func (a *Agency) indexNext(t *kernel.Turn) {
	from := a.words.from
	if search.BlockOf(from) >= search.Full(a.last(t)) {
		a.stopIndexing(t, nil)
		return
	}
	a.words.edge = (search.BlockOf(from) + 1) * search.BlockSize
	t.AfterCommits(func() {
		kernel.Load(t, func(ctx context.Context, s persistence.Store) (portion, error) {
			return readPortion(ctx, s, t.ID(), from)
		}, func(p portion, err error) {
			if err != nil {
				a.stopIndexing(t, err)
				return
			}
			a.putTerms(t, p)
		})
	})
}

// portion is a part of the index on its way into the store.
type portion struct {
	terms []persistence.DocumentOp
	next  uint64 // position at which the next portion begins
}

func readPortion(ctx context.Context, s persistence.Store, agency string, from uint64) (portion, error) {
	p := search.NewPortion(agency, from)
	for r := p.Span(); ; {
		docs, err := s.Documents(ctx, persistence.CollectionMessage, r)
		if err != nil {
			return portion{}, err
		}
		if len(docs) == 0 {
			return portion{terms: p.Documents(), next: p.End()}, nil
		}
		for _, d := range docs {
			seq, err := search.SeqOf(agency, d.Key)
			if err != nil {
				return portion{}, err
			}
			if p.Len() >= indexPortion {
				return portion{terms: p.Documents(), next: seq}, nil
			}
			content, err := ContentOf(d.Data)
			if err != nil {
				return portion{}, err
			}
			p.Add(seq, content)
			r.After = d.Key
		}
	}
}

// putTerms commits a portion, a batch at a time. That a block is indexed is said with the last of it. No batch comes near
// a limit of the store: one without events must not be refused for what it contains, since later ones do not expect it.
func (a *Agency) putTerms(t *kernel.Turn, p portion) {
	if err := a.ended(); err != nil { // nothing may be put behind the clean-up
		a.stopIndexing(t, err)
		return
	}
	batch := p.terms[:min(len(p.terms), indexBatch)]
	p.terms = p.terms[len(batch):]
	done := func() { a.putTerms(t, p) }
	if len(p.terms) == 0 {
		if p.next%search.BlockSize == 0 {
			batch = append(batch[:len(batch):len(batch)], search.Reach(t.ID(), search.BlockOf(p.next)))
		}
		done = func() {
			a.words.from = p.next
			a.stopIndexing(t, nil)
			if search.BlockOf(p.next) < search.Full(a.last(t)) {
				a.goOnIndexing()
			}
		}
	}
	t.Commit(kernel.Change{Documents: batch}, done, nil)
}

// editTerms is what an edit puts into the index.
func (a *Agency) editTerms(agency string, seq uint64, before, after string) []persistence.DocumentOp {
	if !a.words.covers(seq) {
		return nil
	}
	return search.Edit(agency, seq, before, after)
}
