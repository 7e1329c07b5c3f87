package bolt

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/bbolt"

	"parley/persistence"
)

func TestHeadRoundTrip(t *testing.T) {
	key := []byte("agency/a")
	want := head{epoch: 1, view: 2, last: 3, first: 4, snapSeq: 5, hasSnap: true, tip: chain{6}, base: chain{7}, known: true}
	got, err := decodeHead(key, want.encode(key, make([]byte, headSize)))
	if err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestChainTellsEventsApart(t *testing.T) {
	c := newChainer()
	seen := map[chain]string{}
	for name, link := range map[string]chain{
		"plain":          c.next(chain{}, 1, 2, "ab", []byte("cd")),
		"other before":   c.next(chain{1}, 1, 2, "ab", []byte("cd")),
		"other sequence": c.next(chain{}, 2, 2, "ab", []byte("cd")),
		"other time":     c.next(chain{}, 1, 3, "ab", []byte("cd")),
		"moved border":   c.next(chain{}, 1, 2, "abc", []byte("d")),
		"other data":     c.next(chain{}, 1, 2, "ab", []byte("ce")),
	} {
		if twin, ok := seen[link]; ok {
			t.Errorf("%s and %s have the same hash", name, twin)
		}
		seen[link] = name
	}
}

// FuzzDecode gives every decoder any bytes, with a checksum that is right so that they are looked at.
func FuzzDecode(f *testing.F) {
	key := []byte("key")
	e := persistence.Event{At: 1, Kind: "kind", Data: []byte("data")}
	f.Add(encodeEvent(key, make([]byte, eventSize(&e)), chain{}, &e))
	op := persistence.ClaimOp{Owner: "o", Data: []byte("d")}
	f.Add(encodeClaim(key, make([]byte, claimSize(&op)), &op))
	f.Add((&head{epoch: 1}).encode(key, make([]byte, headSize)))
	f.Add(expiryKey(nil, 5, "index", "key"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		if expires, index, k, err := decodeExpiryKey(data); err == nil {
			if again := expiryKey(nil, expires, string(index), string(k)); !bytes.Equal(again, data) {
				t.Errorf("expiry key %x became %x", data, again)
			}
		}
		_, _ = unseal(key, data)
		if len(data) < sealSize {
			return
		}
		v := seal(key, bytes.Clone(data))
		_, _ = decodeHead(key, v)
		_, _ = decodeCounter(key, v)
		_, _ = decodeSnapshot(key, v)
		if c, err := decodeClaim(key, v); err == nil && c.owner == nil {
			t.Error("a claim without an owner")
		}
		if e, err := decodeEvent(key, v); err == nil && len(e.kind)+len(e.data) > len(v) {
			t.Error("an event that is longer than its value")
		}
		if _, err := unseal([]byte("other"), v); err == nil {
			t.Error("a value is good under another key")
		}
	})
}

// FuzzInspect changes a real file; what inspect lets pass bbolt must be able to walk.
func FuzzInspect(f *testing.F) {
	path := filepath.Join(f.TempDir(), "seed.db")
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{PageSize: minPage, NoFreelistSync: true, NoSync: true})
	if err != nil {
		f.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range []string{"one", "two"} {
			b, err := tx.CreateBucket([]byte(name))
			if err != nil {
				return err
			}
			for i := range 60 {
				if err := b.Put([]byte{byte(i)}, bytes.Repeat([]byte("v"), i*len(name))); err != nil {
					return err
				}
			}
		}
		_, err := tx.CreateBucket([]byte("inline"))
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	if err := db.Close(); err != nil {
		f.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	m, err := inspect(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		f.Fatal(err)
	}
	file = file[:m.pages*m.pageSize]
	for i := range 40 {
		f.Add(uint32(i*977), uint64(1)<<(i%60), uint16(0))
	}
	f.Add(uint32(0), uint64(0), uint16(3000))
	f.Fuzz(func(t *testing.T, at uint32, change uint64, cut uint16) {
		damaged := bytes.Clone(file)
		for i := range 8 {
			damaged[(int(at)+i)%len(damaged)] ^= byte(change >> (8 * i))
		}
		damaged = damaged[:len(damaged)-int(cut)%len(damaged)]
		if _, err := inspect(bytes.NewReader(damaged), int64(len(damaged))); err != nil {
			return
		}
		walkAll(t, damaged)
	})
}

// walkAll has bbolt read everything of a file and write to each bucket: a wrong page would end the process here.
func walkAll(t *testing.T, file []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "passed.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoFreelistSync: true, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	err = db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(_ []byte, b *bbolt.Bucket) error {
			return b.ForEach(func(_, _ []byte) error { return nil })
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(_ []byte, b *bbolt.Bucket) error {
			return errors.Join(b.Put([]byte{0}, []byte("new")), b.Put([]byte{30, 1}, make([]byte, 300)), b.Delete([]byte{40}))
		})
	})
	if err != nil {
		t.Fatal(err)
	}
}
