package bolt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"

	"parley/persistence"
)

const (
	fileMode   = 0o600
	folderMode = 0o700
	// newSuffix marks a file that is being created: it gets its real name once it is whole.
	newSuffix = ".new-"
)

// openFile opens and checks an existing file, and hands bbolt the very file that was checked.
func openFile(ctx context.Context, path string, readOnly bool, log *slog.Logger) (db *bbolt.DB, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open the store %s: %w", path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file; name the store's file: %w", path, persistence.ErrForeign)
	}
	how := os.O_RDWR
	if readOnly {
		how = os.O_RDONLY
	}
	f, err := os.OpenFile(path, how, fileMode)
	if err != nil {
		return nil, fmt.Errorf("open the store %s: %w", path, err)
	}
	owned := true
	defer func() {
		if owned {
			_ = f.Close() // the error that matters is on its way
		}
	}()
	if err := lock(ctx, f, !readOnly); err != nil {
		return nil, err
	}
	if err := inspectFile(f, path, log); err != nil {
		return nil, err
	}
	owned = false // bbolt closes it, also when it fails
	db, err = openBolt(path, f, readOnly)
	if err != nil {
		return nil, err
	}
	if err := checkMeta(db, path); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// inspectFile refuses a file that is not whole, with a sentence that says what to do. It never changes it.
func inspectFile(f *os.File, path string, log *slog.Logger) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("open the store %s: %w", path, err)
	}
	if info.Size() == 0 {
		return fmt.Errorf("%s is empty, which no store ever is: restore a backup, or delete it to begin anew: %w",
			path, persistence.ErrDamaged)
	}
	m, err := inspect(f, info.Size())
	switch {
	case errors.Is(err, persistence.ErrForeign):
		return fmt.Errorf("%s was not made by this program, nothing was changed; name another path: %w", path, err)
	case err != nil:
		return fmt.Errorf("%s is damaged, nothing was changed; keep a copy and restore a backup: %w", path, err)
	}
	if m.fellBack {
		log.Warn("one meta page of the store is broken; continuing from the last commit that is whole",
			"path", path, "transaction", m.tx)
	}
	return nil
}

// openBolt opens a checked file with bbolt. A panic or a fault of the map on the way is damage.
func openBolt(path string, f *os.File, readOnly bool) (db *bbolt.DB, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			db, err = nil, fmt.Errorf("%s is damaged, nothing was changed; restore a backup: %v: %w", path, r,
				persistence.ErrDamaged)
			_ = f.Close() // the damage is what matters
		}
	}()
	options := &bbolt.Options{
		Timeout:         lockWait,
		FreelistType:    bbolt.FreelistMapType,
		NoFreelistSync:  true,
		NoStatistics:    true,
		PageSize:        pageSize,
		ReadOnly:        readOnly,
		InitialMmapSize: mapSize(),
		OpenFile:        func(string, int, os.FileMode) (*os.File, error) { return f, nil },
	}
	db, err = bbolt.Open(path, fileMode, options)
	if err != nil {
		return nil, fmt.Errorf("open the store %s: %w", path, err)
	}
	db.AllocSize = allocStep
	return db, nil
}

// checkMeta refuses a bbolt file of somebody else and one of a newer version.
func checkMeta(db *bbolt.DB, path string) error {
	return guardView(db, func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucketMeta)
		if b == nil || string(b.Get(metaMagic)) != magic {
			return fmt.Errorf("%s is a database of another program, nothing was changed; name another path: %w",
				path, persistence.ErrForeign)
		}
		switch n := layoutOf(b); {
		case n == 0:
			return fmt.Errorf("%s does not say its version; restore a backup: %w", path, persistence.ErrDamaged)
		case n > schema:
			return fmt.Errorf("%s has layout %d, this program knows up to %d, nothing was changed; use the newer program: %w",
				path, n, schema, persistence.ErrForeign)
		}
		for _, name := range fixedBuckets() {
			if tx.Bucket(name) == nil {
				return fmt.Errorf("%s has no %s; restore a backup: %w", path, name, persistence.ErrDamaged)
			}
		}
		return nil
	})
}

func fixedBuckets() [][]byte {
	return [][]byte{bucketMeta, bucketStreams, bucketEvents, bucketSnapshots, bucketCounters, bucketOutbox, bucketExpiry}
}

// createFile makes an empty store at path, where nothing is yet. It is built under another name and linked when it is
// whole, so that a crash never leaves half a store and two servers that start at once never write over each other.
func createFile(path string, now time.Time) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, folderMode); err != nil {
		return fmt.Errorf("create the folder of the store %s: %w", path, err)
	}
	f, err := os.CreateTemp(dir, filepath.Base(path)+newSuffix+"*") // mode 0600
	if err != nil {
		return fmt.Errorf("create the store %s: %w", path, err)
	}
	temp := f.Name()
	defer func() { _ = os.Remove(temp) }() // gone already when it was renamed
	if err := initialise(f, temp, now); err != nil {
		return fmt.Errorf("create the store %s: %w", path, err)
	}
	switch err := os.Link(temp, path); {
	case err == nil:
	case exists(path):
		return nil // another process was faster; its lock decides
	default: // a file system without hard links
		if err := os.Rename(temp, path); err != nil {
			return fmt.Errorf("create the store %s: %w", path, err)
		}
	}
	return syncFolder(dir)
}

// initialise writes the buckets and the meta into a new file and closes it.
func initialise(f *os.File, path string, now time.Time) error {
	db, err := openBolt(path, f, false)
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range fixedBuckets() {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		return initialMeta(tx, now)
	})
	return errors.Join(err, db.Close())
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// syncFolder makes a new name durable.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync the folder %s: %w", dir, err)
	}
	defer func() { _ = d.Close() }() // only read
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync the folder %s: %w", dir, err)
	}
	return nil
}

// sweep removes what a crash left of files that were being created. Only the holder of the store's lock may: a file of
// a process that is creating one now is not needed any more.
func sweep(path string) {
	left, err := filepath.Glob(filepath.Join(escapeGlob(filepath.Dir(path)), escapeGlob(filepath.Base(path))+newSuffix+"*"))
	if err != nil {
		return // litter, nothing that depends on it
	}
	for _, name := range left {
		_ = os.Remove(name) // tried again at the next start
	}
}

// escapeGlob makes a path match itself only.
func escapeGlob(s string) string {
	var b []byte
	for i := range len(s) {
		if c := s[i]; c == '*' || c == '?' || c == '[' || c == '\\' {
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return string(b)
}

// guardView runs a read. A panic or a fault of the map, which is what bbolt has for damage, becomes ErrDamaged.
func guardView(db *bbolt.DB, fn func(tx *bbolt.Tx) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("read the store: %v: %w", r, persistence.ErrDamaged)
		}
	}()
	return db.View(fn)
}
