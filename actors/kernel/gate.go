package kernel

// Gate runs pieces of work one after the other where they have a key in common, within one actor. A piece of work may
// last over several messages: it holds the gate until it calls Leave.
type Gate[K comparable] struct{ queues map[K][]func() }

// Enter runs f now, or when those in front of it have left.
func (g *Gate[K]) Enter(key K, f func()) {
	if g.queues == nil {
		g.queues = map[K][]func(){}
	}
	queue, busy := g.queues[key]
	if busy {
		g.queues[key] = append(queue, f)
		return
	}
	g.queues[key] = nil
	f()
}

// Leave lets the next one in.
func (g *Gate[K]) Leave(key K) {
	queue := g.queues[key]
	if len(queue) == 0 {
		delete(g.queues, key)
		return
	}
	g.queues[key] = queue[1:]
	queue[0]()
}
