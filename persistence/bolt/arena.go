package bolt

// arena hands out memory for the values of one transaction: bbolt keeps a value's slice until the commit, and a
// thousand small allocations a commit are a thousand for the garbage collector.
type arena struct {
	slab []byte
	used int
}

const (
	arenaSlab = 1 << 20
	// arenaLarge is the size from which a value gets memory of its own.
	arenaLarge = arenaSlab / 4
)

// take returns n bytes that are the caller's until reset. They are not zero.
func (a *arena) take(n int) []byte {
	if n > arenaLarge {
		return make([]byte, n)
	}
	if a.slab == nil || a.used+n > len(a.slab) {
		a.slab, a.used = make([]byte, arenaSlab), 0
	}
	b := a.slab[a.used : a.used+n : a.used+n]
	a.used += n
	return b
}

// reset gives the memory back. The current slab is used again: no transaction that saw it is open.
func (a *arena) reset() { a.used = 0 }
