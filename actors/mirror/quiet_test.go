package mirror_test

import (
	"fmt"
	"testing"

	"parley/actors/actortest"
	"parley/actors/session"
)

// A client that comes back and asks for what it missed gets each event once, whether it asks before its room is restored or
// after that.
func TestRecoveryMeetsRestoration(t *testing.T) {
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprint("late ", late), func(t *testing.T) {
			t.Parallel()
			w := actortest.New(t)
			ann, bob := w.User("ann"), w.User("bob")
			room := w.Room(ann, "Room", false)
			s, socket := w.Connect(bob)
			j := enter(t, s, socket, room, nil)
			s.Lose()
			away := w.Post(ann, room, "while away")
			again, back := w.Connect(bob)
			again.Resume(ctx)
			var live []uint64
			if late {
				w.Eventually("the room", func() bool { w.Post(ann, room, "back?"); return len(logged(back)) > 2 })
				live = logged(back)
				if live[0] <= away.Seq {
					t.Errorf("it was told of what it missed: %v", live)
				}
			} else {
				w.Post(ann, room, "at once")
			}
			last := w.Post(ann, room, "before it asks")
			if late {
				w.Eventually("the last", func() bool { l := logged(back); return l[len(l)-1] == last.Seq })
				live = logged(back)
			}
			got := missed(enter(t, again, back, room, &j.Seq))
			if want := hard(t, w, room, j.Seq); fmt.Sprint(append(got, live...)) != fmt.Sprint(want) {
				t.Errorf("missed %v, live %v, the log has %v", got, live, want)
			}
			final := w.Post(ann, room, "afterwards")
			eventuallySees(w, back, final.Seq)
			do(t, again, session.Leave{AgencyID: room})
		})
	}
}
