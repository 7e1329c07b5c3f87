package bolt

import (
	"bytes"
	"context"
	"fmt"

	"parley/persistence"
)

// capped returns the number of rows that a read with this limit may return.
func capped(limit int) int {
	if limit <= 0 || limit > persistence.MaxRead {
		return persistence.MaxRead
	}
	return limit
}

// Events implements persistence.Store. Limit 0 and limits over MaxRead mean MaxRead.
func (s *Store) Events(ctx context.Context, stream string, after uint64, limit int) ([]persistence.Event, error) {
	limit = capped(limit)
	var events []persistence.Event
	err := s.view(ctx, "events", func(v *view) error {
		h, err := loadHead(v, stream)
		if err != nil {
			return err
		}
		if !h.known || after >= h.last {
			return nil
		}
		next := max(after+1, h.first)
		n := min(uint64(limit), h.last-next+1)
		events = make([]persistence.Event, 0, n)
		t := v.table(bucketEvents)
		log := t.from(eventKey(nil, stream, next))
		kind, size := "", 0
		for ; n > 0 && size < persistence.MaxReadBytes; n-- {
			k, v := log.next()
			if seq, ok := seqOf(stream, k); !ok || seq != next {
				return fmt.Errorf("event %d of %s is missing: %w", next, stream, persistence.ErrDamaged)
			}
			e, err := decodeEvent(k, v)
			if err != nil {
				return err
			}
			if kind != string(e.kind) {
				kind = string(e.kind)
			}
			events = append(events, persistence.Event{Seq: next, At: e.at, Kind: kind, Data: copyOf(e.data)})
			size += len(e.data)
			next++
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return events, nil
}

// copyOf copies a value out of the file's memory; it is not nil, also when the value is empty.
func copyOf(b []byte) []byte {
	c := make([]byte, len(b))
	copy(c, b)
	return c
}

// Head implements persistence.Store.
func (s *Store) Head(ctx context.Context, stream string) (first, last uint64, err error) {
	err = s.view(ctx, "head", func(v *view) error {
		h, err := loadHead(v, stream)
		if err == nil && h.last > 0 {
			first, last = h.first, h.last
		}
		return err
	})
	return first, last, err
}

// Document implements persistence.Store.
func (s *Store) Document(ctx context.Context, collection, key string) ([]byte, error) {
	var data []byte
	err := s.view(ctx, "document", func(v *view) error {
		t, k := v.table([]byte(prefixDocuments+collection)), []byte(key)
		value := t.get(k)
		if value == nil {
			return persistence.ErrNotFound
		}
		p, err := unseal(k, value)
		if err == nil {
			data = copyOf(p)
		}
		return err
	})
	return data, err
}

// Documents implements persistence.Store.
func (s *Store) Documents(ctx context.Context, collection string, r persistence.Range) ([]persistence.Document, error) {
	var docs []persistence.Document
	limit := capped(r.Limit)
	err := s.view(ctx, "documents", func(v *view) error {
		t, span := v.table([]byte(prefixDocuments+collection)), newSpan(r)
		docs = make([]persistence.Document, 0, min(limit, 64))
		size := 0
		for rows := span.rows(&t); len(docs) < limit && size < persistence.MaxReadBytes; {
			k, v := rows.next()
			if k == nil || !span.holds(k) {
				return nil
			}
			p, err := unseal(k, v)
			if err != nil {
				return err
			}
			docs = append(docs, persistence.Document{Key: string(k), Data: copyOf(p)})
			size += len(p)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return docs, nil
}

// span is a range with its bounds worked out.
type span struct {
	prefix, after, before []byte
	end                   []byte // the first key that is too far, nil for none
	reverse               bool
}

func newSpan(r persistence.Range) span {
	s := span{prefix: []byte(r.Prefix), after: []byte(r.After), before: []byte(r.Before), reverse: r.Reverse}
	s.end = prefixEnd(s.prefix)
	if len(s.before) > 0 && (s.end == nil || bytes.Compare(s.before, s.end) < 0) {
		s.end = s.before
	}
	return s
}

// rows walks a table from where the range begins, in its direction.
func (s *span) rows(t *table) rows {
	if s.reverse {
		return t.below(s.end)
	}
	from := s.prefix
	if len(s.after) > 0 && bytes.Compare(s.after, from) >= 0 {
		from = append(bytes.Clone(s.after), 0) // the very next key
	}
	return t.from(from)
}

// holds says whether a key is in the range.
func (s *span) holds(k []byte) bool {
	return bytes.HasPrefix(k, s.prefix) &&
		(len(s.after) == 0 || bytes.Compare(k, s.after) > 0) &&
		(s.end == nil || bytes.Compare(k, s.end) < 0)
}

// prefixEnd returns the first key behind all that have the prefix, nil when there is none.
func prefixEnd(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xFF {
			end := bytes.Clone(prefix[:i+1])
			end[i]++
			return end
		}
	}
	return nil
}

// Counters implements persistence.Store.
func (s *Store) Counters(ctx context.Context) (map[string]int64, error) {
	counters := map[string]int64{}
	err := s.view(ctx, "counters", func(v *view) error {
		t := v.table(bucketCounters)
		rows := t.from(nil)
		for k, v := rows.next(); k != nil; k, v = rows.next() {
			n, err := decodeCounter(k, v)
			if err != nil {
				return err
			}
			counters[string(k)] = n
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return counters, nil
}

// Outbox implements persistence.Store. Limit 0 and limits over MaxRead mean MaxRead.
func (s *Store) Outbox(ctx context.Context, after string, limit int) ([]persistence.OutboxEntry, error) {
	limit = capped(limit)
	var entries []persistence.OutboxEntry
	err := s.view(ctx, "outbox", func(v *view) error {
		span := newSpan(persistence.Range{After: after})
		t := v.table(bucketOutbox)
		for rows := span.rows(&t); len(entries) < limit; {
			k, v := rows.next()
			if k == nil {
				return nil
			}
			p, err := unseal(k, v)
			if err != nil {
				return err
			}
			entries = append(entries, persistence.OutboxEntry{ID: string(k), Data: copyOf(p)})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return entries, nil
}

// Streams implements persistence.Store. Limit 0 and limits over MaxRead mean MaxRead.
func (s *Store) Streams(ctx context.Context, prefix, after string, limit int) ([]string, error) {
	limit = capped(limit)
	var names []string
	err := s.view(ctx, "streams", func(v *view) error {
		span := newSpan(persistence.Range{Prefix: prefix, After: after})
		t := v.table(bucketStreams)
		for rows := span.rows(&t); len(names) < limit; {
			k, _ := rows.next()
			if k == nil || !span.holds(k) {
				return nil
			}
			names = append(names, string(k))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return names, nil
}
