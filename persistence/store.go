// Package persistence is the contract between the actors and the engine that keeps their state.
//
// It is a leaf: it knows records and rules, no actor and no transport. Every engine passes the conformance suite in
// persistence/storetest, and nothing above relies on more than that suite checks.
package persistence

import (
	"context"
	"io"
	"time"
)

// Limits that every engine enforces. A write over a limit fails with ErrTooLarge and applies nothing.
const (
	// MaxStreamName is the longest stream, collection, index, counter or key name in bytes.
	MaxStreamName = 512
	// MaxEventData is the largest Event.Data, snapshot and document in bytes.
	MaxEventData = 16 << 20
	// MaxBatchEvents is the largest number of events in one batch.
	MaxBatchEvents = 1024
	// MaxBatchOps is the largest number of claims, documents, counters and outbox entries together in one batch.
	MaxBatchOps = 16_384
	// MaxBatchBytes is the largest sum of the data and names in one batch.
	MaxBatchBytes = 64 << 20
	// MaxRead is the largest number of rows that one read returns, whatever was asked for.
	MaxRead = 10_000
	// MaxReadBytes is where a read of events or documents ends early: with the row that reaches it.
	MaxReadBytes = 2 << 20
)

// Store keeps the log, documents, claims, counters and outbox of all actors.
//
// All methods may be called from any goroutine. Errors are those of errors.go, wrapped.
type Store interface {
	// Acquire makes the caller the only writer of a stream: it raises the stream's epoch, so that every Append under an
	// older one fails with ErrFenced, and returns the new lease. A stream that was never written is acquired too, with
	// Last 0. view is the version of the membership that the caller acts under; a view older than the one recorded by
	// an earlier Acquire is refused with ErrStaleView.
	Acquire(ctx context.Context, stream string, view uint64) (Lease, error)

	// Append commits batches, each atomically and in the given order, and returns one error per batch (nil: committed
	// and durable as the engine promises). A batch that fails applies nothing and does not stop the ones behind it,
	// except that batches of the same stream behind it fail too, by their own Expect.
	//
	// When ctx ends first the outcome is unknown and the error is ErrUnavailable: the caller must Acquire and look.
	Append(ctx context.Context, batches []*Batch) []error

	// Events returns up to limit events of a stream with Seq > after, oldest first, and at least one if there is one:
	// a page ends early once it has MaxReadBytes. Trimmed ones are not there: a
	// caller that needs all compares the first Seq with after+1.
	Events(ctx context.Context, stream string, after uint64, limit int) ([]Event, error)

	// Head returns the sequences of the oldest event of a stream that is still kept and of the last one: 0, 0 when the
	// stream has never been written, and last+1, last when all are trimmed. It does not touch the epoch.
	Head(ctx context.Context, stream string) (first, last uint64, err error)

	// Trim drops events of a stream with Seq <= upTo that are older than before (zero: whatever their age), oldest
	// first, up to the first that is to stay: a log has no holes. It never drops an event that the stream's snapshot
	// does not cover. It returns the number of dropped events.
	Trim(ctx context.Context, stream string, upTo uint64, before time.Time) (int, error)

	// Document returns one document, or ErrNotFound.
	Document(ctx context.Context, collection, key string) ([]byte, error)

	// Documents returns the documents of a collection in the byte order of their keys. A page ends early once it has
	// MaxReadBytes, with at least one row.
	Documents(ctx context.Context, collection string, r Range) ([]Document, error)

	// Version returns a number that stands for what a collection holds now, without reading it: two calls that return the
	// same number have seen the same documents, and so has every read between them. It changes at the very moment at which
	// a change can be read, neither before nor after; it may change without one, but stays while nothing is written to
	// the store. It has no order, and means nothing to another run of the program.
	Version(ctx context.Context, collection string) (uint64, error)

	// Claim returns who holds a unique thing, or ErrNotFound when nobody does or the claim has expired.
	Claim(ctx context.Context, index, key string) (Claim, error)

	// Counters returns all counters.
	Counters(ctx context.Context) (map[string]int64, error)

	// Outbox returns up to limit outbox entries with ID > after in the order of their ids: work that was promised in a
	// commit and not yet reported done.
	Outbox(ctx context.Context, after string, limit int) ([]OutboxEntry, error)

	// Streams returns up to limit stream names with the prefix that sort behind after.
	Streams(ctx context.Context, prefix, after string, limit int) ([]string, error)

	// Backup writes a consistent copy of the whole store while it is in use, and returns the number of bytes.
	Backup(ctx context.Context, w io.Writer) (int64, error)

	// Ready returns nil while the store can take writes.
	Ready(ctx context.Context) error

	// Close waits for running calls, ends every goroutine of the engine and releases its files. Later calls fail with
	// ErrClosed.
	Close() error
}

// Lease is what an owner holds of a stream.
type Lease struct {
	Epoch    uint64    // to be quoted in every Batch
	Last     uint64    // sequence of the last event, 0 for none
	Snapshot *Snapshot // the latest one, nil for none
}

// Batch is one atomic write to one stream: it succeeds whole or applies nothing. It fails with ErrFenced when another
// owner has acquired the stream, with a *ConflictError when Expect is not the stream's last sequence, with an
// *ExistsError when a claim is held by somebody else, and with ErrUnavailable or ErrTooLarge. The checks run in this
// order, behind the one for ErrInvalid.
type Batch struct {
	Stream    string  // not empty and without zero bytes
	Epoch     uint64  // of the caller's Lease; any other fails with ErrFenced
	Expect    uint64  // the stream's last sequence before this batch
	Events    []Event // Seq must be Expect+1, Expect+2, …; may be empty
	Claims    []ClaimOp
	Documents []DocumentOp
	Counters  []CounterOp
	Outbox    []OutboxOp
	// Snapshot replaces the stream's snapshot. Its Seq must be at most the last sequence after the batch, and must leave
	// no gap to the oldest event that is still kept.
	Snapshot *Snapshot
}

// Event is one entry of a stream's log.
type Event struct {
	Seq  uint64 // position, from 1 without holes
	At   int64  // milliseconds since 1970 UTC
	Kind string
	Data []byte // owned by the receiver of a read; must not change after a write began
}

// Snapshot is an actor's state after the event Seq. A snapshot that cannot be read is as good as none: the log is the
// truth until it is trimmed.
type Snapshot struct {
	Seq     uint64
	Version uint32 // of the format of Data
	Data    []byte
}

// ClaimOp takes or gives up a unique thing.
type ClaimOp struct {
	Index string
	Key   string
	// Owner takes the claim. Held by the same owner already it is renewed with the new Data and Expires; held by
	// another the batch fails. With Release it is given up if Owner holds it, else nothing happens.
	Owner   string
	Data    []byte // small, returned by Claim
	Expires int64  // milliseconds since 1970 UTC, 0 for never; an expired claim is free
	Release bool
}

// Claim is a held unique thing.
type Claim struct {
	Owner   string
	Data    []byte
	Expires int64
}

// DocumentOp puts (Data not nil) or deletes (Data nil) a document. Deleting an absent one is no error.
type DocumentOp struct {
	Collection string
	Key        string
	Data       []byte
}

// Document is a row of a Documents read.
type Document struct {
	Key  string
	Data []byte
}

// CounterOp adds to a counter, which starts at 0.
type CounterOp struct {
	Name  string
	Delta int64
}

// OutboxOp adds an entry, or with Done removes the one with its ID (removing an absent one is no error).
type OutboxOp struct {
	ID   string
	Data []byte
	Done bool
}

// OutboxEntry is a promised piece of work.
type OutboxEntry struct {
	ID   string
	Data []byte
}

// Range selects documents: those with Prefix whose key is greater than After and less than Before (both exclusive,
// both whole keys, empty for no bound), the first Limit of them, or with Reverse the last Limit, last first.
// Limit 0 and limits over MaxRead mean MaxRead.
type Range struct {
	Prefix  string
	After   string
	Before  string
	Limit   int
	Reverse bool
}
