package load

import "bytes"

// handle does what one text frame asks for.
func (l *loop) handle(c *conn, text []byte, now int64) {
	switch ev := l.dialect.decode(text); ev.kind {
	case kindMessage:
		l.deliver(c, ev.body, now)
	case kindAck:
		l.acknowledge(c, ev, now)
	case kindPing:
		l.send(c, opText, l.dialect.pong())
	case kindOpen:
		if c.state == stateGreeting {
			l.authenticate(c)
		}
	case kindReady:
		if c.state == stateAuthenticating {
			c.state = stateJoining
			l.join(c)
		}
	case kindJoined:
		if c.away {
			l.rejoined(c, ev.body, now)
			return
		}
		c.joinedAt = max(logSeq(ev.body), 0)
		l.joined(c, now)
	case kindLeft:
		if c.state == stateLeaving {
			l.settled(c, now)
		}
	case kindError:
		l.tally.errorEvents.Add(1)
		message := messageOf(ev.body)
		l.tally.errors.add(message)
		if c.state < stateJoined {
			l.drop(c, "error while "+c.state.String()+": "+message)
		}
	case kindRefused:
		l.drop(c, "refused: "+messageOf(ev.body))
	case kindEnd:
		l.drop(c, "disconnect packet")
	case kindBroken:
		l.tally.strange.Add(1)
	default:
		l.tally.otherEvents.Add(1)
	}
}

func (l *loop) joined(c *conn, now int64) {
	if c.state != stateJoining {
		return
	}
	if !c.hears && !c.slow {
		c.state = stateLeaving
		l.text = l.dialect.leave(l.text[:0], c.room.id)
		l.send(c, opText, l.text)
		return
	}
	if !c.slow {
		c.room.members.Add(1)
	}
	l.settled(c, now)
	if c.slow {
		l.stopReading(c)
	}
}

// settled ends the opening of a connection.
func (l *loop) settled(c *conn, now int64) {
	c.state = stateJoined
	c.inRoom = true
	l.opening--
	l.tally.joined.Add(1)
	l.tally.connect.add(now - c.dialedAt)
}

// deliver books a message.
func (l *loop) deliver(c *conn, body []byte, now int64) {
	i := bytes.Index(body, l.needle)
	if i < 0 {
		l.tally.otherEvents.Add(1)
		return
	}
	m, ok := parseMarker(body[i+len(l.needle):])
	if !ok {
		l.tally.strange.Add(1)
		return
	}
	if int(m.room) != c.room.index || !c.hears {
		l.tally.misrouted.Add(1)
		return
	}
	log := logSeq(body)
	if log < 0 {
		l.tally.withoutSeq.Add(1)
	}
	v, inOrder := c.receiver.take(m.poster, m.seq, log)
	switch v {
	case unknown:
		l.tally.strange.Add(1)
		return
	case repeated:
		l.tally.repeated.Add(1)
		return
	}
	if v == late || !inOrder {
		l.tally.outOfOrder.Add(1)
	}
	l.tally.delivered.Add(1)
	switch {
	case !l.measured(m.due) || c.away: // what is caught up on was late on purpose
	case l.opts.Storm == 0 || c.poster == nil:
		l.tally.delivery.add(now - m.due)
	case l.away > 0:
		l.tally.during.add(now - m.due)
	default:
		l.tally.delivery.add(now - m.due)
	}
}

// acknowledge books the answer to a post and lets the poster go on.
func (l *loop) acknowledge(c *conn, ev event, now int64) {
	if c.poster == nil {
		l.tally.strange.Add(1)
		return
	}
	ok, why := ackOK(ev.body)
	post, awaited := c.poster.sent.ack(ev.ack, ok)
	if !awaited {
		l.tally.strange.Add(1)
		return
	}
	if ok {
		l.tally.acked.Add(1)
		l.tally.expected.Add(c.room.members.Load())
		if l.measured(post.due) {
			l.tally.ack.add(now - post.due)
		}
	} else {
		l.tally.refused.Add(1)
		l.tally.errors.add("post refused: " + why)
	}
	l.proceed(c, now)
}

// proceed plans the next post after an ack.
func (l *loop) proceed(c *conn, now int64) {
	p := c.poster
	if p.pace.fixed() {
		if p.blocked {
			l.post(c, now)
		}
		return
	}
	if p.pace.acked(now) {
		l.tally.held.Add(1)
	}
	l.turns.push(turn{p.pace.due, c.slot})
}
