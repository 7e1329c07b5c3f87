package bolt

import (
	"bytes"
	"sync/atomic"
)

// What a key and a version cost in memory besides their bytes, roughly.
const (
	nodeCost    = 104
	versionCost = 48
)

// slabSize is how many nodes, versions and links an overlay makes at a time.
const slabSize = 256

// overlay holds what the records since a checkpoint have changed, by bucket. One goroutine writes, any number read.
type overlay struct {
	tables atomic.Pointer[map[string]*list]
	size   atomic.Int64 // bytes, with what the bookkeeping costs

	// What follows belongs to the writer, and to the checkpoint when the overlay is frozen.
	records int      // published ones
	last    uint64   // number of the last of them
	segment *segment // that has them, nil when there is none

	arena    arena
	nodes    []node
	versions []version
	links    []atomic.Pointer[node]
}

func newOverlay() *overlay {
	o := &overlay{}
	o.tables.Store(&map[string]*list{})
	return o
}

// list returns the list of a bucket, nil when nothing has changed there. A nil overlay has none.
func (o *overlay) list(bucket []byte) *list {
	if o == nil {
		return nil
	}
	return (*o.tables.Load())[string(bucket)]
}

// make returns the list of a bucket and makes it if need be. Buckets are few, so the map is replaced as a whole.
func (o *overlay) make(bucket string) *list {
	old := *o.tables.Load()
	if l := old[bucket]; l != nil {
		return l
	}
	tables := make(map[string]*list, len(old)+1)
	for name, l := range old {
		tables[name] = l
	}
	l := newList()
	tables[bucket] = l
	o.tables.Store(&tables)
	return l
}

// put sets a key in a list of the overlay, or deletes it when value is nil, for the record of this number. The key is
// copied, the value is not. fresh says that the record had not touched the key before.
func (o *overlay) put(l *list, number uint64, key, value []byte) (n *node, fresh bool) {
	var path [listLevels]*node
	n = l.seek(key, &path)
	if n == nil || !bytes.Equal(n.key, key) {
		n = o.insert(l, &path, key)
	}
	old := n.latest.Load()
	if old != nil && old.number == number {
		o.size.Add(int64(len(value) - len(old.value)))
		old.value = value // nobody reads it before the record is published
		return n, false
	}
	if len(o.versions) == 0 {
		o.versions = make([]version, slabSize)
	}
	v := &o.versions[0]
	o.versions = o.versions[1:]
	v.number, v.value, v.before = number, value, old
	n.latest.Store(v)
	o.size.Add(int64(len(value)) + versionCost)
	return n, true
}

// insert links a new node behind those of path.
func (o *overlay) insert(l *list, path *[listLevels]*node, key []byte) *node {
	if len(o.nodes) == 0 {
		o.nodes = make([]node, slabSize)
	}
	n := &o.nodes[0]
	o.nodes = o.nodes[1:]
	n.key = o.arena.take(len(key))
	copy(n.key, key)
	h := randomHeight()
	if len(o.links) < h {
		o.links = make([]atomic.Pointer[node], slabSize)
	}
	n.next, o.links = o.links[:h:h], o.links[h:]
	if top := int(l.height.Load()); h > top {
		for level := top; level < h; level++ {
			path[level] = &l.root
		}
		l.height.Store(int32(h))
	}
	n.before.Store(path[0])
	for level := range h {
		n.next[level].Store(path[level].next[level].Load())
		path[level].next[level].Store(n)
	}
	if behind := n.next[0].Load(); behind != nil {
		behind.before.Store(n)
	}
	o.size.Add(int64(len(key)) + nodeCost)
	return n
}

// undo takes the version of an unpublished record off a node. A node without versions is as good as none. The memory stays
// in the account: it goes with the overlay.
func (o *overlay) undo(n *node, number uint64) {
	if v := n.latest.Load(); v != nil && v.number == number {
		n.latest.Store(v.before)
	}
}
