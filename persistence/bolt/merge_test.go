package bolt

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// layered is a stack on a file, with a model of what it should hold.
type layered struct {
	s      *stack
	model  map[string]string
	number uint64
}

func (l *layered) put(key, value string) {
	l.number++
	o := l.s.active
	if value == "" {
		o.put(o.make("outbox"), l.number, []byte(key), nil)
		delete(l.model, key)
	} else {
		o.put(o.make("outbox"), l.number, []byte(key), []byte(value))
		l.model[key] = value
	}
	o.last = l.number
	l.s.published.Store(l.number)
}

// check walks the table from and below a key and compares with the model.
func (l *layered) check(t *testing.T, at string) {
	t.Helper()
	var up, down []string
	for k := range l.model {
		if k >= at {
			up = append(up, k)
		}
		if k < at || at == "" {
			down = append(down, k)
		}
	}
	slices.Sort(up)
	slices.Sort(down)
	slices.Reverse(down)
	err := l.s.read(func(v *view) error {
		table := v.table(bucketOutbox)
		var end []byte
		if at != "" {
			end = []byte(at)
		}
		for name, walk := range map[string]struct {
			rows rows
			want []string
		}{"from": {table.from([]byte(at)), up}, "below": {table.below(end), down}} {
			for _, want := range walk.want {
				k, val := walk.rows.next()
				if string(k) != want || string(val) != l.model[want] {
					t.Fatalf("%s %q: got %q %q, want %q %q", name, at, k, val, want, l.model[want])
				}
				if got := table.get(k); !bytes.Equal(got, val) {
					t.Fatalf("get %q: %q", k, got)
				}
			}
			if k, _ := walk.rows.next(); k != nil {
				t.Fatalf("%s %q: %q too much", name, at, k)
			}
		}
		if val := table.get([]byte(at + "!")); val != nil {
			t.Fatalf("get of nothing: %q", val)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestMergedReads compares a file under two overlays with a map, whatever is moved from one to the other.
func TestMergedReads(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "parley.db"), nil)
	defer func() { _ = s.Close() }()
	l := &layered{s: newStack(s.db, 0), model: map[string]string{}}
	key := func() string { return fmt.Sprintf("k%03d", rand.N(200)) }
	for round := range 40 {
		for range 30 {
			value := ""
			if rand.N(3) > 0 {
				value = fmt.Sprint("v", l.number)
			}
			l.put(key(), value)
		}
		for range 10 {
			l.check(t, key())
		}
		l.check(t, "")
		switch {
		case round%3 == 0 && !l.s.busy():
			l.s.freeze()
		case round%3 == 2 && l.s.busy():
			if err := writeOverlay(l.s.db, l.s.frozen, logState{}); err != nil {
				t.Fatal(err)
			}
			l.check(t, key())
			l.s.thaw()
		}
	}
}

// TestReadsSeeOneMoment reads a pair of keys that are always equal while they are written, frozen and moved.
func TestReadsSeeOneMoment(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "parley.db"), nil)
	defer func() { _ = s.Close() }()
	st := newStack(s.db, 0)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for last := uint64(0); ; {
				select {
				case <-stop:
					return
				default:
				}
				err := st.read(func(v *view) error {
					table := v.table(bucketOutbox)
					a, b := string(table.get([]byte("a"))), string(table.get([]byte("b")))
					if want := fmt.Sprint(v.snap); (a != want || b != want) && v.snap > 0 || v.snap < last {
						t.Errorf("%q and %q at %d", a, b, v.snap)
					}
					last = v.snap
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for n := uint64(1); n <= 2000; n++ {
		o := st.active
		for _, k := range []string{"a", "c", "b"} {
			o.put(o.make("outbox"), n, []byte(k), fmt.Append(nil, n))
		}
		st.published.Store(n)
		if n%40 == 0 {
			if err := writeOverlay(st.db, st.freeze(), logState{}); err != nil {
				t.Error(err)
			}
			st.thaw()
		}
	}
	close(stop)
	wg.Wait()
}
