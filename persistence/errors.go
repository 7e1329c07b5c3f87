package persistence

import (
	"errors"
	"fmt"
)

// Errors of a Store. Compare with errors.Is.
var (
	// ErrFenced: another owner has acquired the stream. The caller must stop writing and drop its state.
	ErrFenced = errors.New("fenced: another owner has taken over the stream")
	// ErrStaleView: the caller's view of the membership is older than that of an earlier owner.
	ErrStaleView = errors.New("stale view of the membership")
	// ErrConflict is matched by every *ConflictError.
	ErrConflict = errors.New("sequence conflict")
	// ErrExists is matched by every *ExistsError.
	ErrExists = errors.New("claimed by another owner")
	// ErrUnavailable: the store could not take the write or answer the read; nothing is known to be applied.
	ErrUnavailable = errors.New("store unavailable")
	// ErrTooLarge: a name, value or batch is over its limit.
	ErrTooLarge = errors.New("over the store's limit")
	// ErrInvalid: a batch contradicts itself (sequences, empty names); a bug of the caller.
	ErrInvalid = errors.New("invalid batch")
	// ErrNotFound: there is no such document or claim.
	ErrNotFound = errors.New("not found")
	// ErrClosed: the store is closed.
	ErrClosed = errors.New("store closed")
	// ErrDamaged: a stored value does not read back as it was written.
	ErrDamaged = errors.New("damaged store")
	// ErrForeign: the file is not a store of this program, or of a newer version of it.
	ErrForeign = errors.New("not a parley store")
	// ErrLocked: another process has the store open.
	ErrLocked = errors.New("store is in use by another process")
)

// ConflictError says where the stream's log really ends. When Last is what the batch would have led to, under the
// caller's own epoch, the caller's earlier reply was lost and the batch is committed.
type ConflictError struct {
	Stream string
	Expect uint64
	Last   uint64
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("sequence conflict in %s: expected last %d, found %d", e.Stream, e.Expect, e.Last)
}

// Is makes errors.Is(err, ErrConflict) true.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// ExistsError names the claim that somebody else holds.
type ExistsError struct {
	Index string
	Key   string
	Owner string
}

func (e *ExistsError) Error() string {
	return fmt.Sprintf("claim %s/%s is held by another owner", e.Index, e.Key)
}

// Is makes errors.Is(err, ErrExists) true.
func (e *ExistsError) Is(target error) bool { return target == ErrExists }
