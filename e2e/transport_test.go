package e2e

import (
	"fmt"
	"slices"
	"testing"
)

// TestTransports: with the real client, over polling, over a WebSocket, and over polling that becomes a WebSocket under
// load, everything arrives once and in order, both ways (decision 26).
func TestTransports(t *testing.T) {
	t.Parallel()
	const sockets, count, others = 4, 220, 60 // more events than a burst, so that the upgrade finds a queue
	for name, mode := range map[string]struct {
		transports  []string
		first, last string
	}{
		"polling":   {[]string{"polling"}, "polling", "polling"},
		"websocket": {[]string{"websocket"}, "websocket", "websocket"},
		"default":   {[]string{"polling", "websocket"}, "polling", "websocket"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := common(t)
			ann, bob := user(t, api, "ann"), user(t, api, "bob")
			g := ann.room(t, "room", false)
			bob.enter(t, g)
			s := runScript(t, "transports.js", map[string]any{"url": api.Base, "token": ann.Token, "room": g.ID,
				"transports": mode.transports, "sockets": sockets, "count": count, "others": others})
			s.kind("inside")
			for i := range others {
				bob.post(t, g, fmt.Sprintf("other %d", i))
			}
			for range sockets {
				seen := decoded[struct {
					First, Last, Closed string
					Own, Acks, Others   []int
				}](t, s.kind("seen"))
				if seen.First != mode.first || seen.Last != mode.last || seen.Closed != "" {
					t.Errorf("it travelled by %s, then by %s, and closed %q", seen.First, seen.Last, seen.Closed)
				}
				for what, numbers := range map[string][]int{"own messages": seen.Own, "acks": seen.Acks, "messages of another": seen.Others} {
					if !slices.IsSorted(numbers) || len(slices.Compact(slices.Clone(numbers))) != len(numbers) || numbers[0] != 0 {
						t.Errorf("the %s are %v", what, numbers)
					}
				}
			}
			s.kind("end")
		})
	}
}
