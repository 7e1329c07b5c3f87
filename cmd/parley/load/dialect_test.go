package load

import (
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		format, text string
		kind         kind
		ack          uint32
		body         string
	}{
		{"socketio", `0{"sid":"a"}`, kindOpen, 0, `{"sid":"a"}`},
		{"socketio", `2`, kindPing, 0, ``},
		{"socketio", `6`, kindOther, 0, ``},
		{"socketio", `1`, kindEnd, 0, ``},
		{"socketio", `41`, kindEnd, 0, ``},
		{"socketio", `40{"sid":"x"}`, kindReady, 0, `{"sid":"x"}`},
		{"socketio", `44{"message":"no"}`, kindRefused, 0, `{"message":"no"}`},
		{"socketio", `42["message",{"seq":1}]`, kindMessage, 0, `{"seq":1}]`},
		{"socketio", `42[ "message", {"seq":1}]`, kindMessage, 0, `, {"seq":1}]`},
		{"socketio", `42["message-edited",{}]`, kindOther, 0, `,{}]`},
		{"socketio", `42["agency-joined",{}]`, kindJoined, 0, `,{}]`},
		{"socketio", `4217["error",{"message":"m"}]`, kindError, 0, `,{"message":"m"}]`},
		{"socketio", `4312[{"ok":true}]`, kindAck, 12, `[{"ok":true}]`},
		{"socketio", `43[{}]`, kindBroken, 0, `3[{}]`},
		{"socketio", `4399999999999[{}]`, kindBroken, 0, `399999999999[{}]`},
		{"socketio", `42{}`, kindBroken, 0, `{}`},
		{"socketio", `42[1]`, kindBroken, 0, `[1]`},
		{"socketio", `4`, kindBroken, 0, ``},
		{"socketio", ``, kindBroken, 0, ``},
		{"socketio", `9`, kindBroken, 0, `9`},
		{"plain", `{"event":"message","data":{"seq":1}}`, kindMessage, 0, `"data":{"seq":1}}`},
		{"plain", `{"data":{"seq":1},"event":"message"}`, kindMessage, 0, `{"seq":1}`},
		{"plain", `{"event":"ready","data":{}}`, kindReady, 0, `{}`},
		{"plain", `{"event":"ping"}`, kindPing, 0, ``},
		{"plain", `{"event":"typing"}`, kindOther, 0, ``},
		{"plain", `{"ack":7,"data":{"ok":true}}`, kindAck, 7, `{"ok":true}`},
		{"plain", `{"data":{"ok":true},"ack":0}`, kindAck, 0, `{"ok":true}`},
		{"plain", `{}`, kindBroken, 0, `{}`},
		{"plain", `[`, kindBroken, 0, `[`},
	} {
		ev := dialects[tc.format].decode([]byte(tc.text))
		if ev.kind != tc.kind || ev.ack != tc.ack || string(ev.body) != tc.body {
			t.Errorf("%s %s: kind %d, ack %d, body %q", tc.format, tc.text, ev.kind, ev.ack, ev.body)
		}
	}
}

func TestAckOK(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[{"ok":true}]`:                     "",
		`{"ok": true}`:                      "",
		`[{"ok":false,"content":"no"}]`:     "no",
		`{"ok":false,"error":"never"}`:      "never",
		`{"ok":false}`:                      "refused without a reason",
		`x`:                                 "unreadable ack",
		`[{"content":"\"ok\":true is it"}]`: `"ok":true is it`,
	} {
		ok, why := ackOK([]byte(text))
		if ok != (want == "") || why != want && !ok {
			t.Errorf("%s: %v %q", text, ok, why)
		}
	}
}

func TestLogSeq(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		`{"content":"x","seq":42,"id":"a"}`: 42,
		`{"seq": 7}`:                        7,
		`{"content":"\"seq\":9","seq":8}`:   8,
		`{}`:                                -1,
		`{"seq":null}`:                      -1,
		`{"seq":` + strings.Repeat("9", 40) + `}`: 999999999999999999,
	} {
		if got := logSeq([]byte(text)); got != want {
			t.Errorf("%s: %d", text, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`42["error",{"message":"m"}]`))
	f.Add([]byte(`4312[{"ok":true}]`))
	f.Add([]byte(`{"event":"message","data":{"seq":1}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, d := range dialects {
			ev := d.decode(text)
			if len(ev.body) > len(text) {
				t.Fatalf("body of %d from %d bytes", len(ev.body), len(text))
			}
			_, _ = ackOK(ev.body)
			_ = messageOf(ev.body)
			if logSeq(ev.body) < -1 {
				t.Fatal("negative position")
			}
		}
	})
}
