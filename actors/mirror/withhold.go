package mirror

import (
	"context"
	"errors"

	"parley/actors/agency"
	"parley/persistence"
)

// withheld knows which messages were deleted in a part of the log. It is read up to now, so whatever is deleted is known by
// its end.
type withheld map[string]bool

// note looks for a deletion.
func (d withheld) note(w *agency.Wire) error {
	if w.Name != agency.EventMessageDeleted {
		return nil
	}
	id, err := w.Subject()
	d[id] = true
	return err
}

// from takes out of events what deleted messages said: a deletion would else last until somebody asks what they missed.
func (d withheld) from(events []*Event) error {
	if len(d) == 0 {
		return nil
	}
	for i, e := range events {
		w := agency.Wire{Name: e.Name, Data: e.Data}
		id, err := w.Subject()
		if err != nil {
			return err
		}
		if !d[id] {
			continue
		}
		if w, err = w.Withhold(); err != nil {
			return err
		}
		events[i] = &Event{Name: w.Name, Data: w.Data, Seq: e.Seq}
	}
	return nil
}

// nameless takes the names of accounts that have been deleted since out of events: the log has those of then.
func nameless(ctx context.Context, store persistence.Store, events []*Event) error {
	gone := map[string]bool{}
	for i, e := range events {
		w := agency.Wire{Name: e.Name, Data: e.Data}
		who, err := w.Actor()
		if err != nil {
			return err
		}
		if who == "" {
			continue
		}
		if _, seen := gone[who]; !seen {
			_, err := store.Document(ctx, persistence.CollectionAccount, who)
			if gone[who] = errors.Is(err, persistence.ErrNotFound); err != nil && !gone[who] {
				return err
			}
		}
		if !gone[who] {
			continue
		}
		if w, err = w.Nameless(); err != nil {
			return err
		}
		events[i] = &Event{Name: w.Name, Data: w.Data, Seq: e.Seq}
	}
	return nil
}
