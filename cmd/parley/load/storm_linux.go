package load

import (
	"bytes"
	"encoding/json"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// stormOpening is the number of connections of one loop that may be on their way back at one time: many more than
	// while the run begins, since all come at once.
	stormOpening = 2048
	// stormRetry is when a connection that was turned away tries again.
	stormRetry = time.Second
)

// storm drops, when its time has come, every connection that does not post, as a network does that fails: without a word.
// Then it dials all of them again.
func (l *loop) storm(now int64) {
	if l.stormAt == 0 || now < l.stormAt {
		return
	}
	if !l.stormed {
		l.stormed = true
		for _, c := range l.conns {
			if c.poster == nil && c.state == stateJoined && !c.slow {
				l.sweepAway(c)
			}
		}
	}
	for len(l.back) > 0 && l.opening < stormOpening && l.back[0].dialedAt <= now {
		c := l.back[0]
		l.back[0] = nil
		l.back = l.back[1:]
		l.dial(c)
	}
}

// sweepAway drops a connection. It stays a member of its room: it will catch up on what it misses.
func (l *loop) sweepAway(c *conn) {
	_ = unix.Close(c.fd)
	c.fd, c.state, c.away, c.inFrags = -1, stateNew, true, false
	c.rest, c.frags, c.unsent = nil, nil, nil
	c.dialedAt = l.now()
	l.away++
	l.tally.swept.Add(1)
	l.back = append(l.back, c)
}

// again plans the next try of a connection that could not come back.
func (l *loop) again(c *conn) {
	c.state, c.inFrags = stateNew, false
	c.rest, c.frags, c.unsent = nil, nil, nil
	c.dialedAt = l.now() + int64(stormRetry)
	l.opening--
	l.back = append(l.back, c)
}

// join asks for the room: for all of it, or for what came since the connection last heard of it.
func (l *loop) join(c *conn) {
	l.text = l.dialect.join(l.text[:0], c.room.id)
	if c.away {
		l.text = l.dialect.rejoin(l.text[:0], c.room.id, max(c.receiver.lastLog, c.joinedAt))
	}
	l.send(c, opText, l.text)
}

// rejoined takes in what a connection has missed.
func (l *loop) rejoined(c *conn, body []byte, now int64) {
	if c.state != stateJoining {
		return
	}
	var answer struct {
		Recovered bool `json:"recovered"`
		More      bool `json:"more"`
		Missed    []struct {
			Event string          `json:"event"`
			Data  json.RawMessage `json:"data"`
		} `json:"missed"`
	}
	if err := json.NewDecoder(bytes.NewReader(bytes.TrimLeft(body, ", "))).Decode(&answer); err != nil {
		l.tally.strange.Add(1)
		return
	}
	for _, m := range answer.Missed {
		if eventKinds[m.Event] == kindMessage {
			l.deliver(c, m.Data, now)
		} else {
			c.receiver.lastLog = max(c.receiver.lastLog, logSeq(m.Data))
		}
	}
	if answer.More {
		l.join(c)
		return
	}
	if !answer.Recovered {
		l.tally.gaps.Add(1)
	}
	c.state, c.away = stateJoined, false
	l.opening--
	l.away--
	l.tally.back.Add(1)
	l.tally.returned.add(now - l.stormAt)
}

// stopReading leaves what comes where it is. The poller still tells when the server hangs up.
func (l *loop) stopReading(c *conn) {
	ev := unix.EpollEvent{Events: unix.EPOLLRDHUP, Fd: int32(c.slot)}
	if err := unix.EpollCtl(l.poll, unix.EPOLL_CTL_MOD, c.fd, &ev); err != nil {
		l.drop(c, "change poller: "+err.Error())
	}
}
