package agency_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"parley/actors/agency"
)

const streamID = "6f0d3f0a-6b0b-4a58-9c0b-0d9a3a1d2c01"

func TestRunMessage(t *testing.T) {
	long := strings.Repeat("x", agency.MaxRunContent)
	for _, c := range []struct {
		name, content, meta string
		want, wantMeta      string // empty: refused
	}{
		{"plain", " as it is\n", ``, " as it is\n", `{"run_id":"r"}`},
		{"metadata", "x", ` {"b": [1], "a":null}`, "x", `{"a":null,"b":[1],"run_id":"r"}`},
		{"metadata as text", "x", `"{\"a\":1}"`, "x", `{"a":1,"run_id":"r"}`},
		{"forged", "x", `{"run_id":"other","webhook":1}`, "x", `{"run_id":"r"}`},
		{"null", "x", `null`, "x", `{"run_id":"r"}`},
		{"longest", long, `{}`, long, `{"run_id":"r"}`},
		{"too long", "é" + long, `{"a":1}`, "é" + long[2:], `{"a":1,"run_id":"r","truncated":true}`},
		{"largest metadata", "x", `{"a":"` + long[8:] + `"}`, "x", `{"a":"` + long[8:] + `","run_id":"r"}`},
		{"too large metadata", "x", `{"a":"` + long[7:] + `"}`, "x", `{"run_id":"r","truncated":true}`},
		{"empty", " \n", ``, "", ""},
		{"a list", "x", `[]`, "", ""},
		{"broken", "x", `{"a"`, "", ""},
		{"deep", "x", `{"a":` + strings.Repeat("[", 99) + strings.Repeat("]", 99) + `}`, "", ""},
	} {
		m, err := agency.RunMessage{ID: streamID, RunID: "r", Content: c.content, Metadata: json.RawMessage(c.meta)}.Check()
		if c.want == "" {
			if err == nil {
				t.Errorf("%s was accepted", c.name)
			}
			continue
		}
		if err != nil || m.Content != c.want || string(m.Metadata) != c.wantMeta {
			t.Errorf("%s: %v, %.100s, %.100s", c.name, err, m.Content, m.Metadata)
		}
	}
	for _, id := range []string{"", "x", agency.NewMessageID(1, 1), strings.ReplaceAll(streamID, "-", ""), "{" + streamID + "}"} {
		if _, err := (agency.RunMessage{ID: id, Content: "x"}).Check(); err == nil {
			t.Errorf("the id %q was accepted", id)
		}
	}
}

// FuzzRunMessage: what passes is within the limits, and passes again unchanged, as it must after a crash.
func FuzzRunMessage(f *testing.F) {
	f.Add("text", `{"a":1,"truncated":true}`, 1)
	f.Add("é\xff", `"{\"run_id\":1}"`, 200_000)
	f.Add("x", `{"truncated":false,"a":"<\u2028>"}`, 300_000)
	f.Fuzz(func(t *testing.T, content, metadata string, times int) {
		content = strings.Repeat(content, min(max(times, 1), 400_000/(len(content)+1)+1))
		m, err := agency.RunMessage{ID: streamID, RunID: "r", Content: content, Metadata: json.RawMessage(metadata)}.Check()
		if err != nil {
			return
		}
		var keys map[string]any
		if json.Unmarshal(m.Metadata, &keys) != nil || keys["run_id"] != "r" || len(m.Content) > agency.MaxRunContent || !utf8.ValidString(m.Content) {
			t.Fatalf("%.200q, %.200s", m.Content, m.Metadata)
		}
		if again, err := m.Check(); err != nil || again.Content != m.Content || string(again.Metadata) != string(m.Metadata) {
			t.Fatalf("%v: %.200s became %.200s", err, m.Metadata, again.Metadata)
		}
	})
}
