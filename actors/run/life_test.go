package run_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/actors/actortest"
	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/actors/run"
	"parley/persistence"
	"parley/persistence/storetest"
)

// TestStates takes a run into each state and tries every command on it.
func TestStates(t *testing.T) {
	const fine = kernel.Code(255)
	s := set(t, false)
	into := map[string]func(id string){
		"running":   func(string) {},
		"stopping":  func(id string) { s.must(s.act(s.boss, id, run.Interrupt{Action: run.Stop})) },
		"completed": func(id string) { s.does(id, run.Complete{Summary: "first"}) },
		"error":     func(id string) { s.does(id, run.Fail{Error: "first"}) },
		"interrupted": func(id string) {
			s.must(s.act(s.boss, id, run.Interrupt{Action: run.Stop}))
			s.does(id, run.Complete{Summary: "first"})
		},
		"purged": func(id string) {
			if _, err := kernel.Ask[kernel.Done](ctx, s.Local, run.Ref(id), run.Purge{}); err != nil {
				t.Fatal(err)
			}
		},
	}
	stopping := run.Running
	type outcome struct {
		code  kernel.Code
		state run.State // after it; empty: as before
	}
	open := func(state run.State) map[string]outcome {
		o := outcome{fine, state}
		return map[string]outcome{"running": o, "stopping": o, "completed": {kernel.CodeTaken, ""}, "error": {kernel.CodeTaken, ""},
			"interrupted": {kernel.CodeTaken, ""}, "purged": {kernel.CodeNotFound, ""}}
	}
	complete, start := open(run.Completed), open(run.Running)
	complete["stopping"] = outcome{fine, run.Interrupted}
	start["purged"] = outcome{kernel.CodeTaken, ""}
	always := func(state run.State) map[string]outcome {
		m := open(state)
		for _, name := range []string{"completed", "error", "interrupted", "purged"} {
			m[name] = outcome{fine, ""}
		}
		return m
	}
	direct := func(command any) func(string) error {
		return func(id string) error {
			_, err := kernel.Ask[kernel.Done](ctx, s.Local, run.Ref(id), command)
			return err
		}
	}
	by := func(who *platform.Identity, what any) func(string) error {
		return func(id string) error { return s.act(who, id, what) }
	}
	for name, c := range map[string]struct {
		do   func(id string) error
		want map[string]outcome
	}{
		"start":     {func(id string) error { return s.Platform.StartRun(ctx, s.bot, id, s.room, s.trigger.ID) }, start},
		"status":    {by(s.bot, run.Status{Text: "x"}), open(run.Running)},
		"call":      {by(s.bot, run.ToolCall{ID: "1", Tool: "t"}), open(run.Running)},
		"result":    {by(s.bot, run.ToolResult{ID: "1", Tool: "t", Status: "error"}), open(run.Running)},
		"stream":    {by(s.bot, run.Stream{MessageID: "6f0d3f0a-6b0b-4a58-9c0b-0d9a3a1d2c01", Content: "x"}), open(run.Running)},
		"ask":       {by(s.bot, run.Ask{ID: "new"}), open(run.Running)},
		"adjust":    {by(s.boss, run.Interrupt{Action: run.Adjust, Message: "m"}), open(run.Running)},
		"stop":      {by(s.boss, run.Interrupt{Action: run.Stop}), open(stopping)},
		"complete":  {by(s.bot, run.Complete{Summary: "second"}), complete},
		"fail":      {by(s.bot, run.Fail{Error: "second"}), open(run.Failed)},
		"gone":      {direct(run.Abandon{Reason: run.Gone}), always(run.Failed)},
		"not yet":   {direct(run.Abandon{Reason: run.Silent}), always(run.Running)},
		"reminder":  {direct(run.Remind{}), always(run.Running)},
		"fulfilled": {direct(run.Fulfil{Entry: "none"}), always(run.Running)},
	} {
		for state, prepare := range into {
			id := s.start()
			prepare(id)
			before, _ := s.Platform.Run(ctx, s.boss, id)
			err, want := c.do(id), c.want[state]
			switch {
			case want.code != fine:
				actortest.Wants(t, name+" when "+state, err, want.code)
			case err != nil:
				t.Errorf("%s when %s: %v", name, state, err)
			}
			after, err := s.Platform.Run(ctx, s.boss, id)
			switch {
			case state == "purged":
				actortest.Wants(t, "read when purged", err, kernel.CodeNotFound)
			case err != nil:
				t.Fatal(err)
			case want.state == "" && (after.Status != before.Status || *after.EndedAt != *before.EndedAt || string(after.Transcript) != string(before.Transcript)):
				t.Errorf("%s when %s: the end changed from %+v to %+v", name, state, before.View, after.View)
			case want.state != "" && after.Status != want.state:
				t.Errorf("%s when %s leads to %s, want %s", name, state, after.Status, want.state)
			}
			if err == nil && after.Status == run.Running {
				s.does(id, run.Complete{})
			}
		}
	}
}

// TestPermissions: states of requests.
func TestPermissions(t *testing.T) {
	s := set(t, false)
	id := s.start()
	state := func(permission string) run.PermissionView {
		t.Helper()
		for _, p := range s.detail(id).Permissions {
			if p.ID == permission {
				return p
			}
		}
		t.Fatalf("%s is not there", permission)
		return run.PermissionView{}
	}
	for _, p := range []string{"yes", "no", "odd", "open"} {
		s.does(id, run.Ask{ID: p, Action: "a", Description: "d"})
	}
	s.does(id, run.Ask{ID: "yes", Action: "another"}) // known already
	for p, decision := range map[string]string{"yes": "approve", "no": "deny", "odd": "Approve"} {
		s.must(s.act(s.asker, id, run.Answer{PermissionID: p, Decision: decision}))
		s.must(s.act(s.asker, id, run.Answer{PermissionID: p, Decision: decision}))
		actortest.Wants(t, "another's answer", s.act(s.boss, id, run.Answer{PermissionID: p, Decision: decision}), kernel.CodeTaken)
		actortest.Wants(t, "another answer", s.act(s.asker, id, run.Answer{PermissionID: p, Decision: "x"}), kernel.CodeTaken)
	}
	s.Clock.Advance(time.Hour)
	for p, want := range map[string]run.Consent{"yes": run.Approved, "no": run.Denied, "odd": run.Denied, "open": run.Pending} {
		if got := state(p); got.Status != want || got.Action != "a" || (got.Description != "") != (want == run.Pending) {
			t.Errorf("%s is %+v", p, got)
		}
	}
	s.Relays.Take()
	s.must(s.act(s.boss, id, run.Interrupt{Action: run.Stop}))
	if got := state("open"); got.Status != run.Cancelled || got.Decision != nil {
		t.Errorf("after the stop: %+v", got)
	}
	if told := s.Relays.Take(); names(told) != "permission status" || told[0].Field("permissionId") != "open" || told[0].Field("status") != "cancelled" {
		t.Errorf("after the stop the room heard %s", names(told))
	}
	actortest.Wants(t, "a cancelled one", s.act(s.asker, id, run.Answer{PermissionID: "open", Decision: "approve"}), kernel.CodeTaken)
	s.does(id, run.Ask{ID: "late"})
	s.does(id, run.Complete{Summary: "stopped"})
	if told := s.Relays.Take(); names(told) != "permission permission complete" || told[0].Field("status") != "pending" || told[1].Field("status") != "expired" ||
		told[2].Field("status") != "interrupted" {
		t.Errorf("after the end the room heard %s", names(told))
	}
	if got := state("late"); got.Status != run.Expired || s.detail(id).Status != run.Interrupted {
		t.Errorf("after the end: %+v", got)
	}
	id = s.start()
	for i := range run.MaxPending {
		s.does(id, run.Ask{ID: fmt.Sprint(i)})
	}
	actortest.Wants(t, "too many open ones", s.act(s.bot, id, run.Ask{ID: "x"}), kernel.CodeLimited)
	for i := run.MaxPending; i < run.MaxPermissions; i++ {
		s.must(s.act(s.boss, id, run.Answer{PermissionID: fmt.Sprint(i - run.MaxPending), Decision: "deny"}))
		s.does(id, run.Ask{ID: fmt.Sprint(i)})
	}
	s.must(s.act(s.boss, id, run.Answer{PermissionID: "99", Decision: "deny"}))
	actortest.Wants(t, "too many", s.act(s.bot, id, run.Ask{ID: "x"}), kernel.CodeLimited)
}

// TestRemind: an agent that comes back hears the stop and the answers again, of its open runs only.
func TestRemind(t *testing.T) {
	s := set(t, false)
	id, other := s.start(), s.start()
	for _, p := range []string{"old", "new"} {
		s.does(id, run.Ask{ID: p})
		s.must(s.act(s.boss, id, run.Answer{PermissionID: p, Decision: "approve"}))
		if p == "old" {
			s.Clock.Advance(11 * time.Minute)
		}
	}
	s.must(s.act(s.boss, id, run.Interrupt{Action: run.Stop, Message: "enough"}))
	s.must(s.act(s.boss, other, run.Interrupt{Action: run.Stop}))
	s.does(other, run.Complete{})
	s.Restart()
	_, socket := s.Connect(s.bot)
	s.Connect(s.rob)
	s.Eventually("the reminder", func() bool { return len(socket.Named(run.EventAnswer)) > 0 })
	stops, answers := socket.Named(run.EventInterrupt), socket.Named(run.EventAnswer)
	if len(stops) != 1 || len(answers) != 1 || !strings.Contains(string(answers[0].Data), `"new"`) || !strings.Contains(string(stops[0].Data), id) {
		t.Errorf("%d stops, %d answers", len(stops), len(answers))
	}
}

// TestOwnRecordIsBounded: in bytes and in entries, and the run goes on.
func TestOwnRecordIsBounded(t *testing.T) {
	s := set(t, false)
	id := s.start()
	for range 5 {
		s.does(id, run.ToolResult{ID: "1", Tool: "diff", Output: strings.Repeat("<", 1<<20)})
	}
	s.does(id, run.Status{Text: "after"})
	s.does(id, run.Fail{Error: "broken"})
	d := s.detail(id)
	if got := kinds(t, d.Transcript); got != "start tool-result tool-result tool-result truncated error" || len(d.Transcript) > run.MaxTranscript || *d.LastStatus != "after" {
		t.Errorf("%s, %d bytes", got, len(d.Transcript))
	}
	id = s.start()
	for i := range run.MaxEntries + 5 {
		s.Clock.Advance(time.Second)
		s.does(id, run.Status{Text: fmt.Sprint(i)})
	}
	s.Sleep(run.Ref(id))
	s.does(id, run.Complete{Transcript: run.ReadTranscript([]byte(`null`))})
	d = s.detail(id)
	if got := strings.Fields(kinds(t, d.Transcript)); len(got) != run.MaxEntries+2 || got[run.MaxEntries] != "truncated" || got[run.MaxEntries+1] != "complete" {
		t.Errorf("%d entries", len(got))
	}
	first, last, err := s.Store.Head(ctx, persistence.Stream(persistence.StreamRun, id))
	if err != nil || last-first > 1100 {
		t.Errorf("the log has %d to %d, %v", first, last, err)
	}
}

// TestAgentIsGone: after two minutes without a connection, counted anew by a new server (decision 32).
func TestAgentIsGone(t *testing.T) {
	s := set(t, false)
	session, _ := s.Connect(s.bot)
	id, robs := s.start(), uuid.NewString()
	_, _ = s.Connect(s.rob)
	s.must(s.Platform.StartRun(ctx, s.rob, robs, s.room, ""))
	watch := func(want run.State) {
		t.Helper()
		s.must(s.Platform.WatchRuns(ctx))
		if got := s.detail(id).Status; got != want {
			t.Fatalf("the run is %s, want %s", got, want)
		}
	}
	s.Clock.Advance(time.Hour)
	watch(run.Running)
	session.Close()
	watch(run.Running)
	s.Clock.Advance(run.GoneFor - time.Second)
	watch(run.Running)
	session, _ = s.Connect(s.bot)
	watch(run.Running)
	session.Close()
	s.Clock.Advance(time.Minute)
	watch(run.Running)
	s.Clock.Advance(time.Minute)
	watch(run.Running)
	s.Crash()
	watch(run.Running)
	s.Relays.Take()
	s.Clock.Advance(run.GoneFor)
	_, _ = s.Connect(s.rob)
	watch(run.Failed)
	s.told(id)
	d := s.detail(id)
	if *d.Error != string(run.Gone) || kinds(t, d.Transcript) != "start error" {
		t.Errorf("%+v, %s", d.View, d.Transcript)
	}
	if events := s.Relays.Take(); names(events) != "error" || events[0].Field("error") != string(run.Gone) {
		t.Errorf("%+v", events)
	}
	if d := s.detail(robs); d.Status != run.Running {
		t.Errorf("rob's run is %s", d.Status)
	}
	s.Clock.Advance(run.SilentFor)
	s.must(s.Platform.WatchRuns(ctx))
	if d := s.detail(robs); d.Status != run.Failed || *d.Error != string(run.Silent) {
		t.Errorf("%+v", d.View)
	}
}

// TestSilence: streams that leave nothing in the store are signs of life, too.
func TestSilence(t *testing.T) {
	s := set(t, false)
	_, _ = s.Connect(s.bot)
	id, message := s.start(), uuid.NewString()
	for range 10 {
		s.Clock.Advance(time.Hour)
		s.does(id, run.Stream{MessageID: message, Content: "x"})
		s.must(s.Platform.WatchRuns(ctx))
	}
	s.Clock.Advance(run.SilentFor - time.Minute)
	s.must(s.Platform.WatchRuns(ctx))
	s.does(id, run.Status{Text: "still there"})
	s.Clock.Advance(run.SilentFor)
	s.must(s.Platform.WatchRuns(ctx))
	if d := s.detail(id); *d.Error != string(run.Silent) {
		t.Errorf("%+v", d.View)
	}
}

// TestAgentIsSentAway: it says nothing more in a room that it is no member of.
func TestAgentIsSentAway(t *testing.T) {
	s := set(t, true)
	_, _ = s.Connect(s.bot)
	talking, quiet := s.start(), s.start()
	s.Relays.Take()
	s.must(s.Platform.Kick(ctx, s.boss, s.room, s.bot.ID, ""))
	err := s.act(s.bot, talking, run.Stream{MessageID: uuid.NewString(), Content: "still here", Done: true})
	actortest.Wants(t, "a message at once", err, kernel.CodeNotFound)
	if n := len(s.outbox()); n != 0 {
		s.Eventually("the promise is gone", func() bool { return len(s.outbox()) == 0 })
	}
	s.Clock.Advance(3 * time.Second)
	s.Relays.Take()
	actortest.Wants(t, "a status", s.act(s.bot, talking, run.Status{Text: "x"}), kernel.CodeNotFound)
	if events := s.Relays.Take(); names(events) != "error" {
		t.Errorf("the room heard %s", names(events))
	}
	s.must(s.Platform.WatchRuns(ctx))
	for _, id := range []string{talking, quiet} {
		if d := s.detail(id); d.Status != run.Failed || *d.Error != string(run.Left) {
			t.Errorf("%+v", d.View)
		}
		if _, err := s.Platform.Run(ctx, s.bot, id); err != nil {
			t.Errorf("its own run: %v", err)
		}
	}
}

// TestPromisedMessageIsPosted although the server fails between the run's commit and the agency's.
func TestPromisedMessageIsPosted(t *testing.T) {
	for name, fault := range map[string]storetest.Fault{"refused": storetest.FailBefore, "reply lost": storetest.LoseReply} {
		t.Run(name, func(t *testing.T) {
			s := set(t, false)
			id, message := s.start(), uuid.NewString()
			s.Faults.Script(0, fault)
			s.does(id, run.Stream{MessageID: message, Content: "kept", Done: true})
			if fault == storetest.FailBefore && len(s.outbox()) != 1 {
				t.Fatalf("%d promises", len(s.outbox()))
			}
			s.Crash()
			s.Eventually("the promise is kept", func() bool { return len(s.outbox()) == 0 })
			if m := s.message(message); m.Content != "kept" || m.SenderUsername != "bot" {
				t.Errorf("%+v", m)
			}
			s.does(id, run.Stream{MessageID: message, Content: "kept", Done: true})
			page, err := s.Platform.Messages(ctx, s.boss, s.room, platform.History{After: s.trigger.ID})
			if err != nil || len(page) != 1 {
				t.Errorf("%d messages, %v", len(page), err)
			}
		})
	}
}

// TestEndsOfOthers: of the agency, of the agent, of an account.
func TestEndsOfOthers(t *testing.T) {
	s := set(t, false)
	_, _ = s.Connect(s.bot)
	done, open, robs := s.start(), s.start(), uuid.NewString()
	s.does(done, run.Complete{Transcript: run.ReadTranscript([]byte(`[{"type":"own"}]`))})
	s.must(s.Platform.StartRun(ctx, s.rob, robs, s.room, ""))
	s.does(open, run.ToolCall{ID: "1", Tool: "t"})
	s.must(s.Platform.DeleteAgent(ctx, s.owner, s.rob.ID))
	if d := s.detail(robs); d.Status != run.Failed || *d.Error != string(run.Deleted) || d.Agent != "deleted" || d.DisplayName != "Deleted account" {
		t.Errorf("%+v", d.View)
	}
	if views, err := s.Platform.Runs(ctx, s.boss, s.room, platform.RunQuery{}); err != nil || len(views) != 3 {
		t.Errorf("%d runs, %v", len(views), err)
	}
	s.must(s.Platform.DeleteAgency(ctx, s.boss, s.room))
	s.Eventually("the clean-up is over", func() bool {
		n, err := s.Platform.PendingErrands(ctx)
		return err == nil && n == 0
	})
	for _, collection := range []string{persistence.CollectionRun, persistence.CollectionAgencyRun, persistence.CollectionRunning,
		persistence.CollectionAgentRunning, persistence.CollectionRunEntry, persistence.CollectionTranscript, persistence.CollectionAlias} {
		rows, err := s.Store.Documents(ctx, collection, persistence.Range{})
		if err != nil || len(rows) != 0 {
			t.Errorf("%s: %d rows are left, %v", collection, len(rows), err)
		}
	}
	for _, id := range []string{done, open, robs} {
		_, err := s.Platform.Run(ctx, s.boss, id)
		actortest.Wants(t, "a run of no agency", err, kernel.CodeNotFound)
		actortest.Wants(t, "an act", s.act(s.bot, id, run.Status{Text: "x"}), kernel.CodeNotFound)
	}
}

// TestAtOnce: of many who do the same at once, exactly one wins.
func TestAtOnce(t *testing.T) {
	s := set(t, false)
	const n = 16
	race := func(do func(i int) error) (won []int) {
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				if err := do(i); err == nil {
					mu.Lock()
					won = append(won, i)
					mu.Unlock()
				} else if code := kernel.AsError(err).Code; code != kernel.CodeTaken {
					t.Errorf("%d: %v", i, err)
				}
			})
		}
		wg.Wait()
		if len(won) != 1 {
			t.Fatalf("%d won", len(won))
		}
		return won
	}
	id := s.start()
	s.does(id, run.Ask{ID: "p"})
	w := race(func(i int) error {
		return s.act(s.boss, id, run.Answer{PermissionID: "p", Decision: fmt.Sprint("no ", i)})
	})
	if d := s.detail(id); *d.Permissions[0].Decision != fmt.Sprint("no ", w[0]) {
		t.Errorf("%+v", d.Permissions[0])
	}
	w = race(func(i int) error { return s.act(s.bot, id, run.Complete{Summary: fmt.Sprint(i)}) })
	if d := s.detail(id); *d.Summary != fmt.Sprint(w[0]) {
		t.Errorf("%+v", d.View)
	}
	agents := make([]*platform.Identity, n)
	for i := range agents {
		agents[i] = s.agent(fmt.Sprintf("agent-%d", i))
	}
	id = uuid.NewString()
	w = race(func(i int) error { return s.Platform.StartRun(ctx, agents[i], id, s.room, "") })
	if d := s.detail(id); d.AgentID != agents[w[0]].ID {
		t.Errorf("%+v", d.View)
	}
	id = s.start()
	message := uuid.NewString()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if err := s.act(s.bot, id, run.Stream{MessageID: message, Content: "once", Done: true}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	s.Eventually("all is posted", func() bool { return len(s.outbox()) == 0 })
	page, err := s.Platform.Messages(ctx, s.boss, s.room, platform.History{After: s.trigger.ID})
	if err != nil || len(page) != 1 {
		t.Errorf("%d messages, %v", len(page), err)
	}
}

// TestRefusedCommit: what the store did not take has not happened, and nobody was told.
func TestRefusedCommit(t *testing.T) {
	s := set(t, false)
	id := s.start()
	s.Relays.Take()
	s.Faults.Script(storetest.FailBefore)
	actortest.Wants(t, "refused", s.act(s.bot, id, run.Complete{Summary: "lost"}), kernel.CodeUnavailable)
	if d := s.detail(id); d.Status != run.Running || len(s.Relays.Take()) != 0 {
		t.Errorf("%+v", d.View)
	}
	s.does(id, run.Complete{Summary: "kept"})
	var conflict *kernel.Error
	if err := s.act(s.bot, id, run.Complete{}); !errors.As(err, &conflict) || conflict.Message != "this run has ended" {
		t.Error(err)
	}
}
