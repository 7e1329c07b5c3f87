package realtime

import (
	"encoding/json"
	"slices"

	"parley/actors/kernel"
	"parley/actors/run"
	"parley/actors/session"
)

// runTarget is the run that an event is about. Who sends it is known from the session, and where the run is from its start:
// what the event says of both is not looked at (clients.md 3.2).
type runTarget struct {
	RunID  string `json:"runId"`
	RunID2 string `json:"run_id"`
}

func (t *runTarget) run() (string, error) { return required("runId", t.RunID, t.RunID2) }

// runEvent decodes an event into D and makes of it what is done to the run.
func runEvent[D any](data []byte, id func(*D) (string, error), what func(*D) any) (any, error) {
	d := new(D)
	if err := decode(data, d); err != nil {
		return nil, err
	}
	runID, err := id(d)
	if err != nil {
		return nil, err
	}
	return session.ActRun{RunID: runID, What: what(d)}, nil
}

func decodeRunStart(data []byte) (any, error) {
	var d struct {
		runTarget
		target
		Trigger  string `json:"triggerMessageId"`
		Trigger2 string `json:"trigger_message_id"`
	}
	if err := decode(data, &d); err != nil {
		return nil, err
	}
	runID, err := d.run()
	if err != nil {
		return nil, err
	}
	agencyID, err := d.agency()
	return session.StartRun{RunID: runID, AgencyID: agencyID, Trigger: either(d.Trigger, d.Trigger2)}, err
}

type statusEvent struct {
	runTarget
	Status string `json:"status"`
}

func decodeRunStatus(data []byte) (any, error) {
	return runEvent(data, (*statusEvent).run, func(d *statusEvent) any { return run.Status{Text: d.Status} })
}

// toolEvent is a call of a tool or its result.
type toolEvent struct {
	runTarget
	ID       string `json:"toolCallId"`
	ID2      string `json:"tool_call_id"`
	Tool     string `json:"tool"`
	Input    string `json:"input"`
	Output   string `json:"output"`
	Duration string `json:"duration"`
	Status   string `json:"status"`
}

func decodeToolCall(data []byte) (any, error) {
	return runEvent(data, (*toolEvent).run, func(d *toolEvent) any {
		return run.ToolCall{ID: either(d.ID, d.ID2), Tool: d.Tool, Input: d.Input}
	})
}

func decodeToolResult(data []byte) (any, error) {
	return runEvent(data, (*toolEvent).run, func(d *toolEvent) any {
		return run.ToolResult{ID: either(d.ID, d.ID2), Tool: d.Tool, Output: d.Output, Duration: d.Duration, Status: d.Status}
	})
}

type streamEvent struct {
	runTarget
	ID       string          `json:"messageId"`
	ID2      string          `json:"message_id"`
	Content  string          `json:"content"`
	Delta    string          `json:"delta"`
	Done     bool            `json:"done"`
	Metadata json.RawMessage `json:"metadata"`
}

func decodeStream(data []byte) (any, error) {
	return runEvent(data, (*streamEvent).run, func(d *streamEvent) any {
		return run.Stream{MessageID: either(d.ID, d.ID2), Content: d.Content, Delta: d.Delta, Done: d.Done, Metadata: d.Metadata}
	})
}

// permissionEvent is a request for permission or the answer to it.
type permissionEvent struct {
	runTarget
	ID          string `json:"permissionId"`
	ID2         string `json:"permission_id"`
	Action      string `json:"action"`
	Description string `json:"description"`
	Decision    string `json:"decision"`
	Message     string `json:"message"`
}

func decodePermission(data []byte) (any, error) {
	return runEvent(data, (*permissionEvent).run, func(d *permissionEvent) any {
		return run.Ask{ID: either(d.ID, d.ID2), Action: d.Action, Description: d.Description}
	})
}

func decodePermissionResponse(data []byte) (any, error) {
	return runEvent(data, (*permissionEvent).run, func(d *permissionEvent) any {
		return run.Answer{PermissionID: either(d.ID, d.ID2), Decision: d.Decision, Message: d.Message}
	})
}

// endEvent is one of the two ends of a run.
type endEvent struct {
	runTarget
	Summary    string          `json:"summary"`
	Error      string          `json:"error"`
	Transcript json.RawMessage `json:"transcript"`
}

func decodeComplete(data []byte) (any, error) {
	return runEvent(data, (*endEvent).run, func(d *endEvent) any {
		return run.Complete{Summary: d.Summary, Transcript: run.ReadTranscript(d.Transcript)}
	})
}

func decodeRunError(data []byte) (any, error) {
	return runEvent(data, (*endEvent).run, func(d *endEvent) any {
		return run.Fail{Error: d.Error, Transcript: run.ReadTranscript(d.Transcript)}
	})
}

type interruptEvent struct {
	runTarget
	Action  string `json:"action"`
	Message string `json:"message"`
}

func decodeInterrupt(data []byte) (any, error) {
	return runEvent(data, (*interruptEvent).run, func(d *interruptEvent) any {
		return run.Interrupt{Action: d.Action, Message: d.Message}
	})
}

// maxFaulty is the number of runs of whose failures a connection is told; of those of more runs it hears in acks only.
const maxFaulty = 64

// muted reports whether a client is not told that an event of a run failed. Agents push out all that they had to say while
// they were away, and then join their rooms; every error event would fail one of those joins (clients.md 3.3). So the first
// failure of a run is told, and what an agent says of a run that has ended meanwhile is dropped in silence.
func (c *client) muted(what any, e *kernel.Error) bool {
	var id string
	switch w := what.(type) {
	case session.StartRun:
		id = w.RunID
	case session.ActRun:
		switch w.What.(type) {
		case run.Interrupt, run.Answer:
			return false // of a person, who wants to know
		}
		if e == run.ErrEnded {
			return true
		}
		id = w.RunID
	default:
		return false
	}
	if slices.Contains(c.faulty, id) || len(c.faulty) == maxFaulty {
		return true
	}
	c.faulty = append(c.faulty, id)
	return false
}
