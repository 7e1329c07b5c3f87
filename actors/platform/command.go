package platform

import (
	"bytes"
	"context"
	"encoding/json"
	"runtime/debug"
	"sync"
	"time"

	"parley/actors/agency"
	"parley/actors/command"
	"parley/actors/kernel"
)

// Limits of commands.
const (
	// CommandTime is how long a command may take: clients give up after 15 s (clients.md 3.4; decision 35).
	CommandTime = 14 * time.Second
	// MaxCommands is the number of commands that run at once in this process; one more is refused as overload.
	MaxCommands = 256
)

// Invoke is a message that is a command, on its way.
type Invoke struct {
	Who      *Identity
	AgencyID string
	Message  agency.NewMessage
	Silent   bool // the result is in the answer alone, nothing appears in the room
	// Detach is called at most once, by a command that waits for something outside of the server: the events behind it need
	// not wait for it any more (decision 30). An error refuses the command. Nil when nothing waits.
	Detach func() error
}

// RunCommand executes a command beside its caller and returns at once. reply is called exactly once, from any goroutine, within
// CommandTime and a moment; it must not block. Whatever goes wrong is a result (clients.md 3.4).
func (p *Platform) RunCommand(i Invoke, reply func(command.Result)) {
	failed := func(err error) {
		e := kernel.AsError(err)
		if e.Code == kernel.CodeInternal {
			p.Log.Error("command failed", "agency", i.AgencyID, "error", err)
		}
		reply(command.Failed(command.Parse(i.Message.Content), sentence(e)))
	}
	if err := p.commands.enter(); err != nil {
		failed(err)
		return
	}
	go func() {
		defer p.commands.leave()
		ctx, cancel := context.WithTimeout(p.commands.ctx, CommandTime)
		defer cancel()
		p.perform(ctx, &i, func(r command.Result, err error) {
			if err != nil {
				failed(err)
				return
			}
			reply(r)
		})
	}()
}

// Command executes a command and waits for its result. What the command itself refuses, an unknown one included, is a
// result; errors are those of a post: the caller may not speak here, the message breaks a rule, the server is at fault.
func (p *Platform) Command(ctx context.Context, i Invoke) (result command.Result, err error) {
	if err := p.commands.enter(); err != nil {
		return result, err
	}
	defer p.commands.leave()
	ctx, cancel := context.WithTimeout(ctx, CommandTime)
	defer cancel()
	p.perform(ctx, &i, func(r command.Result, e error) { result, err = r, e })
	return result, err
}

// perform executes a command; reply has been called once when it returns.
func (p *Platform) perform(ctx context.Context, i *Invoke, reply func(command.Result, error)) {
	var once sync.Once
	dm := false
	answer := func(r command.Result, err error) {
		r.DM = dm
		once.Do(func() { reply(r, err) })
	}
	defer func() {
		if v := recover(); v != nil {
			p.Log.Error("command panicked", "agency", i.AgencyID, "panic", v, "stack", string(debug.Stack()))
			answer(command.Result{}, kernel.ErrInternal)
		}
	}()
	inv := command.Parse(i.Message.Content)
	c, err := p.prepare(ctx, i, inv)
	if err != nil {
		answer(command.Result{}, err)
		return
	}
	dm = c.room.Kind == agency.DM
	builtin := command.Find(inv.Name)
	if builtin == nil || inv.Target != "" { // a target asks for a hook's
		answer(command.Unknown(i.Message.Content), nil)
		return
	}
	r, err := p.execute(ctx, c, builtin, inv)
	switch {
	case err == nil && !i.Silent && !c.form.Private:
		p.show(ctx, c, r, answer)
	case err == nil:
		answer(r, nil)
	case atFault(err):
		answer(command.Result{}, err)
	default:
		answer(command.Failed(inv, sentence(kernel.AsError(err))), nil)
	}
}

// atFault tells the server's failures from a command's refusals.
func atFault(err error) bool {
	switch kernel.AsError(err).Code {
	case kernel.CodeInternal, kernel.CodeOverloaded, kernel.CodeUnavailable:
		return true
	default:
		return false
	}
}

// prepare refuses what could not be posted either.
func (p *Platform) prepare(ctx context.Context, i *Invoke, inv command.Invocation) (*commandCall, error) {
	m, err := i.Message.Check()
	if err != nil {
		return nil, err
	}
	room, role, err := p.membership(ctx, i.Who, i.AgencyID)
	if err != nil {
		return nil, err
	}
	if m.Metadata, err = markCommand(m.Metadata, inv.Shown()); err != nil {
		return nil, err
	}
	return &commandCall{Invoke: i, room: room, role: role,
		post: agency.NewMessage{Type: command.ToolResult, Metadata: m.Metadata, ReplyTo: m.ReplyTo, ClientID: m.ClientID}}, nil
}

// markCommand says in a message's metadata which command made it.
func markCommand(metadata json.RawMessage, name string) (json.RawMessage, error) {
	keys := map[string]json.RawMessage{}
	if err := json.Unmarshal(metadata, &keys); err != nil {
		return nil, kernel.Invalid("metadata must be an object")
	}
	var err error
	if keys["command"], err = json.Marshal(name); err != nil {
		return nil, kernel.AsError(err)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(keys); err != nil {
		return nil, kernel.AsError(err)
	}
	if b.Len() > agency.MaxMetadata {
		return nil, kernel.Invalid("metadata must be at most %d bytes of JSON", agency.MaxMetadata)
	}
	return b.Bytes(), nil
}
