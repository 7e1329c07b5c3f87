// Package command knows what a slash command is: how its text is taken apart, which ones are built in, and the form of an
// answer (clients.md 5). It is a leaf; who executes commands is actors/platform.
package command

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxShown is how much of an unknown command's name is repeated to its sender, in bytes.
const maxShown = 40

// Types of results (clients.md 3.4).
const (
	Chat       = "chat"
	System     = "system"
	ToolResult = "tool_result"
)

// Is reports whether a message is a command: its trimmed content begins with a slash.
func Is(content string) bool { return strings.HasPrefix(strings.TrimSpace(content), "/") }

// Result is the answer to a command (clients.md 3.4; decision 46).
type Result struct {
	OK        bool   `json:"ok"`
	Command   string `json:"command"` // with its slash
	Content   string `json:"content"` // never null
	Type      string `json:"type"`    // Chat, System or ToolResult
	Ephemeral bool   `json:"ephemeral,omitempty"`
	Queued    bool   `json:"queued,omitempty"`    // accepted; the result follows later
	MessageID string `json:"messageId,omitempty"` // of the message in the room that shows the result
	DM        bool   `json:"-"`                   // given in a direct message
}

// Failed is the result of a command that was refused or went wrong: only its invoker sees it. The sentence may not be
// empty.
func Failed(i Invocation, sentence string) Result {
	return Result{Command: i.Shown(), Content: sentence, Type: System, Ephemeral: true}
}

// Unknown answers a command that nobody handles: visible to its sender, and no error of the connection (clients.md 5.1).
func Unknown(content string) Result {
	i := Parse(content)
	if i.Target != "" {
		return Failed(i, fmt.Sprintf("Unknown command %s: nothing here is called %s.", i.Shown(), cut("@"+i.Target)))
	}
	return Failed(i, fmt.Sprintf("Unknown command %s.", i.Shown()))
}

// cut shortens what a stranger has chosen.
func cut(s string) string {
	if len(s) <= maxShown {
		return s
	}
	n := maxShown
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
