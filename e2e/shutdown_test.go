package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/e2e/client"
	"parley/e2e/process"
)

// TestTerminate: SIGTERM closes sockets with 1012, the process ends with code 0 within ten seconds, and what was
// acknowledged is there afterwards (decisions, run-time interface).
func TestTerminate(t *testing.T) {
	t.Parallel()
	server := own(t)
	api := client.API{Base: server.URL()}
	ann := user(t, api, "ann")
	g := ann.room(t, "room", false)
	book := newLedger()
	var posting sync.WaitGroup
	failures := make(chan error, 8)
	for i := range 4 {
		s := ann.plain(t)
		posting.Go(func() {
			if err := postOn(s, g, book, fmt.Sprintf("0-%d", i)); err != nil {
				failures <- err
			}
		})
	}
	var idle []*client.Socket
	for range 4 {
		idle = append(idle, ann.plain(t), ann.socketIO(t))
	}
	joined(t, idle[0], g)
	eventually(t, "posting", func() bool { return book.count() > 100 || len(failures) > 0 })
	begin := time.Now()
	if err := server.Signal(); err != nil {
		t.Fatal(err)
	}
	for _, s := range idle {
		wantClose(t, s, 1012)
	}
	code, err := server.Ended()
	if err != nil || code != 0 {
		t.Fatalf("ended with code %d, %v", code, err)
	}
	t.Logf("it took %s to end", time.Since(begin).Round(time.Millisecond))
	posting.Wait()
	close(failures)
	for err := range failures {
		t.Error(err)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := checkHistory(t, ann, g, book)
	repost(t, []person{ann}, g, book, seen)
	checkHistory(t, ann, g, book)
}

// TestTerminateUnread: a client that neither reads nor answers a close delays the end of the server no longer than allowed.
func TestTerminateUnread(t *testing.T) {
	t.Parallel()
	server := own(t)
	api := client.API{Base: server.URL()}
	ann := user(t, api, "ann")
	for range 5 {
		read(t, raw(t, api, http.Header{"Authorization": {"Bearer " + ann.Token}})) // and never again
	}
	if code, err := server.Terminate(); err != nil || code != 0 {
		t.Fatalf("ended with code %d, %v", code, err)
	}
}

// TestEmptyStore: a server begins with nothing, and says when it is there.
func TestEmptyStore(t *testing.T) {
	t.Parallel()
	server := own(t)
	if !strings.HasPrefix(server.URL(), "http://127.0.0.1:") || strings.Count(server.Log(), "listening on ") != 1 {
		t.Fatalf("it listens on %q and said:\n%s", server.URL(), server.Log())
	}
	ann := user(t, client.API{Base: server.URL()}, "ann")
	rooms := must[[]client.Agency](t, ann.API, http.MethodGet, "/api/agencies", nil)
	if len(rooms) != 1 || rooms[0].Slug != "lobby" || !rooms[0].IsMember || rooms[0].MemberCount != 1 {
		t.Fatalf("a new server has %+v", rooms)
	}
	if history, err := ann.History(soon(t), rooms[0].ID); err != nil || len(history) != 0 {
		t.Fatalf("and in the Lobby %+v, %v", history, err)
	}
}

// TestSecondServer: a data folder has one server. The other one is told so in a sentence.
func TestSecondServer(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	first := ownIn(t, dir, exempt...)
	_, err := process.Start(t.Context(), process.Options{Binary: binary(), DataDir: dir})
	if !errors.Is(err, process.ErrExited) {
		t.Fatalf("a second server on the same folder: %v", err)
	}
	complaint := err.Error()
	if !strings.Contains(complaint, "in use") && !strings.Contains(complaint, "another") || strings.Contains(complaint, "goroutine") || strings.Contains(complaint, "code 0") {
		t.Errorf("it was refused with %q", complaint)
	}
	ann := user(t, client.API{Base: first.URL()}, "ann")
	me(t, ann.API)
}

// program runs a sub-command to its end and returns what it said.
func program(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary(), args...)
	cmd.Env = process.Environment()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestBackup: a backup of a running server, restored into another folder, is the same conversation.
func TestBackup(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir, file := filepath.Join(home, "data"), filepath.Join(home, "backup.tar.gz")
	server := ownIn(t, dir, exempt...)
	api := client.API{Base: server.URL()}
	ann := user(t, api, "ann")
	g := ann.room(t, "room", true)
	agent := must[created](t, ann.API, http.MethodPost, "/api/agents", map[string]string{"name": fresh("bot"), "agencyId": g.ID})
	var before []client.Message
	for i := range 120 {
		before = append(before, ann.post(t, g, fmt.Sprint("message ", i)))
	}
	if out, err := program(t, "backup", "--data-dir", dir, "--to", file); err != nil {
		t.Fatalf("backup: %v\n%s", err, out)
	}
	ann.post(t, g, "after the backup")
	if out, err := program(t, "restore", "--data-dir", dir, "--from", file); err == nil {
		t.Fatalf("restored into the folder of a running server:\n%s", out)
	}
	other := filepath.Join(home, "other")
	if out, err := program(t, "restore", "--data-dir", other, "--from", file); err != nil {
		t.Fatalf("restore: %v\n%s", err, out)
	}
	twin := ownIn(t, other, exempt...)
	there := person{client.API{Base: twin.URL(), Token: ann.Token}, ann.Profile}
	after, err := there.History(soon(t), g.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := marshal(t, ids(after)), marshal(t, ids(before)); got != want {
		t.Fatalf("the restored history is %s, want %s", got, want)
	}
	if m := there.post(t, g, "on the other one"); m.Seq != before[len(before)-1].Seq+1 {
		t.Errorf("it goes on at seq %d after %d", m.Seq, before[len(before)-1].Seq)
	}
	// sealed with the same key
	if v := must[created](t, there.API, http.MethodPost, "/api/agents/"+agent.Agent.ID+"/verify", nil); v.AgentToken != agent.AgentToken {
		t.Errorf("the restored agent's token is %q", v.AgentToken)
	}
}

func ids(messages []client.Message) []string {
	var list []string
	for _, m := range messages {
		list = append(list, fmt.Sprint(m.Seq, m.ID, m.Content))
	}
	return list
}
