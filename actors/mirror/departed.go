package mirror

import "parley/actors/kernel"

// maxDeparted is the number of ended memberships that a mirror remembers.
const maxDeparted = 1024

// ErrAskAgain answers an Attach of an account whose membership was found out too long ago.
var ErrAskAgain = kernel.Fail(kernel.CodeUnavailable, "the room changed while it was joined; join again")

// errDeparted answers an Attach of an account that was kicked or banned, or has left, between being let in and taking
// its seat.
var errDeparted = kernel.Forbidden("you are not a member of this agency any more")

// departed remembers whose memberships have ended lately, so that nobody is seated who was sent away on the way.
type departed struct {
	from uint64            // every departure behind this position is known
	seqs map[string]uint64 // account: position of its last departure
	line []departure       // oldest first
}

type departure struct {
	account string
	seq     uint64
}

func (d *departed) note(account string, seq uint64) {
	if d.seqs == nil {
		d.seqs = map[string]uint64{}
	}
	d.seqs[account] = seq
	d.line = append(d.line, departure{account, seq})
	if len(d.line) <= maxDeparted {
		return
	}
	old := d.line[0]
	d.line = d.line[1:]
	d.from = old.seq
	if d.seqs[old.account] == old.seq {
		delete(d.seqs, old.account)
	}
}

// check returns why an account that was a member at a position may not be seated.
func (d *departed) check(account string, entered uint64) error {
	switch {
	case entered == 0:
		return nil
	case d.seqs[account] > entered:
		return errDeparted
	case entered < d.from:
		return ErrAskAgain
	default:
		return nil
	}
}
