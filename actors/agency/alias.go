package agency

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/google/uuid"

	"parley/actors/kernel"
	"parley/persistence"
)

// A message that a run streamed has the id that its client made (clients.md 3.2), which can't carry a place in the log.
// Such an id is an alias: a document leads from it to the place. It stays when the message is deleted, so that the same
// stream is not posted again, and goes with the agency.

// IsClientID reports whether a message's id may be a client's own: a UUID, but none that carries a place.
func IsClientID(id string) bool {
	u, err := uuid.Parse(id)
	return err == nil && len(id) == 36 && u.Version() != 8
}

// IsMessageID reports whether an id has the form of a message's: one that the server made, or a client's own.
func IsMessageID(id string) bool {
	_, placed := SeqOfMessageID(id)
	return placed || IsClientID(id)
}

// aliasDocument leads from a client's own id to a position.
func aliasDocument(agency, id string, seq uint64) persistence.DocumentOp {
	return persistence.DocumentOp{Collection: persistence.CollectionAlias, Key: persistence.Key(agency, id),
		Data: binary.BigEndian.AppendUint64(nil, seq)}
}

// PlaceOf returns the position of a message in an agency's log by its id; CodeNotFound when the id names nothing.
// Whether the message is still there, and has that id, is for the caller to see.
func PlaceOf(ctx context.Context, s persistence.Store, agency, id string) (uint64, error) {
	if seq, ok := SeqOfMessageID(id); ok {
		return seq, nil
	}
	if !IsClientID(id) {
		return 0, errNoMessage()
	}
	doc, err := s.Document(ctx, persistence.CollectionAlias, persistence.Key(agency, id))
	if errors.Is(err, persistence.ErrNotFound) || err == nil && len(doc) != 8 {
		return 0, errNoMessage()
	}
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(doc), nil
}

// ReadMessage returns a message by its id, CodeNotFound when there is none.
func ReadMessage(ctx context.Context, s persistence.Store, agency, id string) (*Message, error) {
	seq, err := PlaceOf(ctx, s, agency, id)
	if err != nil {
		return nil, err
	}
	return readMessage(ctx, s, agency, seq, id)
}

// resolve goes on with the place of a message, read from what is committed.
func (a *Agency) resolve(t *kernel.Turn, id string, next func(seq uint64)) {
	t.AfterCommits(func() {
		kernel.Load(t, func(ctx context.Context, s persistence.Store) (uint64, error) {
			return PlaceOf(ctx, s, t.ID(), id)
		}, func(seq uint64, err error) {
			if err == nil {
				err = a.ended()
			}
			if err != nil {
				t.Fail(err)
				return
			}
			next(seq)
		})
	})
}
