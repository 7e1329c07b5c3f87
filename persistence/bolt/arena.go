package bolt

// arena hands out memory for the keys and values of one overlay: a thousand small allocations a round are a thousand for
// the garbage collector, and they all go at the same time.
type arena struct {
	slab []byte
	used int
}

const (
	// arenaFirst and arenaSlab are the sizes of the first slab and of the largest: each is twice the one before, so that an
	// overlay of a quiet moment stays small.
	arenaFirst = 8 << 10
	arenaSlab  = 256 << 10
	// arenaLarge is the size from which a value gets memory of its own.
	arenaLarge = arenaSlab / 8
)

// take returns n bytes, which are zero.
func (a *arena) take(n int) []byte {
	if n > arenaLarge {
		return make([]byte, n)
	}
	if a.slab == nil || a.used+n > len(a.slab) {
		a.slab, a.used = make([]byte, min(max(2*len(a.slab), arenaFirst, n), arenaSlab)), 0
	}
	b := a.slab[a.used : a.used+n : a.used+n]
	a.used += n
	return b
}
