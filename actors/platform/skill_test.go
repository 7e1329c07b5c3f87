package platform_test

import (
	"strings"
	"sync"
	"testing"

	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/command"
	"parley/actors/kernel"
	"parley/actors/platform"
)

func skillNames(list []command.Skill) string {
	var out []string
	for _, s := range list {
		out = append(out, s.Name)
	}
	return strings.Join(out, " ")
}

func TestSkills(t *testing.T) {
	w := actortest.New(t)
	ann, bob, eve := w.User("ann"), w.User("bob"), w.User("eve")
	room := w.Room(ann, "Room", true)
	w.Join(room, bob)
	shows := func(id *platform.Identity, installed, available string) {
		t.Helper()
		s, err := w.Platform.Skills(ctx, id, room)
		if err != nil || skillNames(s.Installed) != installed || skillNames(s.Available) != available {
			t.Errorf("%+v, %v", s, err)
		}
	}
	install := func(id *platform.Identity, name string) error {
		_, _, err := w.Platform.InstallSkill(ctx, id, room, name)
		return err
	}
	shows(bob, "", "analyze dice echo poll")
	for range 2 {
		skill, s, err := w.Platform.InstallSkill(ctx, ann, room, " ECHO ")
		if err != nil || skill.Name != "echo" || skill.Description == "" || skillNames(s.Installed) != "echo" || skillNames(s.Available) != "analyze dice poll" {
			t.Fatalf("%+v, %+v, %v", skill, s, err)
		}
	}
	actortest.Wants(t, "a member", install(bob, "dice"), kernel.CodeForbidden)
	actortest.Wants(t, "an outsider", install(eve, "dice"), kernel.CodeNotFound)
	err := install(ann, "nope")
	actortest.Wants(t, "no such skill", err, kernel.CodeNotFound)
	if !strings.Contains(err.Error(), "analyze, dice, echo, poll") {
		t.Error(err)
	}
	if err := install(eve, "nope"); strings.Contains(err.Error(), "skill") {
		t.Errorf("tells an outsider: %v", err)
	}
	if _, err := w.Platform.SetRole(ctx, ann, room, bob.ID, "moderator"); err != nil {
		t.Fatal(err)
	}
	actortest.Wants(t, "a moderator", install(bob, "dice"), kernel.CodeForbidden)
	if _, err := w.Platform.SetRole(ctx, ann, room, bob.ID, "admin"); err != nil {
		t.Fatal(err)
	}
	if err := install(bob, "analyze"); err != nil {
		t.Fatal(err)
	}

	// Other changes of the agency and a crash leave them.
	name, public := "Room 2", false
	if _, err := w.Platform.UpdateAgency(ctx, ann, room, agency.Update{Name: &name, Private: &public}); err != nil {
		t.Fatal(err)
	}
	w.Crash()
	w.Join(room, eve)
	shows(bob, "analyze echo", "dice poll")
	_, s, err := w.Platform.UninstallSkill(ctx, bob, room, "echo")
	if err != nil || skillNames(s.Installed) != "analyze" {
		t.Errorf("%+v, %v", s, err)
	}
	_, _, err = w.Platform.UninstallSkill(ctx, ann, room, "echo")
	actortest.Wants(t, "uninstall again", err, kernel.CodeNotFound)
	_, _, err = w.Platform.UninstallSkill(ctx, eve, room, "analyze")
	actortest.Wants(t, "a member uninstalls", err, kernel.CodeForbidden)
	w.Sleep(agency.Ref(room))
	shows(w.User("stranger"), "analyze", "dice echo poll") // public by now

	_, _, err = w.Platform.InstallSkill(ctx, ann, lobby, "echo")
	actortest.Wants(t, "in the Lobby", err, kernel.CodeForbidden)
}

func TestSkillRaces(t *testing.T) {
	w := actortest.New(t)
	ann := w.User("ann")
	room := w.Room(ann, "Room", false)
	from := head(w, agency.Ref(room))
	var wg sync.WaitGroup
	for range 4 {
		for _, s := range command.Skills() {
			wg.Go(func() {
				if _, _, err := w.Platform.InstallSkill(ctx, ann, room, s.Name); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	if s, err := w.Platform.Skills(ctx, ann, room); err != nil || skillNames(s.Installed) != "analyze dice echo poll" || len(s.Available) != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	if n := head(w, agency.Ref(room)) - from; n != 4 {
		t.Errorf("%d events for 4 skills", n)
	}
}
