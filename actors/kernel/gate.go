package kernel

// Gate runs pieces of work one after the other where they have a key in common, within one actor. A piece of work may
// last over several messages: it holds the gate until it calls Leave.
type Gate[K comparable] struct{ lines map[K]*line }

// line is who waits for one key.
type line struct {
	queue   []func()
	running bool // a piece of work is on the stack
	left    bool // and has left the gate already
}

// Enter runs f now, or when those in front of it have left.
func (g *Gate[K]) Enter(key K, f func()) {
	if l := g.lines[key]; l != nil {
		l.queue = append(l.queue, f)
		return
	}
	if g.lines == nil {
		g.lines = map[K]*line{}
	}
	l := &line{}
	g.lines[key] = l
	g.run(key, l, f)
}

// Leave lets the next one in: at once, or when the piece of work that calls it returns.
func (g *Gate[K]) Leave(key K) {
	l := g.lines[key]
	switch {
	case l == nil:
	case l.running:
		l.left = true
	case len(l.queue) == 0:
		delete(g.lines, key)
	default:
		g.run(key, l, l.next())
	}
}

// run goes on as long as each piece of work leaves before it returns, so that a long line does not pile up on the stack.
func (g *Gate[K]) run(key K, l *line, f func()) {
	for {
		l.running, l.left = true, false
		f()
		l.running = false
		if !l.left {
			return
		}
		if len(l.queue) == 0 {
			delete(g.lines, key)
			return
		}
		f = l.next()
	}
}

func (l *line) next() func() {
	f := l.queue[0]
	l.queue[0] = nil
	l.queue = l.queue[1:]
	return f
}
