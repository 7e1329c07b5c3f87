// Package conn is the socket: WebSocket connections that cost little while they are idle and
// little more than one write(2) for every frame that is sent to many of them. It knows nothing
// of chat or of the formats that travel inside the frames.
//
// github.com/coder/websocket does the handshake. Everything after it is done here, because the
// library keeps two buffers, several channels and a finaliser for every connection: an idle
// connection that reads through the library costs 8.9 KB of resident memory even with the smallest
// buffers, and one of this package 6.5 KB (TestMemory prints the present figure; of it 2 KB are
// the stack and 3 KB the heap). A delivery costs what a bare write(2) costs, within the noise of
// the measurement, and a twelfth of it when 16 frames wait (BenchmarkFan). FuzzReader compares the reader to the library.
//
// # Reading
//
// One goroutine belongs to each connection. It waits for readability at a shallow depth and holds
// no buffer while it waits; bytes are read into a pooled buffer and parsed from there. A goroutine
// that has run a handler has a grown stack that the garbage collector could not shrink to the
// smallest size again, so it is replaced by a fresh one once its client has been silent for two seconds.
//
// # Writing
//
// A Frame is encoded once and shared by all connections that get it, since frames of a server are
// not masked. Push only appends to a connection's outbox and puts the connection on the list of a
// flush worker; the worker writes everything that waits with one non-blocking system call. At any
// time the write side of a connection has one owner (Conn.busy): nobody, the worker, or, once the
// kernel took less than everything, a goroutine that lives until the outbox is empty or the client
// is cut off. So frames stay whole and in order, and no client delays another one.
//
// # Liveness
//
// One timing wheel of the Hub sends heartbeats and finds the connections that do not answer them.
// No connection has a timer.
package conn
