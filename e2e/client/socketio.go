package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/coder/websocket"
)

// Packet types of Engine.IO 4 and, behind a message's, of Socket.IO 5.
const (
	enginePing = '2'
	enginePong = "3"

	packetConnect      = "40"
	packetDisconnect   = "41"
	packetEvent        = "42"
	packetAck          = "43"
	packetConnectError = "44"
)

// socketIO is Socket.IO v4 over a WebSocket, in the namespace "/".
type socketIO struct{}

func (socketIO) name() string { return "socketio" }

func (socketIO) target(base string) string { return base + "/socket.io/?EIO=4&transport=websocket" }

// greet declines connection state recovery: its offset would be a second argument of every event (decision 29).
func (socketIO) greet(ctx context.Context, c *line, token string) (Frame, error) {
	open, err := readText(ctx, c)
	if err != nil {
		return Frame{}, fmt.Errorf("waiting for the handshake: %w", err)
	}
	if len(open) == 0 || open[0] != '0' || !json.Valid(open[1:]) {
		return Frame{}, fmt.Errorf("the handshake is %.100q", open)
	}
	auth, err := json.Marshal(map[string]any{"token": token, "recover": false})
	if err != nil {
		return Frame{}, err
	}
	if err := c.write(ctx, append([]byte(packetConnect), auth...)); err != nil {
		return Frame{}, fmt.Errorf("send CONNECT: %w", err)
	}
	for {
		text, err := readText(ctx, c)
		switch {
		case err != nil:
			return Frame{}, fmt.Errorf("waiting for the answer to CONNECT: %w", err)
		case bytes.HasPrefix(text, []byte(packetConnect)):
			return Frame{Event: "connect", Data: text[len(packetConnect):], Args: 1}, nil
		case bytes.HasPrefix(text, []byte(packetConnectError)):
			var refusal struct {
				Message string `json:"message"`
			}
			if err := json.Unmarshal(text[len(packetConnectError):], &refusal); err != nil {
				return Frame{}, fmt.Errorf("the refusal is %.100q: %w", text, err)
			}
			return Frame{}, &RefusedError{refusal.Message}
		}
	}
}

func readText(ctx context.Context, c *line) ([]byte, error) {
	kind, text, err := c.read(ctx)
	if err == nil && kind != websocket.MessageText {
		err = fmt.Errorf("a binary frame came")
	}
	return text, err
}

func (socketIO) encode(event string, data any, ack uint64) ([]byte, error) {
	args, err := json.Marshal([]any{event, data})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", event, err)
	}
	frame := []byte(packetEvent)
	if ack != 0 {
		frame = strconv.AppendUint(frame, ack, 10)
	}
	return append(frame, args...), nil
}

func (socketIO) decode(text []byte) (f Frame, answer []byte, ok bool, err error) {
	switch {
	case len(text) == 0:
		return f, nil, false, fmt.Errorf("an empty frame came")
	case text[0] == enginePing:
		return f, append([]byte(enginePong), text[1:]...), false, nil
	case bytes.HasPrefix(text, []byte(packetEvent)):
		f, err = decodeEvent(text[len(packetEvent):])
		return f, nil, true, err
	case bytes.HasPrefix(text, []byte(packetAck)):
		f, err = decodeAck(text[len(packetAck):])
		return f, nil, true, err
	case bytes.HasPrefix(text, []byte(packetDisconnect)):
		return Frame{Event: "disconnect"}, nil, true, nil
	}
	return f, nil, false, nil
}

func decodeEvent(body []byte) (f Frame, err error) {
	var args []json.RawMessage
	if err := json.Unmarshal(body, &args); err != nil || len(args) == 0 {
		return f, fmt.Errorf("the event %.100q can't be read", body)
	}
	if err := json.Unmarshal(args[0], &f.Event); err != nil {
		return f, fmt.Errorf("the event %.100q has no name", body)
	}
	if f.Args = len(args) - 1; f.Args > 0 {
		f.Data = args[1]
	}
	return f, nil
}

func decodeAck(body []byte) (f Frame, err error) {
	digits := bytes.IndexByte(body, '[')
	if digits < 0 {
		return f, fmt.Errorf("the ack %.100q can't be read", body)
	}
	var args []json.RawMessage
	f.Ack, err = strconv.ParseUint(string(body[:digits]), 10, 64)
	if err == nil {
		err = json.Unmarshal(body[digits:], &args)
	}
	if err != nil {
		return f, fmt.Errorf("the ack %.100q can't be read: %w", body, err)
	}
	if f.Args = len(args); f.Args > 0 {
		f.Data = args[0]
	}
	return f, nil
}
