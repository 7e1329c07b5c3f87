// Package bolt keeps the state of one server in one file, with bbolt, behind a log.
//
// All writes go through one goroutine, the committer. It joins what is waiting into one round, writes what that changes
// as one record to the log, and answers when the record is on disk: many callers share one short flush. The changes stay
// in memory, in the active overlay, where reads find them before they look into the file. From time to time the overlay
// is frozen and the checkpointer moves it into bbolt's file, sorted and each key once; then its segment of the log is
// free to be used again. A log that a crash has left is replayed when the store is opened.
//
// Reads are short transactions over the mapped file and the overlays. They never wait for a write or a checkpoint.
package bolt

import (
	"log/slog"
	"math/bits"
	"os"
	"time"

	"go.etcd.io/bbolt"
)

// Options say where a store lives.
type Options struct {
	// Path of the file. Its folder is created with mode 0700 and the file with 0600. Required.
	Path string
	// Logger receives faults of the file. nil discards them.
	Logger *slog.Logger
	// Now is the clock that claims expire by. nil means time.Now.
	Now func() time.Time

	// tune is for tests. The zero value is what servers run with.
	tune tuning
}

// tuning replaces what tests cannot wait for or cause.
type tuning struct {
	freezeBytes int64                // 0 means the constant
	freezeAge   time.Duration        // 0 means the constant
	sync        func(*os.File) error // of the log; nil means flush
}

func (t tuning) withDefaults() tuning {
	if t.freezeBytes == 0 {
		t.freezeBytes = freezeBytes
	}
	if t.freezeAge == 0 {
		t.freezeAge = freezeAge
	}
	if t.sync == nil {
		t.sync = flush
	}
	return t
}

// Limits of the engine.
const (
	// maxQueue is the largest number of requests that wait for the committer; another one fails with ErrUnavailable.
	maxQueue = 4096
	// maxQueueBytes is the largest sum of their data.
	maxQueueBytes = 256 << 20
	// maxTxWrites and maxTxBytes end a round: a record that is too big makes everybody wait for it.
	maxTxWrites = 4096
	maxTxBytes  = 8 << 20
	// freezeBytes is the memory that the active overlay may take before it is moved to the file. The more it gathers, the
	// more of the changes share a page there.
	freezeBytes = 16 << 20
	// freezeAge is how long a record is only in the log, if the checkpointer keeps up.
	freezeAge = 2 * time.Second
	// maxOverlays is how many times freezeBytes the active overlay may take while the checkpointer is behind. Then
	// requests wait for it, and fail with ErrUnavailable when it fails.
	maxOverlays = 2
	// checkpointRows and checkpointBytes end a transaction of a checkpoint, which costs memory for every page it touches.
	checkpointRows  = 4096
	checkpointBytes = 8 << 20
	// retryFirst and retryMax are the pauses between attempts of a checkpoint that fails.
	retryFirst = 100 * time.Millisecond
	retryMax   = 5 * time.Second
	// maxCached is the largest number of streams, and of counters, that the committer remembers.
	maxCached = 16_384
	// maxKey is the longest key that bbolt takes.
	maxKey = bbolt.MaxKeySize
	// maxTrim is the largest number of events that one round drops; a bigger trim takes several.
	maxTrim = 2000
	// maxPurge is the largest number of expired claims that one round removes.
	maxPurge = 256
	// purgeEvery is how often an idle store looks for expired claims.
	purgeEvery = time.Minute
	// lockWait is how long Open waits for another process to let go of the file.
	lockWait = time.Second
	// stallAfter is how long one round may take, and how long checkpoints may fail, before Ready says that the store is unavailable.
	stallAfter = 10 * time.Second
	// maxProblems is the largest number of problems that a Report spells out.
	maxProblems = 100
)

const (
	// pageFill says how full a page is left when it splits. Almost everything is added behind what is there already (the
	// events and messages of an agency), so pages can be almost full.
	pageFill = 0.9
	// pageSize is that of a new file. A checkpoint costs what its scattered pages cost, and half of those are branch pages
	// when pages are of 4 KiB; with 16 KiB the bytes begin to count. See BenchmarkAppend.
	pageSize = 8 << 10
	// allocStep is by how many bytes the file grows at a time.
	allocStep = 16 << 20
)

// mapSize is the address space that is reserved for the file: a remap waits for all readers, a backup among them, so
// there should be none. It costs no memory.
func mapSize() int {
	shift := 30
	if bits.UintSize == 64 {
		shift = 36
	}
	return 1 << shift
}

// Buckets of the file. Collections and indexes have one each, named with the prefixes.
var (
	bucketMeta      = []byte("meta")
	bucketStreams   = []byte("streams")
	bucketEvents    = []byte("events")
	bucketSnapshots = []byte("snapshots")
	bucketCounters  = []byte("counters")
	bucketOutbox    = []byte("outbox")
	bucketExpiry    = []byte("expiry")
)

const (
	prefixDocuments = "documents/"
	prefixClaims    = "claims/"
)
