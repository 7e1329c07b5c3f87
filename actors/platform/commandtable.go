package platform

import (
	"context"
	"fmt"
	"strings"

	"parley/actors/agency"
	"parley/actors/command"
	"parley/actors/kernel"
)

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
	"dm":              (*Platform).commandDM,
	"skill install":   (*Platform).commandSkillInstall,
	"skill uninstall": (*Platform).commandSkillUninstall,
	"skill list":      (*Platform).commandSkillList,
	"help":            (*Platform).commandHelp,
	"custom":          (*Platform).commandCustom,
	"who":             (*Platform).commandWho,
	"whoami":          (*Platform).commandWhoami,
	"echo":            (*Platform).commandEcho,
	"roll":            (*Platform).commandRoll,
	"me":              (*Platform).commandMe,
	"ping":            (*Platform).commandPing,
	"time":            (*Platform).commandTime,
	"save":            (*Platform).commandSave,
	"get":             (*Platform).commandGet,
	"notes":           (*Platform).commandNotes,
	"clearnote":       (*Platform).commandClearNote,
	"agent create":    (*Platform).commandAgentCreate,
	"agent verify":    (*Platform).commandAgentVerify,
	"agent list":      (*Platform).commandAgentList,
	"agent details":   (*Platform).commandAgentDetails,
	"agent token":     (*Platform).commandAgentToken,
	"agent customize": (*Platform).commandAgentCustomize,
	"boot":            (*Platform).commandBoot,
	"agency create":   (*Platform).commandAgencyCreate,
	"agency list":     (*Platform).commandAgencyList,
	"charter":         (*Platform).commandCharter,
	"charter set":     (*Platform).commandCharterSet,
	"charter clear":   (*Platform).commandCharterClear,
	"invite":          (*Platform).commandInvite,
	"invite agent":    (*Platform).commandInviteAgent,
	"leave":           (*Platform).commandLeave,
	"kick":            (*Platform).commandKick,
	"ban":             (*Platform).commandBan,
	"unban":           (*Platform).commandUnban,
	"promote":         (*Platform).commandPromote,
	"demote":          (*Platform).commandDemote,
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
