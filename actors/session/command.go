package session

import (
	"sync"

	"parley/actors/command"
	"parley/actors/kernel"
	"parley/actors/platform"
)

// MaxDetached is the number of commands of one connection that wait for something outside of the server; one more is
// refused.
const MaxDetached = 16

// Commands executes slash commands.
type Commands interface {
	// RunCommand executes a command beside its caller. reply is called exactly once, from any goroutine; neither blocks.
	RunCommand(i platform.Invoke, reply func(command.Result))
}

// Detached answers an operation whose result comes later: those behind it need not wait for it.
type Detached struct {
	mu     sync.Mutex
	result any
	then   func(any)
}

// Then calls f with the result, once it is there, exactly once and from any goroutine. It may be called once.
func (d *Detached) Then(f func(any)) {
	d.mu.Lock()
	result := d.result
	d.then = f
	d.mu.Unlock()
	if result != nil {
		f(result)
	}
}

func (d *Detached) settle(result any) {
	d.mu.Lock()
	d.result = result
	then := d.then
	d.mu.Unlock()
	if then != nil {
		then(result)
	}
}

// run has a command executed. The session goes on at once, but its socket gives it nothing else before the answer: a
// command keeps the order of its socket's events, unless it detaches itself (decision 30).
func (s *Session) run(r *kernel.Request, op Send) {
	line := &commandLine{session: s, request: r}
	s.commands.RunCommand(platform.Invoke{Who: &platform.Identity{Sender: s.Who(), Session: s.id}, AgencyID: op.AgencyID, Message: op.Message,
		Silent: op.Silent, Detach: line.detach}, line.finish)
}

// commandLine is one command between its session and its executor.
type commandLine struct {
	session  *Session
	request  *kernel.Request
	mu       sync.Mutex
	detached *Detached
	finished bool
}

func (l *commandLine) detach() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.detached != nil || l.finished {
		return nil
	}
	if l.session.detached.Add(1) > MaxDetached {
		l.session.detached.Add(-1)
		return kernel.Fail(kernel.CodeLimited, "a connection can wait for %d commands at most; let one finish first", MaxDetached)
	}
	l.detached = &Detached{}
	l.request.Reply(l.detached, nil)
	return nil
}

func (l *commandLine) finish(result command.Result) {
	l.mu.Lock()
	l.finished = true
	later := l.detached
	l.mu.Unlock()
	if later == nil {
		l.request.Reply(result, nil)
		return
	}
	l.session.detached.Add(-1)
	later.settle(result)
}
