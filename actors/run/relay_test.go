package run

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// FuzzShorten: an event of any texts fits, is JSON, and its texts are beginnings of what was said.
func FuzzShorten(f *testing.F) {
	f.Add("content", "delta", `{"a":1}`, `[{"type":"x"},{"type":"y"}]`, 9)
	f.Add(strings.Repeat("\"\\\u2028", 900), strings.Repeat("é", 3000), `{"a":"`+strings.Repeat("x", 9000)+`"}`, `[`+strings.Repeat(`{"a":1},`, 900)+`{}]`, 40)
	f.Fuzz(func(t *testing.T, content, delta, metadata, transcript string, grow int) {
		const limit = 8 << 10
		if !utf8.ValidString(content) || !utf8.ValidString(delta) {
			return // JSON decoders make no such texts
		}
		content = strings.Repeat(content, min(max(grow, 0), 50))
		e := fields{"runId": "r", "content": content, "delta": delta}
		if json.Valid([]byte(metadata)) {
			e["metadata"] = json.RawMessage(metadata)
		}
		if sent, ok := CutTranscript([]byte(transcript), MaxTranscript); ok {
			e["transcript"] = json.RawMessage(sent)
		}
		whole := len(encode(e)) <= limit
		data := shorten(e, limit)
		var got struct {
			RunID          string
			Content, Delta string
			Truncated      bool
		}
		if err := json.Unmarshal(data, &got); err != nil || got.RunID != "r" || got.Truncated == whole || len(data) > limit+64 ||
			!strings.HasPrefix(content, got.Content) || !strings.HasPrefix(delta, got.Delta) || whole && got.Content != content {
			t.Fatalf("%d bytes, whole %v: %v, %.300s", len(data), whole, err, data)
		}
	})
}

func TestFormatDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{-1: "0ms", 0: "0ms", 850 * time.Millisecond: "850ms", time.Second: "1s", 59999 * time.Millisecond: "59s",
		time.Minute: "1m 0s", 72 * time.Second: "1m 12s", time.Hour: "1h 0m", 26*time.Hour + 5*time.Minute: "1d 2h"} {
		if got := FormatDuration(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
}
