package control

import (
	"net"
	"sync"
)

// limited is a listener with at most so many connections open at once; others wait in the kernel's queue.
type limited struct {
	net.Listener
	slots  chan struct{}
	closed chan struct{}
	once   sync.Once
}

func limit(l net.Listener, n int) net.Listener {
	return &limited{Listener: l, slots: make(chan struct{}, n), closed: make(chan struct{})}
}

// Accept waits for a slot, then for a connection.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &slotted{Conn: c, release: sync.OnceFunc(func() { <-l.slots })}, nil
}

// Close ends Accept too.
func (l *limited) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type slotted struct {
	net.Conn
	release func()
}

// Close gives the slot back.
func (c *slotted) Close() error {
	defer c.release()
	return c.Conn.Close()
}
