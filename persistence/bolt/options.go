// Package bolt keeps the state of one server in one file, with bbolt.
//
// All writes go through one goroutine, the committer, which joins what is waiting into one transaction, so that many
// callers share a flush to disk. Reads are short transactions over the mapped file and never wait for a write.
package bolt

import (
	"log/slog"
	"math/bits"
	"time"
)

// Options say where a store lives.
type Options struct {
	// Path of the file. Its folder is created with mode 0700 and the file with 0600. Required.
	Path string
	// Logger receives faults of the file. nil discards them.
	Logger *slog.Logger
	// Now is the clock that claims expire by. nil means time.Now.
	Now func() time.Time
}

// Limits of the engine.
const (
	// maxQueue is the largest number of requests that wait for the committer; another one fails with ErrUnavailable.
	maxQueue = 4096
	// maxQueueBytes is the largest sum of their data.
	maxQueueBytes = 256 << 20
	// maxTxWrites and maxTxBytes end a transaction: a commit that is too big makes everybody wait for it.
	maxTxWrites = 4096
	maxTxBytes  = 8 << 20
	// maxTrim is the largest number of events that one transaction drops; a bigger trim takes several.
	maxTrim = 2000
	// maxPurge is the largest number of expired claims that one commit removes.
	maxPurge = 256
	// purgeEvery is how often an idle store looks for expired claims.
	purgeEvery = time.Minute
	// lockWait is how long Open waits for another process to let go of the file.
	lockWait = time.Second
	// stallAfter is how long one commit may take before Ready says that the store is unavailable.
	stallAfter = 10 * time.Second
	// maxProblems is the largest number of problems that a Report spells out.
	maxProblems = 100
)

const (
	// pageFill says how full a page is left when it splits. Almost everything is added behind what is there already (the
	// events and messages of an agency), so pages can be almost full.
	pageFill = 0.9
	// pageSize is that of a new file. A commit costs what its scattered pages cost, and half of those are branch pages
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

// What the meta bucket says.
var (
	metaMagic   = []byte("format")
	metaSchema  = []byte("schema")
	metaCreated = []byte("created")
)

const (
	magic = "parley store"
	// schema is the version of the layout. A file of a newer one is refused.
	schema = 1
)
