package mirror

import "parley/actors/agency"

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
