package run

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
)

func TestCutTranscript(t *testing.T) {
	deep := `{"a":` + strings.Repeat("[", MaxDepth-1) + strings.Repeat("]", MaxDepth-1) + `}`
	for _, c := range []struct {
		name, in string
		limit    int
		want     string // empty: no transcript
	}{
		{"as it came", ` [ {"ts": 1,"type":"x" } , {"own":[{"a":"],{\"\\"}]}] `, 1000, `[{"ts": 1,"type":"x" },{"own":[{"a":"],{\"\\"}]}]`},
		{"nothing", ``, 1000, ""},
		{"null", `null`, 1000, ""},
		{"a text", `"[{}]"`, 1000, ""},
		{"an object", `{}`, 1000, ""},
		{"empty", ` [ ] `, 1000, ""},
		{"no object", `[1,"a",null,[{}]]`, 1000, ""},
		{"broken", `[{]}`, 1000, ""},
		{"two values", `[{}] [{}]`, 1000, ""},
		{"others", `[1,{"a":1},null,[{}]]`, 1000, `[{"a":1},{"dropped":3,"message":"the transcript is cut: 3 entries were left out","ts":0,"type":"truncated"}]`},
		{"cut", `[{"a":1},{"a":2},{"a":3}]`, markerRoom + 2 + 16, `[{"a":1},{"a":2},{"dropped":1,"message":"the transcript is cut: 1 entries were left out","ts":0,"type":"truncated"}]`},
		{"all cut", `[{"a":1}]`, markerRoom, `[{"dropped":1,"message":"the transcript is cut: 1 entries were left out","ts":0,"type":"truncated"}]`},
		{"deep", `[` + deep + `]`, 1000, `[` + deep + `]`},
		{"too deep", `[{},{"a":` + deep + `}]`, 1000, `[{},{"dropped":1,"message":"the transcript is cut: 1 entries were left out","ts":0,"type":"truncated"}]`},
		{"not UTF-8", "[{\"a\":\"\xff\"}]", 1000, "[{\"a\":\"\uFFFD\"}]"},
	} {
		got, ok := CutTranscript([]byte(c.in), c.limit)
		if string(got) != c.want || ok != (c.want != "") {
			t.Errorf("%s: %s, %v", c.name, got, ok)
		}
	}
	many := "[" + strings.Repeat("{},", MaxKept) + "{}]"
	got, _ := CutTranscript([]byte(many), MaxTranscript)
	var list []struct{ Dropped int }
	if err := json.Unmarshal(got, &list); err != nil || len(list) != MaxKept+1 || list[MaxKept].Dropped != 1 {
		t.Errorf("%d entries, %v", len(list), err)
	}
}

// FuzzCutTranscript: what is stored is always an array of objects within the limit, with the entries as they came.
func FuzzCutTranscript(f *testing.F) {
	for _, s := range []string{`[]`, `[{"a":"\\\"]"},{},1]`, `[[{"a":[]}],{"b":{"c":"}"}}]`, "[ {\n} ,\t{\"\\u005b\":1}]", `[{"ts":1,"type":"start","triggerMessageId":null}]`, `[,]`, "[{\"\xff\":1}]"} {
		f.Add([]byte(s), 300)
		f.Add([]byte(s), 4)
	}
	f.Fuzz(func(t *testing.T, raw []byte, limit int) {
		limit = min(max(limit, markerRoom+2), 1<<16)
		out, ok := CutTranscript(raw, limit)
		var sent []json.RawMessage
		clean := bytes.ToValidUTF8(raw, []byte("\uFFFD"))
		proper := json.Unmarshal(clean, &sent) == nil
		var objects [][]byte
		for _, e := range sent {
			if e[0] == '{' {
				objects = append(objects, e)
			}
		}
		if !ok {
			if proper && len(objects) > 0 && !bytes.Contains(raw, []byte(strings.Repeat("[", 10))) && len(raw) < MaxDepth {
				t.Fatalf("%q was refused", raw)
			}
			return
		}
		var kept []json.RawMessage
		if err := json.Unmarshal(out, &kept); err != nil || len(out) > limit || len(kept) == 0 || !proper {
			t.Fatalf("%q became %q: %v", raw, out, err)
		}
		for i, e := range kept {
			if i < len(objects) && bytes.Equal(e, objects[i]) {
				continue
			}
			var m struct {
				Type    string
				Dropped int
			}
			if err := json.Unmarshal(e, &m); len(raw) < MaxDepth && (err != nil || i != len(kept)-1 || m.Type != "truncated" || m.Dropped != len(sent)-i) {
				t.Fatalf("%q became %q: entry %d, %v, %s", raw, out, i, err, strconv.Itoa(m.Dropped))
			}
		}
	})
}
