package bolt

import (
	"bytes"
	"errors"
	"testing"

	"parley/persistence"
)

type change struct {
	bucket     string
	key, value []byte
}

// encoded builds the changes of a record.
func encoded(changes []change) []byte {
	var r recorder
	r.begin()
	refs := map[string]*int{}
	for _, c := range changes {
		if refs[c.bucket] == nil {
			refs[c.bucket] = new(int)
		}
		r.change(refs[c.bucket], c.bucket, c.key, c.value)
	}
	return bytes.Clone(r.buf[frameSize:])
}

func TestRecordRoundTrip(t *testing.T) {
	want := []change{
		{"events", []byte("k"), []byte("v")},
		{"documents/c", []byte{0}, []byte{}},
		{"events", []byte("k2"), nil},
		{"claims/name", bytes.Repeat([]byte("k"), maxKey), bytes.Repeat([]byte("v"), 300)},
	}
	i := 0
	err := decodeRecord(encoded(want), func(bucket string, key, value []byte) error {
		w := want[i]
		if bucket != w.bucket || !bytes.Equal(key, w.key) || !bytes.Equal(value, w.value) || (value == nil) != (w.value == nil) {
			t.Errorf("change %d: %s %q %q", i, bucket, key, value)
		}
		i++
		return nil
	})
	if err != nil || i != len(want) {
		t.Errorf("%d changes, %v", i, err)
	}
}

func TestRecordRefuses(t *testing.T) {
	for name, c := range map[string]change{
		"meta":             {"meta", []byte("k"), nil},
		"unknown bucket":   {"other", []byte("k"), nil},
		"no collection":    {"documents/", []byte("k"), nil},
		"no key":           {"events", nil, nil},
		"key that is long": {"events", make([]byte, maxKey+1), nil},
	} {
		err := decodeRecord(encoded([]change{c}), func(string, []byte, []byte) error { return nil })
		if !errors.Is(err, persistence.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzDecodeRecord gives the decoder any bytes. What it makes of them is the same after another round.
func FuzzDecodeRecord(f *testing.F) {
	f.Add([]byte{})
	f.Add(encoded([]change{{"events", []byte("k"), []byte("v")}, {"claims/x", []byte("a"), nil}, {"events", []byte("k"), []byte{}}}))
	f.Add([]byte{1, 6, 'e', 'v', 'e', 'n', 't', 's', 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1})
	read := func(data []byte) (changes []change, err error) {
		err = decodeRecord(data, func(bucket string, key, value []byte) error {
			changes = append(changes, change{bucket, key, value})
			return nil
		})
		return changes, err
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		changes, err := read(data)
		if err != nil {
			if !errors.Is(err, persistence.ErrDamaged) {
				t.Errorf("%v", err)
			}
			return
		}
		again, err := read(encoded(changes))
		if err != nil || len(again) != len(changes) {
			t.Fatalf("%d changes became %d: %v", len(changes), len(again), err)
		}
		for i, c := range changes {
			if a := again[i]; a.bucket != c.bucket || !bytes.Equal(a.key, c.key) || !bytes.Equal(a.value, c.value) || (a.value == nil) != (c.value == nil) {
				t.Errorf("%v became %v", c, a)
			}
		}
	})
}
