package realtime

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"

	"parley/actors/kernel"
	"parley/transport/realtime/conn"
)

// TestReasonsAreOfTheTables: whatever happens, the meter hears a word that it knows.
func TestReasonsAreOfTheTables(t *testing.T) {
	closed := func(code int, remote bool) error { return &conn.CloseError{Code: code, Remote: remote} }
	for _, tc := range []struct {
		err  error
		want string
	}{
		{conn.ErrSlowConsumer, "slow_consumer"}, {conn.ErrPingTimeout, "ping_timeout"}, {conn.ErrMessageTimeout, "message_timeout"},
		{conn.ErrAborted, "server"}, {conn.ErrHubClosed, "server"}, {io.EOF, "client"}, {errors.New("reset by peer"), "network"},
		{fmt.Errorf("write: %w", io.ErrUnexpectedEOF), "network"},
		{closed(1000, true), "client"}, {closed(1002, true), "client"}, {closed(1002, false), "protocol"}, {closed(1003, false), "protocol"},
		{closed(1007, false), "protocol"}, {closed(1009, false), "protocol"}, {closed(1012, false), "server"}, {closed(4401, false), "server"},
	} {
		if got := endingOf(tc.err); got != tc.want || !slices.Contains(Endings(), got) {
			t.Errorf("the end by %v is %q, want %q", tc.err, got, tc.want)
		}
	}
	for _, tc := range []struct {
		err  error
		want string
	}{
		{conn.ErrHubClosed, "full"}, {conn.ErrFull, "full"}, {&conn.HandshakeError{Status: http.StatusForbidden}, "origin"},
		{&conn.HandshakeError{Status: http.StatusUpgradeRequired}, "handshake"}, {errors.New("hijack"), "handshake"},
	} {
		if got := refusalOf(tc.err); got != tc.want || !slices.Contains(Refusals(), got) {
			t.Errorf("the refusal by %v is %q, want %q", tc.err, got, tc.want)
		}
	}
	seen := map[string]bool{}
	for code := range kernel.Code(255) {
		err := kernel.Fail(code, "x")
		if r := rejectionOf(code); !slices.Contains(Refusals(), r) {
			t.Errorf("code %d is refused as %q", code, r)
		}
		r := resultOf(err)
		if !slices.Contains(Results(), r) {
			t.Errorf("code %d has the result %q", code, r)
		}
		if code <= kernel.CodeUnavailable && (seen[r] || r == resultOK) {
			t.Errorf("code %d shares the result %q", code, r)
		}
		seen[r] = true
	}
	if resultOf(nil) != resultOK || resultOf(errors.New("x")) != "internal" {
		t.Error("success or a bug has the wrong name")
	}
	if ops := Operations(); len(ops) != len(operations)+1 || !slices.Contains(ops, unknownName) || !slices.Contains(ops, "send-message") {
		t.Errorf("operations: %q", ops)
	}
}
