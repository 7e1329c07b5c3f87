package bolt

import (
	"bytes"
	"math/rand/v2"
	"sync/atomic"
)

// listLevels is the height of the tallest node. With one node in four a level taller, twelve levels serve 16 million.
const listLevels = 12

// list is a sorted list of keys with the versions of their values: a skip list that one goroutine changes while any
// number read. Nothing is ever taken out, so a reader needs no lock; the whole list goes with its overlay.
type list struct {
	root   node
	height atomic.Int32
}

// node is a key of a list.
type node struct {
	key    []byte
	latest atomic.Pointer[version]
	before atomic.Pointer[node] // the root for the first
	next   []atomic.Pointer[node]
}

// version is what a record made of a key.
type version struct {
	number uint64 // of the record
	value  []byte // nil when the key was deleted; only the writer reads it before the record is published
	before *version
}

func newList() *list {
	l := &list{}
	l.root.next = make([]atomic.Pointer[node], listLevels)
	l.height.Store(1)
	return l
}

// at returns the version of a key that the records up to snap have made, nil when they know nothing of it.
func (n *node) at(snap uint64) *version {
	v := n.latest.Load()
	for v != nil && v.number > snap {
		v = v.before
	}
	return v
}

// seek returns the first node whose key is not less than key. The nodes before it go to path, unless that is nil.
func (l *list) seek(key []byte, path *[listLevels]*node) *node {
	n := &l.root
	var stop *node // compared already, one level above
	for level := int(l.height.Load()) - 1; level >= 0; level-- {
		next := n.next[level].Load()
		for next != nil && next != stop && bytes.Compare(next.key, key) < 0 {
			n = next
			next = n.next[level].Load()
		}
		stop = next
		if path != nil {
			path[level] = n
		}
	}
	return stop
}

// previous returns the node before n, nil for none. One that is just being inserted may be left out: no reader's
// snapshot knows it.
func (l *list) previous(n *node) *node {
	if p := n.before.Load(); p != &l.root {
		return p
	}
	return nil
}

// below returns the last node whose key is less than key, or the very last one when key is nil; nil for none.
func (l *list) below(key []byte) *node {
	n := &l.root
	var stop *node
	for level := int(l.height.Load()) - 1; level >= 0; level-- {
		next := n.next[level].Load()
		for next != nil && next != stop && (key == nil || bytes.Compare(next.key, key) < 0) {
			n = next
			next = n.next[level].Load()
		}
		stop = next
	}
	if n == &l.root {
		return nil
	}
	return n
}

// get returns the value of a key as the records up to snap have made it. known is false when they say nothing of it, and
// the value is nil when they deleted it. A nil list knows nothing.
func (l *list) get(key []byte, snap uint64) (value []byte, known bool) {
	if l == nil {
		return nil, false
	}
	n := l.seek(key, nil)
	if n == nil || !bytes.Equal(n.key, key) {
		return nil, false
	}
	v := n.at(snap)
	if v == nil {
		return nil, false
	}
	return v.value, true
}

// randomHeight draws the height of a new node.
func randomHeight() int {
	h := 1
	for bits := rand.Uint32(); bits&3 == 0 && h < listLevels; bits >>= 2 {
		h++
	}
	return h
}
