package socketio

import (
	"bytes"
	"encoding/json"

	"parley/transport/realtime/conn"
)

// partial is a packet whose attachments come behind it, each as a binary message.
type partial struct {
	packet      Packet
	socket      *Socket // nil: dropped once it is whole
	attachments [][]byte
	bytes       int
}

// attachment takes a binary message.
func (s *Session) attachment(data []byte) {
	p := s.partial
	if p == nil {
		s.engine.Close(conn.CodeUnsupported, "binary data without a packet that announces it")
		return
	}
	p.bytes += len(data)
	if p.bytes > s.server.o.MaxAttachmentBytes {
		s.engine.Close(conn.CodeTooBig, "attachments are too big")
		return
	}
	p.attachments = append(p.attachments, bytes.Clone(data))
	if len(p.attachments) < p.packet.Attachments {
		return
	}
	s.partial = nil
	switch {
	case !placed(p.packet.Data, len(p.attachments)):
		s.violated("a placeholder has no attachment")
	case p.socket != nil && !p.socket.gone.Load():
		s.handle(p.socket, &p.packet, p.attachments)
	}
}

// placed says whether every placeholder in a packet's data names one of n attachments.
func placed(data json.RawMessage, n int) bool {
	var v any
	return json.Unmarshal(data, &v) == nil && placedIn(v, n)
}

func placedIn(v any, n int) bool {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if !placedIn(e, n) {
				return false
			}
		}
	case map[string]any:
		if v["_placeholder"] == true {
			num, ok := v["num"].(float64)
			return ok && num >= 0 && num < float64(n) && num == float64(int(num))
		}
		for _, e := range v {
			if !placedIn(e, n) {
				return false
			}
		}
	}
	return true
}
