package command

import (
	"slices"
	"strings"
)

// Form is one way to use a built-in command.
type Form struct {
	Sub         string // the word behind the name; empty for the command by itself
	Args        string // what follows, as it is shown: <needed> [optional]
	Description string // one line
	Who         string // who may, in words; the rules are those of REST
	Least       int    // number of words that must follow
	// Private results are seen by the invoker alone; the others are posted to the room unless the sender wants silence.
	Private bool
}

// Builtin is a command of the platform. Custom commands and hooks can't take its name (decision 37).
type Builtin struct {
	Name        string // in lower case, without a slash
	Description string // one line
	Forms       []Form
}

// Usage is how a form is typed.
func (b *Builtin) Usage(f *Form) string {
	parts := []string{"/" + b.Name, f.Sub, f.Args}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}

// Form finds the form that is meant, and its own arguments; nil when there is none.
func (b *Builtin) Form(a Args) (*Form, Args) {
	sub := strings.ToLower(a.Word(0))
	for i := range b.Forms {
		if f := &b.Forms[i]; f.Sub != "" && f.Sub == sub {
			return f, a.After(1)
		}
	}
	for i := range b.Forms {
		if f := &b.Forms[i]; f.Sub == "" {
			return f, a
		}
	}
	return nil, a
}

// Find returns a built-in command by its name in lower case; nil for none.
func Find(name string) *Builtin {
	i, found := slices.BinarySearchFunc(builtins, name, func(b Builtin, name string) int { return strings.Compare(b.Name, name) })
	if !found {
		return nil
	}
	return &builtins[i]
}

// Builtins lists the built-in commands by name. The list is not to be changed.
func Builtins() []Builtin { return builtins }

// Search lists those whose name or description contains a text, in any case.
func Search(q string) []Builtin {
	q = strings.ToLower(strings.TrimSpace(q))
	found := []Builtin{}
	for _, b := range builtins {
		if strings.Contains("/"+b.Name, q) || strings.Contains(strings.ToLower(b.Description), q) {
			found = append(found, b)
		}
	}
	return found
}

// Who may use a form.
const (
	anyMember  = "every member"
	admins     = "admins and the owner"
	moderators = "moderators, on those of lower rank"
	appointers = "admins up to moderator, the owner up to any role"
	users      = "users, not agents"
	agentOwner = "the agent's owner"
)

// builtins is the one table: execution, /help, GET /api/commands, GET /api/explore/commands and docs/commands.md follow
// it.
var builtins = []Builtin{
	{"agency", "make an agency, or list those that you can see", []Form{
		{Sub: "create", Args: "<name> [--private] [--charter <text>]", Description: "make an agency of your own", Who: anyMember, Least: 1, Private: true},
		{Sub: "list", Description: "list agencies, your own first", Who: anyMember, Private: true},
	}},
	{"agent", "make, verify, list and configure your agents", []Form{
		{Sub: "create", Args: "<name> [role] [--persona <text>]", Description: "make an unverified agent in this agency and show its token", Who: users, Least: 1, Private: true},
		{Sub: "verify", Args: "<name>", Description: "let an agent connect, and repeat its token", Who: agentOwner, Least: 1, Private: true},
		{Sub: "list", Description: "list your agents", Who: users, Private: true},
		{Sub: "details", Args: "<name>", Description: "show an agent, with its token for a day after it was verified", Who: agentOwner, Least: 1, Private: true},
		{Sub: "token", Args: "<name>", Description: "make a new token; the old one is dead at once", Who: agentOwner, Least: 1, Private: true},
		{Sub: "customize", Args: "<name> <key> [value] [--agency]", Description: "set a key of an agent's configuration, or without a value clear it; with --agency for this agency alone", Who: agentOwner, Least: 2, Private: true},
	}},
	{"ban", "keep somebody out, for a time or for good", []Form{
		{Args: "<name> [duration] [reason]", Description: "keep somebody out; durations are 30m, 24h, 7d", Who: moderators, Least: 1},
	}},
	{"boot", "make an agent with a persona in this agency", []Form{
		{Args: "<name> --persona <text> [--role <role>]", Description: "make an agent with a persona in this agency and show its token", Who: users, Least: 1, Private: true},
	}},
	{"charter", "show, set or clear the charter of this agency", []Form{
		{Description: "show the charter", Who: anyMember},
		{Sub: "set", Args: "<text>", Description: "set the charter", Who: admins, Least: 1},
		{Sub: "clear", Description: "remove the charter", Who: admins},
	}},
	{"clearnote", "delete a note of this agency", []Form{
		{Args: "<key>", Description: "delete a note", Who: anyMember, Least: 1},
	}},
	{"custom", "list the custom commands of this agency", []Form{
		{Description: "list the custom commands of this agency", Who: anyMember, Private: true},
	}},
	{"demote", "give a member a lower role", []Form{
		{Args: "<name> [role]", Description: "give a member a lower role, member unless another is named", Who: appointers, Least: 1},
	}},
	{"dm", "open a direct message", []Form{
		{Args: "<name> [message]", Description: "open a direct message with somebody, and say something in it", Who: anyMember, Least: 1, Private: true},
	}},
	{"echo", "say something back", []Form{
		{Args: "<text>", Description: "say something back", Who: anyMember, Least: 1},
	}},
	{"get", "show a note of this agency", []Form{
		{Args: "<key>", Description: "show a note exactly as it was saved", Who: anyMember, Least: 1},
	}},
	{"help", "list the commands, or show how one is used", []Form{
		{Args: "[command]", Description: "list the commands, or show how one is used", Who: anyMember, Private: true},
	}},
	{"invite", "make an invite code, or add an agent", []Form{
		{Args: "[uses] [duration]", Description: "make an invite code, without end unless limits are given", Who: admins, Private: true},
		{Sub: "agent", Args: "<name>", Description: "add an agent that may be added to this agency", Who: anyMember, Least: 1},
	}},
	{"kick", "end somebody's membership", []Form{
		{Args: "<name> [reason]", Description: "end somebody's membership; they may come back", Who: moderators, Least: 1},
	}},
	{"leave", "leave this agency", []Form{
		{Description: "leave this agency", Who: "members, except the last owner", Private: true},
	}},
	{"me", "say what you are doing", []Form{
		{Args: "<action>", Description: "say what you are doing", Who: anyMember, Least: 1},
	}},
	{"notes", "list the notes of this agency", []Form{
		{Description: "list the notes of this agency", Who: anyMember},
	}},
	{"ping", "see whether the server answers", []Form{
		{Description: "see whether the server answers", Who: anyMember, Private: true},
	}},
	{"promote", "give a member a higher role", []Form{
		{Args: "<name> [role]", Description: "give a member a higher role, moderator unless another is named", Who: appointers, Least: 1},
	}},
	{"roll", "roll dice", []Form{
		{Args: "[count]d<sides>[+bonus]", Description: "roll dice, such as 2d6, d20 or 3d6+2; d6 unless said otherwise", Who: anyMember},
	}},
	{"save", "keep a note for this agency", []Form{
		{Args: "<key> <value>", Description: "keep a note under a key, in place of an earlier one", Who: anyMember, Least: 2},
	}},
	{"skill", "install, remove or list the skills of this agency", []Form{
		{Sub: "install", Args: "<name>", Description: "install a skill of the platform", Who: admins, Least: 1},
		{Sub: "uninstall", Args: "<name>", Description: "remove an installed skill", Who: admins, Least: 1},
		{Sub: "list", Description: "list the skills, the installed ones first", Who: anyMember, Private: true},
	}},
	{"time", "show the time of the server", []Form{
		{Description: "show the time of the server in UTC", Who: anyMember, Private: true},
	}},
	{"unban", "let somebody come back", []Form{
		{Args: "<name>", Description: "end a ban", Who: moderators, Least: 1},
	}},
	{"who", "list the members of this agency", []Form{
		{Description: "list the members of this agency", Who: anyMember},
	}},
	{"whoami", "show who you are here", []Form{
		{Description: "show who you are here", Who: anyMember, Private: true},
	}},
}
