package platform

import (
	"context"
	"fmt"
	"strings"

	"parley/actors/agency"
	"parley/actors/command"
	"parley/actors/kernel"
)

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

// sentence writes an error as one, unless it begins with the name of a field.
func sentence(e *kernel.Error) string {
	text := e.Message
	if text == "" {
		text = kernel.ErrInternal.Message
	}
	if first, _, _ := strings.Cut(text, " "); strings.Trim(first, "abcdefghijklmnopqrstuvwxyz:") == "" {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
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
