package bolt

import (
	"bytes"

	"go.etcd.io/bbolt"
)

// rows walks a table in one direction and shows each key once, as the newest layer that knows it has it.
type rows struct {
	reverse bool
	snap    uint64
	layers  [2]layer // the newer one first
	base    *bbolt.Cursor
	k, v    []byte // where base is
}

// layer is a walk over one list.
type layer struct {
	list  *list
	node  *node
	value []byte // nil for a deleted key
}

// from walks upwards from the first key that is not less than key.
func (t *table) from(key []byte) rows {
	r := rows{snap: t.snap}
	for i, l := range [2]*list{t.young, t.old} {
		if l != nil {
			r.layers[i] = layer{list: l, node: l.seek(key, nil)}
			r.settle(&r.layers[i])
		}
	}
	if t.base != nil {
		r.base = t.base.Cursor()
		r.k, r.v = r.base.Seek(key)
	}
	return r
}

// below walks downwards from the last key that is less than key, or from the very last one when key is nil.
func (t *table) below(key []byte) rows {
	r := rows{snap: t.snap, reverse: true}
	for i, l := range [2]*list{t.young, t.old} {
		if l != nil {
			r.layers[i] = layer{list: l, node: l.below(key)}
			r.settle(&r.layers[i])
		}
	}
	if t.base != nil {
		r.base = t.base.Cursor()
		if key != nil {
			r.k, r.v = r.base.Seek(key)
		}
		if r.k == nil {
			r.k, r.v = r.base.Last()
		} else {
			r.k, r.v = r.base.Prev()
		}
	}
	return r
}

// settle moves a layer to the next key that the snapshot knows, from where it is.
func (r *rows) settle(l *layer) {
	for ; l.node != nil; l.node = r.step(l) {
		if v := l.node.at(r.snap); v != nil {
			l.value = v.value
			return
		}
	}
}

func (r *rows) step(l *layer) *node {
	if r.reverse {
		return l.list.previous(l.node)
	}
	return l.node.next[0].Load()
}

// next returns the next row, a nil key at the end. The slices are good until the view ends.
func (r *rows) next() (key, value []byte) {
	for {
		gone := false
		key, value = r.k, r.v
		for i := len(r.layers) - 1; i >= 0; i-- { // the newest last: it wins among equal keys
			if l := &r.layers[i]; l.node != nil && (key == nil || r.order(l.node.key, key) <= 0) {
				key, value, gone = l.node.key, l.value, l.value == nil
			}
		}
		if key == nil {
			return nil, nil
		}
		r.pass(key)
		if !gone {
			return key, value
		}
	}
}

// order compares two keys in the direction of the walk.
func (r *rows) order(a, b []byte) int {
	if r.reverse {
		return bytes.Compare(b, a)
	}
	return bytes.Compare(a, b)
}

// pass moves every layer that is at key beyond it.
func (r *rows) pass(key []byte) {
	for i := range r.layers {
		if l := &r.layers[i]; l.node != nil && bytes.Equal(l.node.key, key) {
			l.node = r.step(l)
			r.settle(l)
		}
	}
	switch {
	case r.k == nil || !bytes.Equal(r.k, key):
	case r.reverse:
		r.k, r.v = r.base.Prev()
	default:
		r.k, r.v = r.base.Next()
	}
}
