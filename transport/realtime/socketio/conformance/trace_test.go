package conformance

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var sids = regexp.MustCompile(`"sid":"([A-Za-z0-9_-]{20})"`)

// TestGoldenTraces holds both protocols byte for byte: what a client sends, and what it gets.
func TestGoldenTraces(t *testing.T) {
	files, err := filepath.Glob("testdata/*.trace")
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			follow(start(t, socketIO, calm), strings.Split(strings.TrimSpace(string(text)), "\n"))
		})
	}
}

// follow does what a trace says.
func follow(r *rig, lines []string) {
	r.t.Helper()
	var sid string
	var last answer
	var ws *socket
	query := func(transport string) string {
		if sid == "" {
			return "?EIO=4&transport=" + transport
		}
		return "?EIO=4&transport=" + transport + "&sid=" + sid
	}
	normal := func(text string) string {
		if m := sids.FindStringSubmatch(text); m != nil && sid == "" {
			sid = m[1]
		}
		return strings.ReplaceAll(sids.ReplaceAllString(strings.TrimSpace(text), `"sid":"SID"`), "\x1e", "SEP")
	}
	for i, line := range lines {
		verb, rest, _ := strings.Cut(strings.ReplaceAll(line, "BINARY", "b:\x00\xff"), " ")
		switch verb {
		case "#":
		case "GET", "POST":
			last = r.do(verb, query("polling"), strings.ReplaceAll(rest, "SEP", "\x1e"))
		case "WEBSOCKET":
			ws = r.dial(query("websocket"))
		case ">":
			ws.send(rest)
		case "<":
			text, err := ws.next()
			if got := normal(text); err != nil || got != rest {
				r.t.Fatalf("line %d: got %q, %v, want %s", i+1, got, err, line)
			}
		case "CLOSED":
			if code := ws.closes(); strconv.Itoa(int(code)) != rest {
				r.t.Fatalf("line %d: closed with %d, want %s", i+1, code, line)
			}
			r.until("the session is gone", func() bool { all, _ := r.s.SocketIO.Len(); return all == 0 })
		default: // a status
			if got := strconv.Itoa(last.status) + " " + normal(last.body); got != line {
				r.t.Fatalf("line %d: got %s, want %s", i+1, got, line)
			}
		}
	}
}
