package platform_test

import (
	"fmt"
	"strings"
	"testing"

	"parley/actors/actortest"
	"parley/actors/agency"
)

// A list of a hundred agencies costs what a hundred cost, however many there are.
func TestAgencyListIsBounded(t *testing.T) {
	const rooms = 700
	w := actortest.New(t)
	ann, bob := w.User("ann"), w.User("bob")
	made := make(chan error, rooms)
	for i := range rooms {
		go func() {
			_, err := w.Platform.CreateAgency(ctx, ann, agency.NewAgency{Name: fmt.Sprint("Room ", i)})
			made <- err
		}()
	}
	for range rooms {
		if err := <-made; err != nil {
			t.Fatal(err)
		}
	}
	mine := w.Room(bob, "Mine", true)
	w.Join(mine, ann)
	list := func() string {
		r, err := typed(w, bob, mine, "/agency list")
		if err != nil || !r.OK {
			t.Fatal(r, err)
		}
		return r.Content
	}
	lines := strings.Split(list(), "\n")
	if len(lines) != 101 || !strings.HasPrefix(lines[0], "mine — Mine, 2 members, you are owner") || lines[100] != "- and 601 more" && lines[100] != "- and 602 more" {
		t.Errorf("%d lines from %q to %q", len(lines), lines[0], lines[len(lines)-1])
	}
	if lines := strings.Split(func() string { r, _ := typed(w, ann, mine, "/agency list"); return r.Content }(), "\n"); len(lines) != 101 {
		t.Errorf("%d lines for the owner of all", len(lines))
	}
	if got := testing.AllocsPerRun(5, func() { list() }); got > 8000 {
		t.Errorf("%.0f allocations for a hundred lines", got)
	}
}
