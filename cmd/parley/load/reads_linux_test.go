package load

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// readsServer is a small server of the parts of the interface that "parley load reads" uses.
type readsServer struct {
	*httptest.Server
	rooms, posts, reads atomic.Int64
	fail                string // the path that answers 500
}

func newReadsServer(t *testing.T) *readsServer {
	s := &readsServer{}
	m := http.NewServeMux()
	say := func(pattern string, body string, count *atomic.Int64) {
		m.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			count.Add(1)
			if r.URL.Path == s.fail {
				w.WriteHeader(http.StatusInternalServerError)
			}
			if r.Method == http.MethodGet && r.Header.Get("Authorization") != "Bearer tok" {
				w.WriteHeader(http.StatusUnauthorized)
			}
			_, _ = w.Write([]byte(body))
		})
	}
	var other atomic.Int64
	say("POST /api/agents/register", `{"agent":{"token":"sk_1"}}`, &other)
	say("POST /api/auth/agent", `{"token":"tok"}`, &other)
	say("POST /api/agencies", `{"id":"g1"}`, &s.rooms)
	say("POST /api/agencies/g1/messages", `{"id":"m"}`, &s.posts)
	say("GET /api/auth/me", `{"id":"u"}`, &s.reads)
	say("GET /api/agencies/g1/messages", `[]`, &s.reads)
	say("GET /api/agencies", `[1]`, &s.reads)
	s.Server = httptest.NewServer(m)
	t.Cleanup(s.Close)
	return s
}

func loadReads(s *readsServer, args ...string) (string, error) {
	cmd := Command()
	var out, progress bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&progress)
	cmd.SetArgs(append([]string{"reads", "--url", s.URL, "--duration", "100ms", "--clients", "3", "--rooms", "4", "--messages", "5"}, args...))
	err := cmd.Execute()
	return out.String(), err
}

func TestReads(t *testing.T) {
	s := newReadsServer(t)
	out, err := loadReads(s, "--json")
	if err != nil {
		t.Fatal(err)
	}
	var results []ReadsResult
	if err := json.Unmarshal([]byte(out), &results); err != nil {
		t.Fatal(err)
	}
	if len(results) != len(readKinds) || s.rooms.Load() != 4 || s.posts.Load() != 5 {
		t.Errorf("%d endpoints, %d rooms, %d posts", len(results), s.rooms.Load(), s.posts.Load())
	}
	var measured int64
	for _, r := range results {
		if r.PerSecond <= 0 || r.HalfPerS > r.PerSecond || r.Bytes < 2 || r.Full.P99 <= 0 || r.Half.Count == 0 {
			t.Errorf("%+v", r)
		}
		measured += r.Full.Count + r.Half.Count
	}
	if measured == 0 || measured > s.reads.Load() {
		t.Errorf("%d requests counted, %d answered", measured, s.reads.Load())
	}
	if out, err = loadReads(s, "--only", "me"); err != nil || !strings.Contains(out, "requests/s") || strings.Contains(out, "history") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestReadsRefuses(t *testing.T) {
	s := newReadsServer(t)
	s.fail = "/api/agencies/g1/messages"
	for want, args := range map[string][]string{
		"the server answered":         {"--messages", "0"},
		"provision":                   nil,
		"--only must be one of me":    {"--only", "x"},
		"--clients must be 1 to 1024": {"--clients", "0"},
		"--rooms must be":             {"--rooms", "0"},
		"--size must be":              {"--size", "0"},
		"--duration must be":          {"--duration", "0s"},
	} {
		if _, err := loadReads(s, args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
}
