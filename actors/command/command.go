// Package command knows what a slash command is and how it is answered (clients.md 5).
package command

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxShown is how much of an unknown command's name is repeated to its sender, in bytes.
const maxShown = 40

// Is reports whether a message is a command: its trimmed content begins with a slash.
func Is(content string) bool { return strings.HasPrefix(strings.TrimSpace(content), "/") }

// Result is the answer to a command (clients.md 3.4; decision 46).
type Result struct {
	OK        bool   `json:"ok"`
	Command   string `json:"command"` // with its slash
	Content   string `json:"content"` // never null
	Type      string `json:"type"`
	Ephemeral bool   `json:"ephemeral,omitempty"`
}

// Name returns the first token of a command in lower case, with its slash.
func Name(content string) string {
	name, _, _ := strings.Cut(strings.TrimSpace(content), " ")
	if fields := strings.Fields(name); len(fields) > 0 {
		name = fields[0]
	}
	return strings.ToLower(name)
}

// Unknown answers a command that nobody handles: visible to its sender, and no error of the connection (clients.md 5.1).
func Unknown(content string) Result {
	name := Name(content)
	if len(name) > maxShown {
		name = strings.ToValidUTF8(name[:maxShown], "")
		for !utf8.ValidString(name) {
			name = name[:len(name)-1]
		}
		name += "…"
	}
	return Result{Command: name, Content: fmt.Sprintf("Unknown command %s.", name), Type: "system", Ephemeral: true}
}
