package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"

	"parley/persistence"
)

// The file is walked before bbolt sees it: bbolt walks it too, but trusts what it reads and does so in a goroutine of
// its own, where a wrong number ends the process. The layout is that of bbolt's internal/common package.
const (
	boltMagic   = 0xED0CDAED
	boltVersion = 2

	metaOffset  = 16 // of the meta behind its page header
	metaSummed  = 56 // bytes of it under the checksum
	pageHeader  = 16
	elementSize = 16 // of branch and leaf elements alike

	flagBranch   = 0x01
	flagLeaf     = 0x02
	flagFreelist = 0x10
	flagBucket   = 0x01 // of a leaf element

	bucketHeader = 16
	noFreelist   = ^uint64(0)

	minPage = 1 << 10
	maxPage = 1 << 24
	// maxDepth is the deepest tree that is followed. Thirty levels hold more than any disk.
	maxDepth = 64
)

// pageMeta is what the meta page of the newest whole commit says.
type pageMeta struct {
	pageSize uint64
	root     uint64
	freelist uint64
	pages    uint64
	tx       uint64
	// fellBack is set when the other meta page did not read back: the commit that wrote it is gone.
	fellBack bool
}

// inspect checks that the file is a whole bbolt file: its meta, its length, and every page that can be reached. It only
// reads.
func inspect(f io.ReaderAt, size int64) (pageMeta, error) {
	m, err := readMeta(f, size)
	if err != nil {
		return m, err
	}
	if m.pages > uint64(size)/m.pageSize {
		return m, fmt.Errorf("it is cut short: %d bytes, its last commit needs %d: %w",
			size, m.pages*m.pageSize, persistence.ErrDamaged)
	}
	w := walker{f: f, meta: m, seen: make([]uint64, m.pages/64+1)}
	if err := w.freelist(); err != nil {
		return m, err
	}
	if err := w.page(child{id: m.root, top: true}, 0); err != nil {
		return m, err
	}
	return m, nil
}

// readMeta finds the meta page of the newest commit that was written whole.
func readMeta(f io.ReaderAt, size int64) (pageMeta, error) {
	first, magic0, err0 := metaAt(f, 0)
	var second pageMeta
	var magic1 bool
	err1 := errors.New("no second meta page")
	if err0 == nil {
		second, magic1, err1 = metaAt(f, int64(first.pageSize))
	} else {
		for at := int64(minPage); at <= maxPage && at < size; at *= 2 {
			var seen bool
			second, seen, err1 = metaAt(f, at)
			magic1 = magic1 || seen
			if err1 == nil && int64(second.pageSize) == at {
				break
			}
			err1 = errors.New("no second meta page")
		}
	}
	switch {
	case err0 == nil && err1 == nil && second.pageSize == first.pageSize:
		if second.tx > first.tx {
			return second, nil
		}
		return first, nil
	case err0 == nil:
		first.fellBack = true
		return first, nil
	case err1 == nil:
		second.fellBack = true
		return second, nil
	case magic0 || magic1:
		return pageMeta{}, fmt.Errorf("both of its meta pages are broken: %w", persistence.ErrDamaged)
	}
	return pageMeta{}, fmt.Errorf("it is no database file: %w", persistence.ErrForeign)
}

// metaAt reads one meta page; magic says whether it looks like one at all.
func metaAt(f io.ReaderAt, at int64) (m pageMeta, magic bool, err error) {
	var b [metaOffset + metaSummed + 8]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		return m, false, err
	}
	ne, p := binary.NativeEndian, b[metaOffset:]
	if ne.Uint32(p) != boltMagic {
		return m, false, errors.New("no magic")
	}
	sum := fnv.New64a()
	_, _ = sum.Write(p[:metaSummed]) // a hash never fails
	if sum.Sum64() != ne.Uint64(p[metaSummed:]) {
		return m, true, errors.New("checksum")
	}
	m = pageMeta{pageSize: uint64(ne.Uint32(p[8:])), root: ne.Uint64(p[16:]), freelist: ne.Uint64(p[32:]),
		pages: ne.Uint64(p[40:]), tx: ne.Uint64(p[48:])}
	size := m.pageSize
	if ne.Uint32(p[4:]) != boltVersion || size < minPage || size > maxPage || size&(size-1) != 0 {
		return m, true, errors.New("version or page size")
	}
	return m, true, nil
}

// walker visits every page that can be reached, each once.
type walker struct {
	f    io.ReaderAt
	meta pageMeta
	seen []uint64 // a bit a page
}

// child is what a page refers to: a subtree with its first key and the key that it ends before.
type child struct {
	id       uint64
	min, max []byte // keys lie in [min, max); nil is no bound
	top      bool   // part of the tree of all buckets, in which there is nothing else
}

func damagedPage(id uint64, what string) error {
	return fmt.Errorf("page %d: %s: %w", id, what, persistence.ErrDamaged)
}

// load reads a page with its overflow and marks it as seen.
func (w *walker) load(id uint64) ([]byte, error) {
	if id < 2 || id >= w.meta.pages {
		return nil, damagedPage(id, "outside of the file")
	}
	size := w.meta.pageSize
	var h [pageHeader]byte
	if _, err := w.f.ReadAt(h[:], int64(id*size)); err != nil {
		return nil, fmt.Errorf("read page %d: %w", id, err)
	}
	overflow := uint64(binary.NativeEndian.Uint32(h[12:]))
	if binary.NativeEndian.Uint64(h[:]) != id || overflow >= w.meta.pages-id {
		return nil, damagedPage(id, "its header is wrong")
	}
	for i := id; i <= id+overflow; i++ {
		if w.seen[i/64]&(1<<(i%64)) != 0 {
			return nil, damagedPage(i, "used twice")
		}
		w.seen[i/64] |= 1 << (i % 64)
	}
	b := make([]byte, (overflow+1)*size)
	if _, err := w.f.ReadAt(b, int64(id*size)); err != nil {
		return nil, fmt.Errorf("read page %d: %w", id, err)
	}
	return b, nil
}

// freelist checks the page of a stored free list; this engine stores none.
func (w *walker) freelist() error {
	if w.meta.freelist == noFreelist {
		return nil
	}
	b, err := w.load(w.meta.freelist)
	if err != nil {
		return err
	}
	ne := binary.NativeEndian
	n, at := uint64(ne.Uint16(b[10:])), uint64(pageHeader)
	if n == 0xFFFF {
		n, at = ne.Uint64(b[pageHeader:]), pageHeader+8
	}
	if ne.Uint16(b[8:]) != flagFreelist || n > (uint64(len(b))-at)/8 {
		return damagedPage(w.meta.freelist, "no free list")
	}
	for ; n > 0; n, at = n-1, at+8 {
		if id := ne.Uint64(b[at:]); id < 2 || id >= w.meta.pages {
			return damagedPage(id, "a free page outside of the file")
		}
	}
	return nil
}

// page checks a subtree.
func (w *walker) page(c child, depth int) error {
	if depth > maxDepth {
		return damagedPage(c.id, "the tree is too deep")
	}
	b, err := w.load(c.id)
	if err != nil {
		return err
	}
	below, err := elements(c, b)
	if err != nil {
		return err
	}
	for _, c := range below {
		if err := w.page(c, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// elements checks the elements of a page and returns the subtrees and buckets below it.
func elements(c child, b []byte) ([]child, error) {
	id := c.id
	ne := binary.NativeEndian
	flags, count := ne.Uint16(b[8:]), int(ne.Uint16(b[10:]))
	branch := flags == flagBranch
	if !branch && flags != flagLeaf {
		return nil, damagedPage(id, fmt.Sprintf("unexpected kind %#x", flags))
	}
	if pageHeader+count*elementSize > len(b) || (branch && count == 0) {
		return nil, damagedPage(id, "its count is wrong")
	}
	var children []child
	var last []byte
	for i := range count {
		at := pageHeader + i*elementSize
		key, value, err := element(id, b, at, branch)
		if err != nil {
			return nil, err
		}
		if len(key) == 0 || (i > 0 && bytes.Compare(key, last) <= 0) || (c.min != nil && bytes.Compare(key, c.min) < 0) ||
			(c.max != nil && bytes.Compare(key, c.max) >= 0) {
			return nil, damagedPage(id, "its keys are out of order")
		}
		last = key
		if branch {
			if n := len(children); n > 0 {
				children[n-1].max = key
			}
			children = append(children, child{id: ne.Uint64(b[at+8:]), min: key, max: c.max, top: c.top})
			continue
		}
		switch flags := ne.Uint32(b[at:]); {
		case flags == flagBucket:
			root, err := bucketRoot(id, value)
			if err != nil {
				return nil, err
			}
			if root != 0 {
				children = append(children, child{id: root})
			}
		case flags != 0 || c.top:
			return nil, damagedPage(id, fmt.Sprintf("an entry of unexpected kind %#x", flags))
		}
	}
	return children, nil
}

// element returns the key and, on a leaf, the value of the element at an offset of a page.
func element(id uint64, b []byte, at int, branch bool) (key, value []byte, err error) {
	ne := binary.NativeEndian
	pos, ksize, vsize := ne.Uint32(b[at:]), ne.Uint32(b[at+4:]), uint32(0)
	if !branch {
		pos, ksize, vsize = ne.Uint32(b[at+4:]), ne.Uint32(b[at+8:]), ne.Uint32(b[at+12:])
	}
	start := uint64(at) + uint64(pos)
	if start+uint64(ksize)+uint64(vsize) > uint64(len(b)) {
		return nil, nil, damagedPage(id, "an entry reaches out of it")
	}
	end := start + uint64(ksize)
	return b[start:end], b[end : end+uint64(vsize)], nil
}

// bucketRoot checks a bucket's entry and returns its root page, 0 for one that is kept inside the entry.
func bucketRoot(id uint64, value []byte) (uint64, error) {
	if len(value) < bucketHeader {
		return 0, damagedPage(id, "a bucket entry is short")
	}
	if root := binary.NativeEndian.Uint64(value); root != 0 {
		return root, nil
	}
	inline := value[bucketHeader:]
	if len(inline) < pageHeader || binary.NativeEndian.Uint16(inline[8:]) != flagLeaf {
		return 0, damagedPage(id, "an inline bucket is broken")
	}
	below, err := elements(child{id: id}, inline)
	if err == nil && len(below) > 0 {
		err = damagedPage(id, "a bucket inside an inline bucket")
	}
	return 0, err
}
