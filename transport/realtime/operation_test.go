package realtime

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"parley/actors/agency"
	"parley/actors/kernel"
	"parley/actors/run"
	"parley/actors/session"
)

func TestOperationsDecode(t *testing.T) {
	since := uint64(7)
	for _, tc := range []struct {
		event, data string
		want        any
	}{
		{"join-agency", `{"agencyId":"a"}`, session.Join{AgencyID: "a"}},
		{"join-agency", `{"agency_id":"a","since":7}`, session.Join{AgencyID: "a", Since: &since}},
		{"join-agency", `{"agencyId":"a","since":null,"other":[1]}`, session.Join{AgencyID: "a"}},
		{"leave-agency", `{"agencyId":"a"}`, session.Leave{AgencyID: "a"}},
		{"send-message", `{"agencyId":"a","content":"x","type":null,"silent":true,"clientId":"c","reply_to":"r"}`,
			session.Send{AgencyID: "a", Silent: true, Message: agency.NewMessage{Content: "x", ClientID: "c", ReplyTo: "r"}}},
		{"edit-message", `{"agencyId":"a","message_id":"m","content":"y"}`, session.Edit{AgencyID: "a", MessageID: "m", Content: "y"}},
		{"delete-message", ` {"agencyId":"a","messageId":"m"}`, session.Delete{AgencyID: "a", MessageID: "m"}},
		{"react-message", `{"agencyId":"a","messageId":"m","emoji":"👍"}`, session.React{AgencyID: "a", MessageID: "m", Emoji: "👍"}},
		{"agent-run-start", `{"runId":"r","agencyId":"a","agentId":"x","username":"x","triggerMessageId":null}`, session.StartRun{RunID: "r", AgencyID: "a"}},
		{"agent-run-start", `{"run_id":"r","agency_id":"a","triggerMessageId":"m"}`, session.StartRun{RunID: "r", AgencyID: "a", Trigger: "m"}},
		{"agent-run-status", `{"runId":"r","agencyId":"a","status":"s"}`, session.ActRun{RunID: "r", What: run.Status{Text: "s"}}},
		{"agent-run-tool-call", `{"runId":"r","toolCallId":"c","tool":"/echo","input":"i","status":"running"}`, session.ActRun{RunID: "r", What: run.ToolCall{ID: "c", Tool: "/echo", Input: "i"}}},
		{"agent-run-tool-result", `{"runId":"r","tool_call_id":"c","tool":"t","output":"o","duration":"12ms","status":"error"}`,
			session.ActRun{RunID: "r", What: run.ToolResult{ID: "c", Tool: "t", Output: "o", Duration: "12ms", Status: "error"}}},
		{"agent-run-stream", `{"runId":"r","messageId":"m","content":"ab","delta":"b","done":false}`, session.ActRun{RunID: "r", What: run.Stream{MessageID: "m", Content: "ab", Delta: "b"}}},
		{"agent-run-stream", `{"runId":"r","message_id":"m","content":"ab","done":true,"metadata":{"a":1}}`,
			session.ActRun{RunID: "r", What: run.Stream{MessageID: "m", Content: "ab", Done: true, Metadata: json.RawMessage(`{"a":1}`)}}},
		{"agent-run-permission", `{"runId":"r","permissionId":"p","action":"a","description":"d"}`, session.ActRun{RunID: "r", What: run.Ask{ID: "p", Action: "a", Description: "d"}}},
		{"agent-run-complete", `{"runId":"r","summary":"s","transcript":[{"type":"own"}, 5]}`,
			session.ActRun{RunID: "r", What: run.Complete{Summary: "s", Transcript: run.ReadTranscript([]byte(`[{"type":"own"},5]`))}}},
		{"agent-run-complete", `{"runId":"r","transcript":"no array"}`, session.ActRun{RunID: "r", What: run.Complete{}}},
		{"agent-run-error", `{"runId":"r","error":"e","transcript":[]}`, session.ActRun{RunID: "r", What: run.Fail{Error: "e"}}},
		{"agent-run-interrupt", `{"runId":"r","action":"adjust","message":"m"}`, session.ActRun{RunID: "r", What: run.Interrupt{Action: "adjust", Message: "m"}}},
		{"agent-run-permission-response", `{"runId":"r","permission_id":"p","decision":"approve","message":"m"}`,
			session.ActRun{RunID: "r", What: run.Answer{PermissionID: "p", Decision: "approve", Message: "m"}}},
		{"remove-reaction", `{"agency_id":"a","message_id":"m","emoji":":x:"}`, session.React{AgencyID: "a", MessageID: "m", Emoji: ":x:", Remove: true}},
		{"typing", `{"agency_id":"a","typing":true}`, session.Typing{AgencyID: "a", Typing: true}},
		{"agent-thinking", `{"agencyId":"a","thinking":false,"agentId":"somebody","username":5}`, session.Thinking{AgencyID: "a"}},
		{"agent-thinking", `{"agencyId":"a","thinking":true,"status":"x"}`, session.Thinking{AgencyID: "a", Thinking: true, Status: "x"}},
	} {
		got, err := operations[tc.event].decode([]byte(tc.data))
		if err != nil || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s %s: got %+v, %v, want %+v", tc.event, tc.data, got, err, tc.want)
		}
	}
}

func TestOperationsRefuseWithTheField(t *testing.T) {
	for _, tc := range []struct{ event, data, want string }{
		{"join-agency", ``, "must be an object"},
		{"join-agency", `[]`, "must be an object"},
		{"join-agency", `"a"`, "must be an object"},
		{"join-agency", `{`, "no valid JSON"},
		{"join-agency", `{}`, "agencyId is required"},
		{"join-agency", `{"agencyId":5}`, "agencyId must be a string, not a number"},
		{"join-agency", `{"agencyId":["x"]}`, "agencyId must be a string, not an array"},
		{"join-agency", `{"agencyId":"a","since":-1}`, "since must be a whole number"},
		{"join-agency", `{"agencyId":"a","since":"7"}`, "since must be a whole number"},
		{"join-agency", `{"agencyId":"a/b"}`, "nothing with this agencyId"},
		{"join-agency", `{"agencyId":"` + strings.Repeat("a", maxID+1) + `"}`, "nothing with this agencyId"},
		{"send-message", `{"agencyId":"a","content":{}}`, "content must be a string, not an object"},
		{"send-message", `{"agencyId":"a","silent":"yes"}`, "silent must be a boolean"},
		{"edit-message", `{"agencyId":"a","content":"x"}`, "messageId is required"},
		{"delete-message", `{"messageId":"a"}`, "agencyId is required"},
		{"react-message", `{"agencyId":"a","emoji":"👍"}`, "messageId is required"},
		{"agent-run-start", `{"agencyId":"a"}`, "runId is required"},
		{"agent-run-start", `{"runId":"r"}`, "agencyId is required"},
		{"agent-run-start", `{"runId":"r","agencyId":"a","triggerMessageId":5}`, "triggerMessageId must be a string"},
		{"agent-run-status", `{"status":"s"}`, "runId is required"},
		{"agent-run-status", `{"runId":"a/b","status":"s"}`, "nothing with this runId"},
		{"agent-run-stream", `{"runId":"r","content":5}`, "content must be a string, not a number"},
		{"agent-run-stream", `{"runId":"r","done":"yes"}`, "done must be a boolean"},
		{"agent-run-tool-call", `{"runId":"r","input":{}}`, "input must be a string, not an object"},
		{"agent-run-complete", `[]`, "must be an object"},
		{"agent-run-interrupt", `{"runId":7}`, "runId must be a string"},
		{"remove-reaction", `{"agencyId":"a","messageId":"m","emoji":1}`, "emoji must be a string, not a number"},
		{"typing", `{"agencyId":"a"}`, "typing is required"},
		{"typing", `{"typing":true}`, "agencyId is required"},
		{"typing", `{"agencyId":"a","typing":"yes"}`, "typing must be a boolean, not a string"},
		{"agent-thinking", `{"agencyId":"a","status":"x"}`, "thinking is required"},
		{"agent-thinking", `{"agencyId":"a","thinking":true,"status":1}`, "status must be a string, not a number"},
	} {
		got, err := operations[tc.event].decode([]byte(tc.data))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s %s: got %+v, %v, want an error with %q", tc.event, tc.data, got, err, tc.want)
		}
		if e := kernel.AsError(err); e != nil && e.Code != kernel.CodeInvalid && e.Code != kernel.CodeNotFound {
			t.Errorf("%s %s: code %d", tc.event, tc.data, e.Code)
		}
	}
	if err := unknownOperation(strings.Repeat("x", 500)); len(err.Error()) > 100 {
		t.Errorf("a stranger's word is repeated at length: %s", err)
	}
}

func FuzzOperations(f *testing.F) {
	f.Add("send-message", []byte(`{"agencyId":"a","content":"x","metadata":{"a":1}}`))
	f.Add("join-agency", []byte(`{"agencyId":"a","since":18446744073709551615}`))
	f.Add("agent-run-stream", []byte(`{"runId":"r","messageId":"m","content":"x","done":true,"metadata":{}}`))
	f.Add("agent-run-complete", []byte(`{"runId":"r","summary":"x","transcript":[{"type":"a","x":[[1]]},"b"]}`))
	f.Add("agent-run-permission-response", []byte(`{"runId":"r","permissionId":"p","decision":null}`))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		op, ok := operations[name]
		if !ok {
			t.Skip()
		}
		got, err := op.decode(data)
		if err == nil && !json.Valid(data) {
			t.Fatalf("%s accepts %q as %+v", name, data, got)
		}
		if err != nil && kernel.AsError(err).Code == kernel.CodeInternal {
			t.Fatalf("%s fails on %q: %v", name, data, err)
		}
	})
}
