package run_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"parley/actors/actortest"
	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/platform"
	"parley/actors/run"
	"parley/persistence"
)

// TestWholeRun: a run as agents perform it (clients.md 3.5), and everything that is to be read of it.
func TestWholeRun(t *testing.T) {
	s := set(t, true)
	_, socket := s.Connect(s.bot)
	id, message := s.start(), uuid.NewString()
	s.must(s.Platform.StartRun(ctx, s.bot, id, s.room, s.trigger.ID)) // once more
	s.does(id, run.Status{Text: "thinking"})
	s.does(id, run.Status{Text: "thinking"})
	s.does(id, run.ToolCall{ID: "call 1", Tool: "/echo", Input: "hi <b>"})
	s.does(id, run.ToolResult{ID: "call 1", Tool: "/echo", Output: "hi", Duration: "12ms"})
	s.does(id, run.Stream{MessageID: message, Content: "Hel", Delta: "Hel"})
	s.does(id, run.Stream{MessageID: message, Content: "Hello", Delta: "lo"})
	s.does(id, run.Ask{ID: "p1", Action: "delete", Description: "all of it"})
	open, err := s.Platform.RunningRuns(ctx, s.member, s.room)
	if err != nil || len(open) != 1 || open[0].ID != id || open[0].Status != run.Running || *open[0].LastStatus != "thinking" ||
		len(open[0].Permissions) != 1 || open[0].Permissions[0].Description != "all of it" || open[0].Agent != "bot" {
		t.Fatalf("%+v, %v", open, err)
	}
	s.must(s.act(s.asker, id, run.Answer{PermissionID: "p1", Decision: "approve", Message: "go"}))
	if got := socket.Named(run.EventAnswer); len(got) != 1 || !strings.Contains(string(got[0].Data), `"decision":"approve","message":"go","permissionId":"p1","runId":"`+id) {
		t.Errorf("the agent heard %v", got)
	}
	if got := kinds(t, s.detail(id).Transcript); got != "start status tool-call tool-result stream-start permission-request permission-response" {
		t.Errorf("the own record is %s", got)
	}
	s.does(id, run.Stream{MessageID: message, Content: "Hello!", Done: true, Metadata: json.RawMessage(`{"skill":"x","run_id":"forged"}`)})
	s.does(id, run.Complete{Summary: "said hello", Transcript: run.ReadTranscript([]byte(`[ {"ts":0,"type":"own","n":1.50} ]`))})

	events := s.Relays.Take()
	if got := names(events); got != "start status status tool-call tool-result stream stream permission permission stream complete" {
		t.Errorf("the room heard %s", got)
	}
	for _, e := range events {
		if e.Agency != s.room || e.Field("runId") != id || e.Field("agencyId") != s.room || e.Field("agency_id") != s.room ||
			e.Field("agentId") != s.bot.ID || e.Field("username") != "bot" || e.Field("displayName") != "bot" {
			t.Errorf("%s lacks who it is: %s", e.Name, e.Data)
		}
	}
	if events[0].Field("triggerMessageId") != s.trigger.ID || events[3].Field("status") != "running" || events[4].Field("duration") != "12ms" ||
		events[6].Field("content") != "Hello" || events[6].Field("delta") != "lo" || events[10].Field("summary") != "said hello" ||
		events[7].Field("status") != "pending" || events[8].Field("status") != "approved" || events[8].Field("answeredByUsername") != "asker" {
		t.Errorf("%+v", events)
	}
	d := s.detail(id)
	if string(d.Transcript) != `[{"ts":0,"type":"own","n":1.50}]` || d.Status != run.Completed || *d.Summary != "said hello" || d.Error != nil ||
		d.EndedAt == nil || *d.TriggeredBy != s.trigger.ID || d.Permissions[0].Status != run.Approved || *d.Permissions[0].AnsweredBy != s.asker.ID {
		t.Errorf("%+v\n%s", d.View, d.Transcript)
	}
	if open, err := s.Platform.RunningRuns(ctx, s.member, s.room); err != nil || len(open) != 0 {
		t.Errorf("%d open, %v", len(open), err)
	}
	m := s.message(message)
	if m.Content != "Hello!" || string(m.Metadata) != `{"run_id":"`+id+`","skill":"x"}` || m.SenderID != s.bot.ID || m.Type != "chat" {
		t.Errorf("%+v", m)
	}
}

// message finds a message of the room in its history.
func (s *stage) message(id string) *agency.Message {
	s.T.Helper()
	m, err := agency.ReadMessage(ctx, s.Store, s.room, id)
	s.must(err)
	return m
}

// TestMessageWithClientsID: such a message is edited, deleted, replied to and paged from like any other.
func TestMessageWithClientsID(t *testing.T) {
	s := set(t, false)
	id, message := s.start(), uuid.NewString()
	s.does(id, run.Stream{MessageID: message, Content: "first", Done: true})
	s.does(id, run.Stream{MessageID: message, Content: "again", Done: true})
	m := s.message(message)
	later := s.Post(s.asker, s.room, "later")
	page, err := s.Platform.Messages(ctx, s.asker, s.room, platform.History{After: message})
	if err != nil || len(page) != 1 || !strings.Contains(string(page[0]), later.ID) {
		t.Errorf("after: %s, %v", page, err)
	}
	page, err = s.Platform.Messages(ctx, s.asker, s.room, platform.History{Before: message})
	if err != nil || len(page) != 1 || !strings.Contains(string(page[0]), s.trigger.ID) {
		t.Errorf("before: %s, %v", page, err)
	}
	_, err = s.Platform.Messages(ctx, s.asker, s.room, platform.History{Before: uuid.NewString()})
	actortest.Wants(t, "before nothing", err, kernel.CodeInvalid)
	if _, _, err := s.Platform.Post(ctx, s.asker, s.room, agency.NewMessage{Content: "re", ReplyTo: message}); err != nil {
		t.Errorf("reply: %v", err)
	}
	_, err = s.Platform.EditMessage(ctx, s.asker, s.room, message, "x")
	actortest.Wants(t, "another's edit", err, kernel.CodeForbidden)
	doc, err := s.Platform.EditMessage(ctx, s.bot, s.room, message, "second")
	if edited, _ := agency.DecodeMessage(doc); err != nil || edited.Content != "second" || edited.ID != message || edited.Seq != m.Seq || string(edited.Metadata) != string(m.Metadata) {
		t.Errorf("%s, %v", doc, err)
	}
	_, err = s.Platform.EditMessage(ctx, s.bot, s.room, uuid.NewString(), "x")
	actortest.Wants(t, "edit of nothing", err, kernel.CodeNotFound)
	post := func(who *platform.Identity) error {
		_, err := kernel.Ask[*agency.Posted](ctx, s.Local, agency.Ref(s.room), agency.PostRun{Who: who.Sender,
			RunMessage: agency.RunMessage{ID: message, RunID: id, Content: "x"}})
		return err
	}
	actortest.Wants(t, "another's id", post(s.rob), kernel.CodeTaken)
	actortest.Wants(t, "a stranger's", post(s.stranger), kernel.CodeForbidden)
	s.must(post(s.bot))
	s.must(s.Platform.DeleteMessage(ctx, s.mod, s.room, message))
	actortest.Wants(t, "deleted since", post(s.bot), kernel.CodeGone)
	_, err = s.Platform.EditMessage(ctx, s.bot, s.room, message, "x")
	actortest.Wants(t, "edit of a deleted one", err, kernel.CodeNotFound)
}

// TestTextsAreCut: decisions 21, 31 and 40.
func TestTextsAreCut(t *testing.T) {
	s := set(t, false)
	id, message := s.start(), uuid.NewString()
	s.Relays.Take()
	long := strings.Repeat("é\"", 400<<10)
	s.does(id, run.Stream{MessageID: message, Content: long, Delta: "\""})
	s.does(id, run.Stream{MessageID: message, Content: long, Done: true, Metadata: json.RawMessage(`{"a":"` + strings.Repeat("x", agency.MaxRunMetadata) + `"}`)})
	s.does(id, run.ToolCall{ID: "1", Tool: "patch", Input: long})
	s.does(id, run.Ask{ID: "p", Action: long, Description: long})
	s.does(id, run.Complete{Summary: long, Transcript: run.ReadTranscript([]byte(`[{"type":"tool-call","input":"` + strings.Repeat("x", 3<<20) + `"},{"type":"b","x":"` + strings.Repeat("x", 2<<20) + `"}]`))})
	m := s.message(message)
	if len(m.Content) > agency.MaxRunContent || len(m.Content) < agency.MaxRunContent-4 || !strings.HasPrefix(long, m.Content) || string(m.Metadata) != `{"run_id":"`+id+`","truncated":true}` {
		t.Errorf("%d bytes, %.200s", len(m.Content), m.Metadata)
	}
	for _, e := range s.Relays.Take() {
		if e.Field("status") == string(run.Expired) {
			continue // what has become of the prompt
		}
		var v struct{ Truncated bool }
		if err := json.Unmarshal(e.Data, &v); err != nil || len(e.Data) > run.MaxRelay || len(e.Data) < run.MaxRelay/4 && e.Name != run.EventComplete || !v.Truncated {
			t.Errorf("%s: %d bytes, %v, %v", e.Name, len(e.Data), v.Truncated, err)
		}
	}
	d := s.detail(id)
	if got := kinds(t, d.Transcript); got != "tool-call truncated" || len(*d.Summary) > run.MaxSummary || len(d.Transcript) < 3<<20 {
		t.Errorf("%s, %d bytes", got, len(d.Transcript))
	}
}

// TestStartIsRefused says who may start what.
func TestStartIsRefused(t *testing.T) {
	s := set(t, true)
	id := s.start()
	outside := s.Room(s.boss, "Other", false)
	for _, c := range []struct {
		name          string
		who           *platform.Identity
		id, room, msg string
		code          kernel.Code
	}{
		{"no UUID", s.bot, "run-1", s.room, "", kernel.CodeInvalid},
		{"a user", s.member, uuid.NewString(), s.room, "", kernel.CodeForbidden},
		{"no agency", s.bot, uuid.NewString(), "", "", kernel.CodeInvalid},
		{"an unknown agency", s.bot, uuid.NewString(), uuid.NewString(), "", kernel.CodeNotFound},
		{"an agency that is none", s.bot, uuid.NewString(), s.room + "/" + s.bot.ID, "", kernel.CodeNotFound},
		{"not a member", s.bot, uuid.NewString(), outside, "", kernel.CodeForbidden},
		{"another's id", s.rob, id, s.room, "", kernel.CodeTaken},
		{"in another agency", s.bot, id, outside, "", kernel.CodeTaken},
		{"long trigger", s.bot, uuid.NewString(), s.room, strings.Repeat("x", 129), kernel.CodeInvalid},
	} {
		actortest.Wants(t, c.name, s.Platform.StartRun(ctx, c.who, c.id, c.room, c.msg), c.code)
	}
	for _, trigger := range []string{"", "nonsense", uuid.NewString(), agency.NewMessageID(1, 99)} {
		s.must(s.Platform.StartRun(ctx, s.bot, uuid.NewString(), s.room, trigger))
	}
	for i := 5; i < run.MaxOpenByAgent; i++ {
		s.start()
	}
	actortest.Wants(t, "one too many", s.Platform.StartRun(ctx, s.bot, uuid.NewString(), s.room, ""), kernel.CodeLimited)
	s.must(s.Platform.StartRun(ctx, s.rob, uuid.NewString(), s.room, ""))
	s.fill(s.boss.ID) // another agency
	s.must(s.Platform.StartRun(ctx, s.rob, uuid.NewString(), s.room, ""))
	s.fill(s.room)
	actortest.Wants(t, "one too many for the agency", s.Platform.StartRun(ctx, s.rob, uuid.NewString(), s.room, ""), kernel.CodeLimited)
	s.must(s.Platform.StartRun(ctx, s.rob, s.empty(s.room), s.room, ""))
	s.does(id, run.Complete{})
	s.must(s.Platform.StartRun(ctx, s.bot, uuid.NewString(), s.room, ""))
}

// fill writes the documents of as many open runs as an agency can have.
func (s *stage) fill(agencyID string) { s.openRuns(agencyID, []byte{}) }

// empty takes them away again, and returns a new id.
func (s *stage) empty(agencyID string) string {
	s.openRuns(agencyID, nil)
	return uuid.NewString()
}

func (s *stage) openRuns(agencyID string, data []byte) {
	s.T.Helper()
	lease, err := s.Store.Acquire(ctx, "test/runs", 0)
	s.must(err)
	b := &persistence.Batch{Stream: "test/runs", Epoch: lease.Epoch, Expect: lease.Last}
	for i := range run.MaxOpenByAgency {
		b.Documents = append(b.Documents, persistence.DocumentOp{Collection: persistence.CollectionRunning, Key: fmt.Sprintf("%s/r%d", agencyID, i), Data: data})
	}
	s.must(s.Store.Append(ctx, []*persistence.Batch{b})[0])
}

func TestValuesAreChecked(t *testing.T) {
	s := set(t, false)
	id := s.start()
	long := strings.Repeat("x", 5000)
	for i, what := range []any{
		run.ToolCall{Tool: "x"}, run.ToolCall{ID: "x"}, run.ToolCall{ID: long, Tool: "x"}, run.ToolCall{ID: "x", Tool: long},
		run.ToolResult{Tool: "x"}, run.ToolResult{ID: "x", Tool: "x", Status: "odd"}, run.ToolResult{ID: "x", Tool: "x", Duration: long},
		run.Ask{}, run.Ask{ID: long},
		run.Stream{}, run.Stream{MessageID: "x"}, run.Stream{MessageID: s.trigger.ID, Content: "x", Done: true},
		run.Stream{MessageID: uuid.NewString(), Content: "x", Done: true, Metadata: json.RawMessage(`[1]`)},
		run.Stream{MessageID: uuid.NewString(), Content: "x", Done: true, Metadata: json.RawMessage(`{"a":` + strings.Repeat("[", 99) + strings.Repeat("]", 99) + `}`)},
	} {
		actortest.Wants(t, fmt.Sprintf("%d %T", i, what), s.act(s.bot, id, what), kernel.CodeInvalid)
	}
	for i, what := range []any{
		run.Interrupt{}, run.Interrupt{Action: "pause"}, run.Interrupt{Action: run.Adjust}, run.Interrupt{Action: run.Stop, Message: long},
		run.Answer{PermissionID: "x"}, run.Answer{PermissionID: "x", Decision: long}, run.Answer{PermissionID: "x", Decision: "deny", Message: long},
	} {
		actortest.Wants(t, fmt.Sprintf("%d %T", i, what), s.act(s.boss, id, what), kernel.CodeInvalid)
	}
	actortest.Wants(t, "unknown permission", s.act(s.boss, id, run.Answer{PermissionID: "x", Decision: "deny"}), kernel.CodeNotFound)
	actortest.Wants(t, "unknown act", s.act(s.bot, id, 7), kernel.CodeInternal)
	actortest.Wants(t, "no id", s.act(s.bot, "x", run.Status{}), kernel.CodeNotFound)
	if got := kinds(t, s.detail(id).Transcript); got != "start" {
		t.Errorf("refused things are recorded: %s", got)
	}
	s.does(id, run.Stream{MessageID: uuid.NewString(), Content: " ", Done: true}) // nothing to post
	if n := len(s.outbox()); n != 0 {
		t.Errorf("%d promises", n)
	}
}

func (s *stage) outbox() []persistence.OutboxEntry {
	s.T.Helper()
	list, err := s.Store.Outbox(ctx, "", 100)
	s.must(err)
	return list
}

// TestRights says who may see a run, and interrupt and answer it (decision 32).
func TestRights(t *testing.T) {
	s := set(t, true)
	admin, left := s.User("adm"), s.User("left")
	s.Join(s.room, admin, left)
	_, err := s.Platform.SetRole(ctx, s.boss, s.room, admin.ID, "admin")
	s.must(err)
	s.trigger = s.Post(left, s.room, "do it")
	mine := s.start()
	s.must(s.Platform.Leave(ctx, left, s.room))
	s.must(s.Platform.Leave(ctx, s.owner, s.room)) // it still owns the agent
	s.trigger = s.Post(s.asker, s.room, "do it")
	id := s.start()
	for _, c := range []struct {
		name       string
		who        *platform.Identity
		run        string
		sees, acts bool
	}{
		{"the agency's owner", s.boss, id, true, true}, {"admin", admin, id, true, true}, {"moderator", s.mod, id, true, true},
		{"the agent's owner", s.owner, id, true, true}, {"who triggered it", s.asker, id, true, true},
		{"who triggered another", s.asker, mine, true, false}, {"who triggered it and left", left, mine, false, false},
		{"a member", s.member, id, true, false}, {"the agent itself", s.bot, id, true, false}, {"another agent", s.rob, id, true, false},
		{"a stranger", s.stranger, id, false, false}, {"nobody's run", s.boss, uuid.NewString(), false, false},
	} {
		s.does(id, run.Ask{ID: c.name, Action: "x"})
		s.does(mine, run.Ask{ID: c.name, Action: "x"})
		_, err := s.Platform.Run(ctx, c.who, c.run)
		if (err == nil) != c.sees {
			t.Errorf("%s sees it: %v", c.name, err)
		}
		want := kernel.CodeForbidden
		if !c.sees {
			want = kernel.CodeNotFound
			actortest.Wants(t, c.name+" sees", err, want)
		}
		for _, what := range []any{run.Answer{PermissionID: c.name, Decision: "deny"}, run.Interrupt{Action: run.Adjust, Message: "m"}} {
			if err := s.act(c.who, c.run, what); c.acts && err != nil {
				t.Errorf("%s, %T: %v", c.name, what, err)
			} else if !c.acts {
				actortest.Wants(t, fmt.Sprintf("%s, %T", c.name, what), err, want)
			}
		}
	}
	for _, who := range []*platform.Identity{s.rob, s.boss, s.stranger} {
		for _, what := range []any{run.Status{Text: "x"}, run.Stream{MessageID: uuid.NewString(), Content: "x", Done: true}, run.Complete{}, run.Fail{}} {
			actortest.Wants(t, fmt.Sprintf("%s, %T", who.Username, what), s.act(who, id, what), kernel.CodeNotFound)
		}
	}
	_, err = s.Platform.Runs(ctx, s.stranger, s.room, platform.RunQuery{})
	actortest.Wants(t, "a stranger lists", err, kernel.CodeNotFound)
	_, err = s.Platform.RunningRuns(ctx, s.stranger, s.room)
	actortest.Wants(t, "a stranger lists the open ones", err, kernel.CodeNotFound)
	var e *kernel.Error
	if err := s.act(s.rob, id, run.Status{}); !errors.As(err, &e) || e.Message != "there is no such run" {
		t.Errorf("%v tells something", err)
	}
}

func TestListing(t *testing.T) {
	s := set(t, false)
	var ids []string
	for i := range 12 {
		s.Clock.Advance(1e9)
		who, id := s.bot, uuid.NewString()
		if i%3 == 0 {
			who = s.rob
		}
		s.must(s.Platform.StartRun(ctx, who, id, s.room, ""))
		if i%2 == 0 {
			s.must(s.act(who, id, run.Complete{Summary: fmt.Sprint(i)}))
		}
		ids = append([]string{id}, ids...)
	}
	list := func(q platform.RunQuery) string {
		t.Helper()
		views, err := s.Platform.Runs(ctx, s.member, s.room, q)
		s.must(err)
		var at []string
		for _, v := range views {
			for i, id := range ids {
				if id == v.ID {
					at = append(at, fmt.Sprint(i))
				}
			}
		}
		return strings.Join(at, " ")
	}
	for _, c := range []struct {
		q    platform.RunQuery
		want string
	}{
		{platform.RunQuery{}, "0 1 2 3 4 5 6 7 8 9 10 11"}, {platform.RunQuery{Limit: 3}, "0 1 2"}, {platform.RunQuery{Limit: 3, Offset: 10}, "10 11"},
		{platform.RunQuery{Offset: 12}, ""}, {platform.RunQuery{State: "running"}, "0 2 4 6 8 10"}, {platform.RunQuery{State: "running", Limit: 2, Offset: 1}, "2 4"},
		{platform.RunQuery{Agent: "@ROB"}, "2 5 8 11"}, {platform.RunQuery{Agent: s.rob.ID, State: "completed"}, "5 11"}, {platform.RunQuery{Agent: "nobody"}, ""},
	} {
		if got := list(c.q); got != c.want {
			t.Errorf("%+v lists %q, want %q", c.q, got, c.want)
		}
	}
	_, err := s.Platform.Runs(ctx, s.member, s.room, platform.RunQuery{State: "odd"})
	actortest.Wants(t, "odd state", err, kernel.CodeInvalid)
	_, err = s.Platform.Runs(ctx, s.stranger, s.room, platform.RunQuery{})
	actortest.Wants(t, "a stranger", err, kernel.CodeForbidden)
}

// TestRunInDirectMessage: a direct message is an agency of its own kind, and its two members are all who see the run.
func TestRunInDirectMessage(t *testing.T) {
	s := set(t, false)
	dm, _, err := s.Platform.OpenDM(ctx, s.asker, s.bot.ID)
	s.must(err)
	s.room, s.trigger = dm.AgencyID, s.Post(s.asker, dm.AgencyID, "do it")
	id, message := s.start(), uuid.NewString()
	s.does(id, run.Stream{MessageID: message, Content: "done", Done: true})
	if m := s.message(message); !m.DM || m.Content != "done" {
		t.Errorf("%+v", m)
	}
	for who, sees := range map[*platform.Identity]bool{s.asker: true, s.bot: true, s.owner: true, s.boss: false, s.rob: false} {
		if _, err := s.Platform.Run(ctx, who, id); (err == nil) != sees {
			t.Errorf("%s: %v", who.Username, err)
		}
	}
	s.must(s.act(s.asker, id, run.Interrupt{Action: run.Stop}))
	r, err := s.Platform.React(ctx, s.asker, s.room, message, "👍", false)
	if err != nil || r.Count != 1 || r.MessageID != message {
		t.Errorf("%+v, %v", r, err)
	}
	_, err = s.Platform.React(ctx, s.asker, s.room, uuid.NewString(), "👍", false)
	actortest.Wants(t, "a reaction to nothing", err, kernel.CodeNotFound)
	s.must(s.Platform.PurgeDM(ctx, s.asker, s.room))
	actortest.Wants(t, "posted again after the purge", s.repost(id, message), kernel.CodeGone)
}

func (s *stage) repost(id, message string) error {
	_, err := kernel.Ask[*agency.Posted](ctx, s.Local, agency.Ref(s.room), agency.PostRun{Who: s.bot.Sender,
		RunMessage: agency.RunMessage{ID: message, RunID: id, Content: "x"}})
	return err
}
