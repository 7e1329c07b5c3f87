package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"parley/e2e/client"
)

// TestRunLimits: what is refused of runs over a socket, and what is cut (decision 31).
func TestRunLimits(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann := user(t, api, "ann")
	g := ann.room(t, "room", false)
	_, token := agentIn(t, api, ann, g)
	_, otherToken := agentIn(t, api, ann, g)
	bot, other, s := opened(t, client.DialPlain, api.Base, token), opened(t, client.DialSocketIO, api.Base, otherToken), ann.plain(t)
	joined(t, s, g)
	call := func(who *client.Socket, event string, data map[string]any) client.Ack {
		t.Helper()
		var ack client.Ack
		if err := who.Call(soon(t), "agent-run-"+event, data, &ack); err != nil {
			t.Fatal(err)
		}
		return ack
	}
	ids := make([]string, 20)
	for i := range ids {
		ids[i] = uuid.NewString()
		if ack := call(bot, "start", map[string]any{"runId": ids[i], "agencyId": g.ID}); !ack.OK {
			t.Fatalf("run %d: %+v", i, ack)
		}
	}
	for name, c := range map[string]struct {
		who   *client.Socket
		event string
		data  map[string]any
		want  string
	}{
		"one run too many":     {bot, "start", map[string]any{"runId": uuid.NewString(), "agencyId": g.ID}, "20 open runs"},
		"a user's":             {s, "start", map[string]any{"runId": uuid.NewString(), "agencyId": g.ID}, "only agents"},
		"no id":                {bot, "start", map[string]any{"agencyId": g.ID}, "runId is required"},
		"an odd id":            {bot, "start", map[string]any{"runId": "mine", "agencyId": g.ID}, "must be a UUID"},
		"another's id":         {other, "start", map[string]any{"runId": ids[0], "agencyId": g.ID}, "taken"},
		"another's run":        {other, "status", map[string]any{"runId": ids[0], "status": "x"}, "no such run"},
		"another's end":        {other, "complete", map[string]any{"runId": ids[0], "summary": "x", "transcript": []any{}}, "no such run"},
		"a user's step":        {s, "stream", map[string]any{"runId": ids[0], "messageId": uuid.NewString(), "content": "x"}, "no such run"},
		"no tool":              {bot, "tool-call", map[string]any{"runId": ids[0], "toolCallId": "1"}, "tool is required"},
		"an odd message":       {bot, "stream", map[string]any{"runId": ids[0], "messageId": "m", "content": "x"}, "messageId must be a UUID"},
		"an odd action":        {s, "interrupt", map[string]any{"runId": ids[0], "action": "explode"}, "stop or adjust"},
		"an unknown prompt":    {s, "permission-response", map[string]any{"runId": ids[0], "permissionId": "p", "decision": "approve"}, "not asked"},
		"an unknown run":       {bot, "status", map[string]any{"runId": uuid.NewString(), "status": "x"}, "no such run"},
		"text that is no text": {bot, "status", map[string]any{"runId": ids[0], "status": 5}, "status must be a string"},
	} {
		if ack := call(c.who, c.event, c.data); ack.OK || !strings.Contains(ack.Error, c.want) {
			t.Errorf("%s: %+v", name, ack)
		}
	}
	if ack := call(bot, "tool-result", map[string]any{"runId": ids[0], "toolCallId": "1", "tool": "diff", "output": strings.Repeat("x", 7<<20)}); !ack.OK {
		t.Fatalf("%+v", ack)
	}
	f, err := s.Wait(soon(t), "the result", func(f client.Frame) bool { return f.Event == "agent-run-tool-result" })
	if e := (runEvent{}); err != nil || json.Unmarshal(f.Data, &e) != nil || !e.Truncated || len(f.Data) > 257<<10 || len(e.Output) < 200<<10 {
		t.Errorf("%d bytes of the result are relayed, %v", len(f.Data), err)
	}
	// A text that can't be a run's is told without an ack once, however often it is said.
	bad := map[string]any{"runId": uuid.NewString(), "status": "x"}
	for range 5 {
		if err := bot.Emit("agent-run-status", bad); err != nil {
			t.Fatal(err)
		}
	}
	call(bot, "status", bad)
	errors := 0
	for _, f := range bot.Log() {
		if f.Event == "error" {
			errors++
		}
	}
	if errors != 1 {
		t.Errorf("%d errors", errors)
	}
}

// TestRunAcks: on the agent's own socket, an ack comes before the event that it caused, in both formats.
func TestRunAcks(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann := user(t, api, "ann")
	g := ann.room(t, "room", false)
	_, token := agentIn(t, api, ann, g)
	for name, dial := range map[string]dialer{"plain": client.DialPlain, "Socket.IO": client.DialSocketIO} {
		s, id := opened(t, dial, api.Base, token), uuid.NewString()
		joined(t, s, g)
		steps := []struct {
			event string
			data  map[string]any
		}{
			{"agent-run-start", map[string]any{"agencyId": g.ID}}, {"agent-run-status", map[string]any{"status": "x"}},
			{"agent-run-tool-call", map[string]any{"toolCallId": "1", "tool": "t"}}, {"agent-run-tool-result", map[string]any{"toolCallId": "1", "tool": "t"}},
			{"agent-run-stream", map[string]any{"messageId": uuid.NewString(), "content": "x"}}, {"agent-run-permission", map[string]any{"permissionId": "p", "action": "a"}},
			{"agent-run-error", map[string]any{"error": "gave up", "transcript": []any{}}},
		}
		for _, step := range steps {
			step.data["runId"] = id
			call, _, err := s.Begin(step.event, step.data)
			if err != nil {
				t.Fatal(err)
			}
			acked := false
			if _, err := s.Wait(soon(t), step.event, func(f client.Frame) bool {
				acked = acked || f.Ack == call && string(f.Data) == `{"ok":true}`
				return f.Event == step.event && strings.Contains(string(f.Data), id)
			}); err != nil || !acked {
				t.Errorf("%s, %s: acked before its event: %v, %v", name, step.event, acked, err)
			}
		}
	}
}

// TestRunFlood: an agent that sends as much as it can holds up nobody else, and cuts nobody off.
func TestRunFlood(t *testing.T) {
	t.Parallel()
	api := common(t)
	ann := user(t, api, "ann")
	g := ann.room(t, "room", false)
	_, token := agentIn(t, api, ann, g)
	bot := opened(t, client.DialPlain, api.Base, token)
	sockets := []*client.Socket{ann.plain(t), ann.socketIO(t)}
	for _, s := range sockets {
		joined(t, s, g)
	}
	id, message := uuid.NewString(), uuid.NewString()
	begin := func(event string, data map[string]any) <-chan client.Frame {
		t.Helper()
		data["runId"], data["agencyId"] = id, g.ID
		_, answer, err := bot.Begin("agent-run-"+event, data)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	begin("start", map[string]any{})
	var last <-chan client.Frame
	flooded := make(chan struct{})
	go func() {
		defer close(flooded)
		for i := range 60 {
			begin("stream", map[string]any{"messageId": message, "content": fmt.Sprint(i, strings.Repeat("x", 1<<20)), "done": false})
			last = begin("tool-result", map[string]any{"toolCallId": fmt.Sprint(i), "tool": "t", "output": strings.Repeat("y", 1<<20)})
		}
	}()
	for i := range 50 {
		for _, s := range sockets {
			if ack, err := s.Send(soon(t), g.ID, fmt.Sprint("still here ", i), ""); err != nil || !ack.OK {
				t.Fatalf("%+v, %v", ack, err)
			}
		}
	}
	<-flooded
	select {
	case f := <-last:
		if !strings.Contains(string(f.Data), `"ok":true`) {
			t.Errorf("acked %s", f.Data)
		}
	case <-soon(t).Done():
		t.Error("the flood was not taken in")
	}
	total := 0
	for _, s := range sockets {
		if _, err := s.Wait(soon(t), "the last result", func(f client.Frame) bool {
			return f.Event == "agent-run-tool-result" && strings.Contains(string(f.Data), `"toolCallId":"59"`)
		}); err != nil {
			t.Fatal(err)
		}
		for _, f := range s.Log() {
			total += len(f.Data)
		}
	}
	if total > 20<<20 {
		t.Errorf("the room was sent %d bytes", total)
	}
}
