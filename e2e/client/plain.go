package client

import (
	"context"
	"encoding/json"
	"fmt"
)

// plain is the format of /ws (decisions 26 and 45).
type plain struct{}

// envelope is a frame of the plain format in either direction.
type envelope struct {
	Event string          `json:"event,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"`
	Ack   uint64          `json:"ack,omitempty"`
}

func (plain) name() string { return "plain" }

func (plain) target(base string) string { return base + "/ws" }

func (plain) greet(ctx context.Context, c *line, token string) (Frame, error) {
	auth, err := plain{}.encode("auth", map[string]string{"token": token}, 0)
	if err != nil {
		return Frame{}, err
	}
	if err := c.write(ctx, auth); err != nil {
		return Frame{}, fmt.Errorf("send auth: %w", err)
	}
	text, err := readText(ctx, c)
	if err != nil {
		return Frame{}, fmt.Errorf("waiting for ready: %w", err)
	}
	f, _, _, err := plain{}.decode(text)
	if err == nil && f.Event != "ready" {
		err = fmt.Errorf("%.200q came instead of ready", text)
	}
	return f, err
}

func (plain) encode(event string, data any, ack uint64) ([]byte, error) {
	body, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", event, err)
	}
	return json.Marshal(envelope{Event: event, Data: body, Ack: ack})
}

func (plain) decode(text []byte) (f Frame, answer []byte, ok bool, err error) {
	var e envelope
	if err := json.Unmarshal(text, &e); err != nil {
		return f, nil, false, fmt.Errorf("the frame %.100q can't be read: %w", text, err)
	}
	switch {
	case e.Event == "ping":
		answer, err = plain{}.encode("pong", struct{}{}, 0)
		return f, answer, false, err
	case e.Event == "" && e.Ack == 0:
		return f, nil, false, fmt.Errorf("the frame %.100q is neither event nor ack", text)
	case e.Event != "" && e.Ack != 0:
		return f, nil, false, fmt.Errorf("the frame %.100q is both event and ack", text)
	}
	return Frame{Event: e.Event, Data: e.Data, Args: 1, Ack: e.Ack}, nil, true, nil
}
