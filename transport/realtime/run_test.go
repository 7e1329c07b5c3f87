package realtime

import (
	"fmt"
	"testing"

	"parley/actors/kernel"
	"parley/actors/run"
	"parley/actors/session"
)

// An agent that pushes out what it had to say while it was away hears of one failure a run, and of none where the run has
// ended meanwhile: each error event would fail a join that waits (clients.md 3.3). Who acts on another's run hears of all.
func TestFailuresOfRunsAreToldOnce(t *testing.T) {
	c := &client{}
	limited := kernel.Fail(kernel.CodeLimited, "too many")
	for i, tc := range []struct {
		what any
		err  *kernel.Error
		want bool
	}{
		{session.StartRun{RunID: "a"}, limited, false},
		{session.ActRun{RunID: "a", What: run.Status{}}, limited, true},
		{session.ActRun{RunID: "a", What: run.Interrupt{}}, limited, false},
		{session.ActRun{RunID: "b", What: run.Status{}}, run.ErrEnded, true},
		{session.ActRun{RunID: "b", What: run.Answer{}}, run.ErrEnded, false},
		{session.ActRun{RunID: "b", What: run.Stream{}}, limited, false},
		{session.ActRun{RunID: "b", What: run.Stream{}}, limited, true},
		{session.Send{}, limited, false},
		{nil, limited, false},
	} {
		if got := c.muted(tc.what, tc.err); got != tc.want {
			t.Errorf("%d: %+v is muted: %v", i, tc.what, got)
		}
	}
	for i := range 2 * maxFaulty {
		c.muted(session.StartRun{RunID: fmt.Sprint(i)}, limited)
	}
	if len(c.faulty) != maxFaulty {
		t.Errorf("%d runs are remembered", len(c.faulty))
	}
}
