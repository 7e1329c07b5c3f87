package agency

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/actors/account"
	"parley/actors/kernel"
	"parley/persistence"
)

// Limits of an agency's notes (clients.md 5.2, /save).
const (
	MaxNotes     = 100
	MaxNoteKey   = 64         // characters
	MaxNoteValue = MaxContent // characters
)

// NoteRecord is the document of a note.
type NoteRecord struct {
	Value string     `json:"value"`
	By    WireSender `json:"by"`
	At    int64      `json:"at"` // ms
}

// Encode returns the document.
func (n NoteRecord) Encode() []byte { return encodeJSON(n) }

// DecodeNote reads a document.
func DecodeNote(doc []byte) (NoteRecord, error) {
	var n NoteRecord
	if err := json.Unmarshal(doc, &n); err != nil {
		return n, fmt.Errorf("note record: %w", err)
	}
	return n, nil
}

// noting is the body of evNoted and evUnnoted. The value is in the document.
type noting struct {
	Key string     `json:"key"`
	By  WireSender `json:"by"`
}

func (s *state) note(kind string, b noting) {
	if kind == evUnnoted {
		delete(s.Notes, b.Key)
		return
	}
	if s.Notes == nil {
		s.Notes = map[string]bool{}
	}
	s.Notes[b.Key] = true
}

// CheckNoteKey refuses what can't be the key of a note: it is one word.
func CheckNoteKey(key string) error {
	switch {
	case key == "":
		return kernel.Invalid("the key of a note must not be empty")
	case utf8.RuneCountInString(key) > MaxNoteKey:
		return kernel.Invalid("the key of a note must be at most %d characters", MaxNoteKey)
	case !utf8.ValidString(key), strings.ContainsFunc(key, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) }):
		return kernel.Invalid("the key of a note must be one word that can be read")
	}
	return nil
}

// notes executes what changes notes; members may.
func (a *Agency) notes(t *kernel.Turn, command any) {
	switch c := command.(type) {
	case SaveNote:
		a.saveNote(t, c)
	case ClearNote:
		a.clearNote(t, c)
	}
}

// SaveNote keeps a text under a key for the members, in place of an earlier one. It answers with kernel.Done; CodeTaken
// when there are MaxNotes already.
type SaveNote struct {
	By    account.Sender
	Key   string
	Value string // trimmed, 1 to MaxNoteValue characters
}

func (a *Agency) saveNote(t *kernel.Turn, c SaveNote) {
	err := CheckNoteKey(c.Key)
	if err == nil {
		c.Value, err = CheckContent(c.Value)
	}
	if err != nil {
		a.refuse(t, c.By.ID, err)
		return
	}
	a.withMember(t, c.By.ID, func(m MemberRecord) {
		if err := a.mayManage(m, Member); err != nil {
			t.Fail(err)
			return
		}
		if !a.s.Notes[c.Key] && len(a.s.Notes) >= MaxNotes {
			t.Fail(kernel.Fail(kernel.CodeTaken, "this agency has %d notes, which is the most; delete one with /clearnote first", MaxNotes))
			return
		}
		_, at := t.Next()
		a.putNote(t, evNoted, c.By, c.Key, NoteRecord{Value: c.Value, By: wire(c.By), At: at}.Encode())
	})
}

// ClearNote deletes a note; members may. It answers with kernel.Done; CodeNotFound when there is none.
type ClearNote struct {
	By  account.Sender
	Key string
}

func (a *Agency) clearNote(t *kernel.Turn, c ClearNote) {
	a.withMember(t, c.By.ID, func(m MemberRecord) {
		if err := a.mayManage(m, Member); err != nil {
			t.Fail(err)
			return
		}
		if !a.s.Notes[c.Key] {
			t.AfterCommits(func() { t.Fail(ErrNoNote()) })
			return
		}
		a.putNote(t, evUnnoted, c.By, c.Key, nil)
	})
}

// putNote commits a note, or with nil that there is none any more.
func (a *Agency) putNote(t *kernel.Turn, kind string, by account.Sender, key string, doc []byte) {
	a.commit(t, kernel.Change{
		Events:    []persistence.Event{event(kind, noting{Key: key, By: wire(by)})},
		Documents: []persistence.DocumentOp{{Collection: persistence.CollectionNote, Key: persistence.Key(t.ID(), key), Data: doc}},
	}, func() { t.Reply(kernel.Done{}) }, nil)
}

// ErrNoNote is told about keys under which nothing is kept.
func ErrNoNote() error { return kernel.NotFound("there is no such note") }
