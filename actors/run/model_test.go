package run_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"parley/actors/kernel"
	"parley/actors/run"
)

// model is what a run should be, told by the rules alone.
type model struct {
	state    run.State
	stopping bool
	status   string
	perms    map[string]run.Consent
	kinds    []string
	sent     bool
}

func (m *model) close(last run.Consent) {
	for id, p := range m.perms {
		if p == run.Pending {
			m.perms[id] = last
		}
	}
}

func (m *model) pending() (n int) {
	for _, p := range m.perms {
		if p == run.Pending {
			n++
		}
	}
	return n
}

// step makes one random thing happen to the run and to its model, and returns whether it should succeed.
func (m *model) step(s *stage, id string, r *rand.Rand) (fine bool, code kernel.Code, err error) {
	ended, perm := m.state != run.Running, fmt.Sprint("p", r.IntN(6))
	note := func(kind string) {
		if !ended {
			m.kinds = append(m.kinds, kind)
		}
	}
	code = kernel.CodeTaken
	switch p := m.perms[perm]; r.IntN(10) {
	case 0, 1:
		text := fmt.Sprint("s", r.IntN(3))
		if text != m.status {
			note("status")
		}
		if !ended {
			m.status = text
		}
		err = s.act(s.bot, id, run.Status{Text: text})
	case 2:
		note("tool-call")
		err = s.act(s.bot, id, run.ToolCall{ID: "1", Tool: "t"})
	case 3, 4:
		if p == "" {
			note("permission-request")
			if !ended {
				m.perms[perm] = run.Pending
			}
		}
		err = s.act(s.bot, id, run.Ask{ID: perm})
	case 5, 6:
		decision, next := "approve", run.Approved
		if r.IntN(2) == 0 {
			decision, next = "deny", run.Denied
		}
		err = s.act(s.boss, id, run.Answer{PermissionID: perm, Decision: decision})
		switch {
		case ended:
		case p == "":
			return false, kernel.CodeNotFound, err
		case p == run.Pending:
			note("permission-response")
			m.perms[perm] = next
		case p != next:
			return false, code, err
		}
	case 7:
		if !ended && !m.stopping {
			note("interrupt")
			m.stopping = true
			m.close(run.Cancelled)
		}
		err = s.act(s.asker, id, run.Interrupt{Action: run.Stop})
	case 8:
		if r.IntN(3) > 0 {
			return true, 0, nil
		}
		c := run.Complete{Summary: "x"}
		if m.sent = !ended && r.IntN(2) == 0 || ended && m.sent; m.sent {
			c.Transcript = run.ReadTranscript([]byte(`[{"type":"own"}]`))
		}
		note("complete")
		err = s.act(s.bot, id, c)
		if !ended {
			m.state = run.Completed
			if m.stopping {
				m.state = run.Interrupted
			}
			m.close(run.Expired)
		}
	case 9:
		switch r.IntN(8) {
		case 0:
			s.Crash()
		case 1:
			s.Sleep(run.Ref(id))
		default:
			s.Clock.Advance(time.Second)
		}
		return true, 0, nil
	}
	return !ended, code, err
}

// TestModel does random things to runs, with crashes and sleeps between, and compares them with the model after each.
func TestModel(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 1))
	s := set(t, false)
	for range 12 {
		id := s.start()
		m := &model{state: run.Running, perms: map[string]run.Consent{}, kinds: []string{"start"}}
		for range 60 {
			fine, code, err := m.step(s, id, r)
			if (err == nil) != fine || err != nil && kernel.AsError(err).Code != code {
				t.Fatalf("seed %d: %v, fine %v, %+v", seed, err, fine, m)
			}
			d := s.detail(id)
			status := ""
			if d.LastStatus != nil {
				status = *d.LastStatus
			}
			want := strings.Join(m.kinds, " ")
			if m.sent {
				want = "own"
			}
			if d.Status != m.state || status != m.status || d.Stopping != (m.stopping && m.state == run.Running) || len(d.Permissions) != len(m.perms) || kinds(t, d.Transcript) != want {
				t.Fatalf("seed %d: %+v, %s; want %+v", seed, d.View, d.Transcript, m)
			}
			for _, p := range d.Permissions {
				if m.perms[p.ID] != p.Status {
					t.Fatalf("seed %d: %+v, want %s", seed, p, m.perms[p.ID])
				}
			}
			open, err := s.Platform.RunningRuns(ctx, s.member, s.room)
			if err != nil || (len(open) == 1) != (m.state == run.Running) || len(open) == 1 && len(open[0].Permissions) != m.pending() {
				t.Fatalf("seed %d: %d open, %v", seed, len(open), err)
			}
		}
		if m.state == run.Running {
			s.does(id, run.Complete{})
		}
	}
}
