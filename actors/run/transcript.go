package run

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// Limits of a transcript (decision 31).
const (
	MaxTranscript = 4 << 20 // bytes of JSON
	MaxKept       = 20_000  // entries
	MaxDepth      = 64      // levels of nesting of an entry; clients' parsers give up at depths that are no trouble here
	markerRoom    = 256     // bytes kept free for the marker of a cut
)

// Transcript is what an agent sent as the record of its run, in the form in which it is stored; nil: none.
type Transcript []byte

// ReadTranscript brings what an agent sent into the form in which it is stored. What is no JSON array with at least one
// object counts as none. Long ones take their time: it is for the one who got them, and not for the run's actor, to do.
func ReadTranscript(raw []byte) Transcript {
	if t, ok := CutTranscript(raw, MaxTranscript); ok {
		return t
	}
	return nil
}

// CutTranscript brings a transcript into the form in which it is stored: a JSON array of objects, each as it came, unknown
// ones too (clients.md 3.5.4), of at most limit bytes. Whatever does not fit is left out from the first entry on that does
// not, and an entry of type "truncated" at the end says how many. Elements that are no objects, or are nested deeper than
// MaxDepth, are left out the same way. ok is false when raw is not a JSON array with at least one object.
//
// Entries are not decoded: a transcript is looked through once.
func CutTranscript(raw []byte, limit int) (out []byte, ok bool) {
	raw = bytes.TrimSpace(bytes.ToValidUTF8(raw, []byte("\uFFFD")))
	if len(raw) == 0 || raw[0] != '[' || !json.Valid(raw) {
		return nil, false
	}
	return cut(raw, limit)
}

// cut is CutTranscript for a valid array.
func cut(raw []byte, limit int) (out []byte, ok bool) {
	entries, dropped := split(raw)
	if len(entries) == 0 {
		return nil, false
	}
	room, kept := limit-len("[]")-markerRoom, 0
	for kept < len(entries) && kept < MaxKept && room >= len(entries[kept])+1 {
		room -= len(entries[kept]) + 1
		kept++
	}
	dropped += len(entries) - kept
	out = make([]byte, 0, limit-room)
	out = append(out, '[')
	for _, e := range entries[:kept] {
		out = append(append(out, e...), ',')
	}
	if dropped > 0 {
		out = append(append(out, marker(0, dropped)...), ',')
	}
	out[len(out)-1] = ']'
	return out, true
}

// marker is the entry that stands for those that were left out; 0: nobody counted them.
func marker(ts int64, dropped int) []byte {
	e := map[string]any{"ts": ts, "type": "truncated", "message": "the transcript is cut here: the rest was too long"}
	if dropped > 0 {
		e["dropped"] = dropped
		e["message"] = "the transcript is cut: " + strconv.Itoa(dropped) + " entries were left out"
	}
	return encode(e)
}

// split finds the elements of a valid JSON array that are objects and not nested too deeply, and counts the others.
func split(array []byte) (objects [][]byte, others int) {
	depth, deepest, start := 0, 0, -1
	element := func(end int) {
		e := bytes.TrimSpace(array[start:end])
		switch {
		case len(e) == 0: // an empty array
		case e[0] == '{' && deepest-1 <= MaxDepth:
			objects = append(objects, e)
		default:
			others++
		}
		start, deepest = end+1, 0
	}
	for i := 0; i < len(array); i++ {
		switch array[i] {
		case '"':
			i = closing(array, i)
		case '{', '[':
			if depth++; depth == 1 {
				start = i + 1
			}
			deepest = max(deepest, depth)
		case '}', ']':
			if depth--; depth == 0 {
				element(i)
			}
		case ',':
			if depth == 1 {
				element(i)
			}
		}
	}
	return objects, others
}

// closing returns where the text ends that begins at a quote. There is an end: the JSON is valid.
func closing(array []byte, i int) int {
	for {
		i += 1 + bytes.IndexByte(array[i+1:], '"')
		if !escaped(array, i) {
			return i
		}
	}
}

// escaped reports whether the character at i has an odd number of backslashes in front of it.
func escaped(text []byte, i int) bool {
	n := 0
	for i--; i >= 0 && text[i] == '\\'; i-- {
		n++
	}
	return n%2 == 1
}

// encode renders JSON without escaping for HTML.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // plain values always encode, and raw JSON was checked before
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
