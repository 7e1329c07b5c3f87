package platform

import (
	"context"
	"strings"
)

// shownNote is how much of a note the list of notes shows, in characters. With MaxNotes keys it is no more than a message.
const shownNote = 80

func (p *Platform) commandSave(ctx context.Context, c *commandCall) (string, error) {
	key := c.args.Word(0)
	if err := p.SaveNote(ctx, c.Who, c.AgencyID, key, c.args.Rest(1)); err != nil {
		return "", err
	}
	c.acted = true
	return "Saved " + key + ".", nil
}

// commandGet answers with exactly what was saved (clients.md 5.2).
func (p *Platform) commandGet(ctx context.Context, c *commandCall) (string, error) {
	n, err := p.Note(ctx, c.Who, c.AgencyID, c.args.Word(0))
	if err != nil {
		return "", err
	}
	return n.Value, nil
}

func (p *Platform) commandNotes(ctx context.Context, c *commandCall) (string, error) {
	notes, err := p.Notes(ctx, c.Who, c.AgencyID)
	if err != nil {
		return "", err
	}
	if len(notes) == 0 {
		return "There are no notes in this agency.", nil
	}
	lines := make([]string, len(notes))
	for i, n := range notes {
		value := []rune(inLine(n.Value))
		if len(value) > shownNote {
			value = append(value[:shownNote], '…')
		}
		lines[i] = n.Key + " — " + string(value)
	}
	return strings.Join(lines, "\n"), nil
}

func (p *Platform) commandClearNote(ctx context.Context, c *commandCall) (string, error) {
	key := c.args.Word(0)
	if err := p.ClearNote(ctx, c.Who, c.AgencyID, key); err != nil {
		return "", err
	}
	c.acted = true
	return "Deleted the note " + key + ".", nil
}
