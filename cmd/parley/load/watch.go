package load

import "os"

// sample reads the server's process; where that fails, the figures are left out.
func (r *run) sample() sample {
	if r.pid == 0 {
		return sample{}
	}
	s, err := sampleProcess(r.pid)
	if err != nil {
		r.note("memory and CPU of the server are left out: " + err.Error())
		r.pid = 0
	}
	return s
}

// own reads the generator's own process, whose share of the machine limits what the figures mean.
func (r *run) own() sample {
	s, err := sampleProcess(os.Getpid())
	if err != nil {
		return sample{} // 0 in the result says that it is not known
	}
	return s
}

// instant is what the loops have counted at one time.
type instant struct {
	at, joined, failed, closed, posted, acked, refused, expected, delivered, repeated, swept, back int64
}

func (r *run) instant() instant {
	t := instant{at: r.now()}
	for _, l := range r.loops {
		t.joined += l.tally.joined.Load()
		t.failed += l.tally.failed.Load()
		t.closed += l.tally.closed.Load()
		t.posted += l.tally.posted.Load()
		t.acked += l.tally.acked.Load()
		t.refused += l.tally.refused.Load()
		t.expected += l.tally.expected.Load()
		t.delivered += l.tally.delivered.Load()
		t.repeated += l.tally.repeated.Load()
		t.swept += l.tally.swept.Load()
		t.back += l.tally.back.Load()
	}
	return t
}
