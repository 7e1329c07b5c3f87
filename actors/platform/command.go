package platform

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

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

// commandHandler executes one form of a command and returns what it has to say, never empty. A command is only another
// door: it calls the methods that REST calls, so permissions and errors are theirs.
type commandHandler func(p *Platform, ctx context.Context, c *commandCall) (string, error)

// commandCall is a built-in command that is being executed.
type commandCall struct {
	*Invoke
	room    *agency.Record
	role    agency.Role
	builtin *command.Builtin
	form    *command.Form
	args    command.Args // behind the name and the form's own word
	post    agency.NewMessage
	acted   bool // something has been changed, whether the room can be told or not
}

// usage refuses a command that was not typed as it should.
func (c *commandCall) usage() error { return usageError(c.builtin, c.form) }

// handlers are the executors of the table's forms, by name and sub-command.
var handlers = map[string]commandHandler{
	"help": commandHelp, "custom": commandCustom, "who": commandWho, "whoami": commandWhoami, "echo": commandEcho, "roll": commandRoll,
	"me": commandMe, "ping": commandPing, "time": commandTime,
	"save": commandSave, "get": commandGet, "notes": commandNotes, "clearnote": commandClearNote,
	"agent create": commandAgentCreate, "agent verify": commandAgentVerify, "agent list": commandAgentList,
	"agent details": commandAgentDetails, "agent token": commandAgentToken, "agent customize": commandAgentCustomize, "boot": commandBoot,
	"agency create": commandAgencyCreate, "agency list": commandAgencyList, "charter": commandCharter, "charter set": commandCharterSet,
	"charter clear": commandCharterClear, "invite": commandInvite, "invite agent": commandInviteAgent, "leave": commandLeave,
	"kick": commandKick, "ban": commandBan, "unban": commandUnban, "promote": commandPromote, "demote": commandDemote,
}

// Run executes a command beside its caller and returns at once. reply is called exactly once, from any goroutine, within
// CommandTime and a moment; it must not block. Whatever goes wrong is a result (clients.md 3.4).
func (p *Platform) Run(i Invoke, reply func(command.Result)) {
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
	answer := func(r command.Result, err error) { once.Do(func() { reply(r, err) }) }
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

// execute finds the form that is meant and runs it.
func (p *Platform) execute(ctx context.Context, c *commandCall, b *command.Builtin, inv command.Invocation) (command.Result, error) {
	c.builtin = b
	if c.form, c.args = b.Form(inv.Args); c.form == nil {
		return command.Result{}, usageError(b, nil)
	}
	if c.args.Len() < c.form.Least {
		return command.Result{}, c.usage()
	}
	handle := handlers[strings.TrimSpace(b.Name+" "+c.form.Sub)]
	if handle == nil {
		return command.Result{}, fmt.Errorf("the command /%s %s has no handler", b.Name, c.form.Sub)
	}
	content, err := handle(p, ctx, c)
	if err != nil {
		return command.Result{}, err
	}
	r := command.Result{OK: true, Command: inv.Shown(), Content: content, Type: c.post.Type, Ephemeral: c.form.Private}
	switch {
	case c.form.Private:
		r.Type = command.System
	case r.Type != command.ToolResult: // an action is nothing that an ack knows
		r.Type = command.Chat
	}
	return r, nil
}

// usageError tells how a command is typed: one form, or all for nil.
func usageError(b *command.Builtin, f *command.Form) error {
	if f != nil {
		return kernel.Invalid("usage: %s", b.Usage(f))
	}
	ways := make([]string, len(b.Forms))
	for i := range b.Forms {
		ways[i] = b.Usage(&b.Forms[i])
	}
	return kernel.Invalid("usage: %s", strings.Join(ways, ", or "))
}

// show posts a result to the room in the invoker's name and answers when it is durable: before the room sees it, as with
// every post.
func (p *Platform) show(ctx context.Context, c *commandCall, r command.Result, answer func(command.Result, error)) {
	c.post.Content = r.Content
	posted := make(chan struct{})
	p.Directory.Call(agency.Ref(c.AgencyID), agency.Post{Who: c.Who.Sender, NewMessage: c.post}, func(v any, err error) {
		defer close(posted)
		m, ok := v.(*agency.Posted)
		switch {
		case err == nil && ok:
			r.MessageID = m.ID
			if m.Earlier { // the clientId found the result of an earlier try
				r.Content = contentOf(m.Message, r.Content)
			}
			answer(r, nil)
		case c.acted:
			r.Ephemeral = true
			r.Content += " The room could not be told."
			answer(r, nil)
		case err == nil:
			answer(command.Result{}, fmt.Errorf("a post was answered with %T", v))
		case atFault(err):
			answer(command.Result{}, err)
		default:
			answer(command.Failed(command.Parse(c.Message.Content), sentence(kernel.AsError(err))), nil)
		}
	})
	select {
	case <-posted:
	case <-ctx.Done():
		answer(command.Result{}, kernel.ErrTimeout)
	}
}

func contentOf(message []byte, otherwise string) string {
	if m, err := agency.DecodeMessage(message); err == nil {
		return m.Content
	}
	return otherwise
}

// sentence writes an error as one.
func sentence(e *kernel.Error) string {
	r, size := utf8.DecodeRuneInString(e.Message)
	text := string(unicode.ToUpper(r)) + e.Message[size:]
	if !strings.ContainsAny(text[len(text)-1:], ".!?>]") {
		text += "."
	}
	return text
}

// inLine keeps a text in its line: clients read lists line by line (clients.md 5.2).
func inLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// plural counts things.
func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// commandRoom bounds the commands that run, and ends them.
type commandRoom struct {
	ctx    context.Context
	cancel context.CancelFunc
	places chan struct{}

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

func newCommandRoom() *commandRoom {
	r := &commandRoom{places: make(chan struct{}, MaxCommands)}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// enter takes a place; leave gives it back.
func (r *commandRoom) enter() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return kernel.ErrUnavailable
	}
	select {
	case r.places <- struct{}{}:
		r.running.Add(1)
		return nil
	default:
		return kernel.ErrOverloaded
	}
}

func (r *commandRoom) leave() {
	<-r.places
	r.running.Done()
}

// close lets nobody in any more and waits for those inside, which are told to stop.
func (r *commandRoom) close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.cancel()
	r.running.Wait()
}
