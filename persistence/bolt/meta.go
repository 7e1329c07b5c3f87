package bolt

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/bbolt"

	"parley/persistence"
)

// What the meta bucket says.
var (
	metaMagic   = []byte("format")
	metaSchema  = []byte("schema")
	metaCreated = []byte("created")
	metaID      = []byte("id")  // that the store's log quotes
	metaLog     = []byte("log") // see logState
)

const (
	magic = "parley store"
	// schema is the version of the layout. A file of a newer one is refused, one of an older one is brought up to date when
	// it is opened. Version 1 had no log.
	schema = 2
)

// logState is what the file knows of its log.
type logState struct {
	covered uint64 // number of the last record that the file has
	open    bool   // there may be later records: without its log the file is not the whole store
}

func putLogState(tx *bbolt.Tx, s logState) error {
	v := binary.BigEndian.AppendUint64(make([]byte, sealSize), s.covered)
	if s.open {
		v = append(v, 1)
	} else {
		v = append(v, 0)
	}
	return tx.Bucket(bucketMeta).Put(metaLog, seal(metaLog, v))
}

// readLogState returns the store's id and what it knows of its log; nothing of both in a file of version 1.
func readLogState(db *bbolt.DB, path string) (id storeID, s logState, err error) {
	err = guardView(db, func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucketMeta)
		if layoutOf(b) < schema {
			return nil
		}
		p, err := unseal(metaLog, b.Get(metaLog))
		if err != nil || len(p) != 9 || len(b.Get(metaID)) != len(id) {
			return fmt.Errorf("%s does not say what it has of its log; restore a backup: %w", path, persistence.ErrDamaged)
		}
		copy(id[:], b.Get(metaID))
		s = logState{covered: binary.BigEndian.Uint64(p), open: p[8] != 0}
		return nil
	})
	return id, s, err
}

// layoutOf returns the version of a file's layout, 0 when it does not say.
func layoutOf(meta *bbolt.Bucket) uint32 {
	v := meta.Get(metaSchema)
	if len(v) != 4 {
		return 0
	}
	return binary.BigEndian.Uint32(v)
}

// upgrade brings a file of an older version up to date, in one transaction. One that is up to date it leaves alone.
func upgrade(db *bbolt.DB) error {
	var layout uint32
	err := guardView(db, func(tx *bbolt.Tx) error {
		layout = layoutOf(tx.Bucket(bucketMeta))
		return nil
	})
	if err != nil || layout == schema {
		return err
	}
	return db.Update(putMeta)
}

// putMeta gives a file without a log an id, and the version of this program.
func putMeta(tx *bbolt.Tx) error {
	var id storeID
	_, _ = rand.Read(id[:]) // never fails
	b := tx.Bucket(bucketMeta)
	return errors.Join(
		b.Put(metaSchema, binary.BigEndian.AppendUint32(nil, schema)),
		b.Put(metaID, id[:]),
		putLogState(tx, logState{}))
}

// initialMeta is what a new file says.
func initialMeta(tx *bbolt.Tx, now time.Time) error {
	b := tx.Bucket(bucketMeta)
	return errors.Join(
		b.Put(metaMagic, []byte(magic)),
		b.Put(metaCreated, binary.BigEndian.AppendUint64(nil, uint64(now.UnixMilli()))),
		putMeta(tx))
}
