package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"parley/e2e/client"
	"parley/e2e/process"
)

// Sizes of the durability test.
const (
	killRounds  = 10
	killSockets = 20
	posting     = 700 * time.Millisecond // how long a round posts at least before the kill
	fewAcks     = 200                    // and how many posts it waits to be acknowledged
)

// ledger is what the posters of a room know: which posts were acknowledged, under which id, and which have no answer.
type ledger struct {
	mu    sync.Mutex
	acked map[string]string // clientId → message id
	open  map[string]bool   // clientIds without an answer
	gone  map[string]bool   // refused for good
}

func newLedger() *ledger {
	return &ledger{acked: map[string]string{}, open: map[string]bool{}, gone: map[string]bool{}}
}

func (l *ledger) begin(clientID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[clientID] = true
}

// ack notes an answer; it is an error when the same post was acknowledged under another id before.
func (l *ledger) ack(clientID, id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if earlier, ok := l.acked[clientID]; ok && earlier != id {
		return fmt.Errorf("post %s was acked as %s and now as %s", clientID, earlier, id)
	}
	l.acked[clientID] = id
	delete(l.open, clientID)
	return nil
}

func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.acked)
}

func (l *ledger) unanswered() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.open))
}

// TestKill: twenty sockets post as fast as they can while the server is killed, ten times. Whatever was acknowledged is
// there, once, after each restart; what was not is posted again with the same clientId and is there once, too
// (decisions 21, 30, 39).
func TestKill(t *testing.T) {
	server := own(t)
	api := client.API{Base: server.URL()}
	var posters []person
	for range 4 {
		posters = append(posters, user(t, api, "poster"))
	}
	g := posters[0].room(t, "room", false)
	for _, p := range posters[1:] {
		p.enter(t, g)
	}
	book := newLedger()
	for round := range killRounds {
		postUntilKilled(t, server, posters, g, book, round)
		if err := server.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		seen := checkHistory(t, posters[0], g, book)
		repost(t, posters, g, book, seen)
		checkHistory(t, posters[0], g, book)
	}
	checkLogSequence(t, posters[0], g)
	t.Logf("%d posts were acknowledged over %d kills", book.count(), killRounds)
}

// postUntilKilled lets all sockets post until the server is killed among them.
func postUntilKilled(t *testing.T, server *process.Server, posters []person, g client.Agency, book *ledger, round int) {
	t.Helper()
	before := book.count()
	var running sync.WaitGroup
	failures := make(chan error, killSockets)
	for i := range killSockets {
		owner := i % len(posters)
		dial := client.DialPlain
		if i%2 == 1 {
			dial = client.DialSocketIO
		}
		s := opened(t, dial, posters[owner].Base, posters[owner].Token)
		if i < 2 {
			joined(t, s, g) // so that some of them are sent all the messages meanwhile
		}
		running.Go(func() {
			if err := postOn(s, g, book, fmt.Sprintf("%d-%d-%d", owner, round, i)); err != nil {
				failures <- err
			}
		})
	}
	begin := time.Now()
	eventually(t, "posting enough to kill the server in the midst of it", func() bool {
		return time.Since(begin) > posting && book.count()-before > fewAcks || len(failures) > 0
	})
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	running.Wait()
	close(failures)
	for err := range failures {
		t.Fatal(err)
	}
}

// window is how many posts of one socket wait for their answers at once.
const window = 8

// postOn posts on one socket until it ends. clientIds begin with the owner's number, which repost needs.
func postOn(s *client.Socket, g client.Agency, book *ledger, name string) error {
	type call struct {
		clientID string
		answer   <-chan client.Frame
	}
	calls := make(chan call, window)
	done := make(chan error, 1)
	go func() {
		var failure error
		for c := range calls {
			select {
			case f := <-c.answer:
				failure = errors.Join(failure, noteAck(book, c.clientID, f))
			case <-s.Ended():
				select { // it may have been the last that came
				case f := <-c.answer:
					failure = errors.Join(failure, noteAck(book, c.clientID, f))
				default:
				}
			}
		}
		done <- failure
	}()
	for n := 0; s.Err() == nil; n++ {
		c := call{clientID: fmt.Sprintf("%s-%d", name, n)}
		book.begin(c.clientID)
		_, answer, err := s.Begin("send-message", map[string]string{"agencyId": g.ID, "content": c.clientID, "clientId": c.clientID})
		if err != nil {
			break // killed
		}
		c.answer = answer
		calls <- c
	}
	close(calls)
	return <-done
}

func noteAck(book *ledger, clientID string, f client.Frame) error {
	var a client.Ack
	if err := json.Unmarshal(f.Data, &a); err != nil || !a.OK || a.MessageID == "" {
		return fmt.Errorf("post %s was answered with %s", clientID, f.Data)
	}
	return book.ack(clientID, a.MessageID)
}

// checkHistory compares the history with the ledger and returns what is there, by clientId.
func checkHistory(t *testing.T, reader person, g client.Agency, book *ledger) map[string]client.Message {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*wait)
	defer cancel()
	history, err := reader.History(ctx, g.ID)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]client.Message{}
	last := client.Message{}
	for _, m := range history {
		if m.Seq <= last.Seq || m.CreatedAt <= last.CreatedAt {
			t.Fatalf("seq %d of %s comes after seq %d of %s", m.Seq, m.CreatedAt, last.Seq, last.CreatedAt)
		}
		if first, twice := seen[m.ClientID]; twice {
			t.Fatalf("post %s is there twice, as %s and %s", m.ClientID, first.ID, m.ID)
		}
		if m.Content != m.ClientID {
			t.Fatalf("post %s has the content %q", m.ClientID, m.Content)
		}
		seen[m.ClientID], last = m, m
	}
	for clientID, id := range book.acked {
		if seen[clientID].ID != id {
			t.Fatalf("post %s was acked as %s, and the history has %q", clientID, id, seen[clientID].ID)
		}
	}
	return seen
}

// repost posts again what has no answer, with the same clientId: what is there already gets its first id.
func repost(t *testing.T, posters []person, g client.Agency, book *ledger, seen map[string]client.Message) {
	t.Helper()
	for _, clientID := range book.unanswered() {
		var owner int
		if _, err := fmt.Sscanf(clientID, "%d-", &owner); err != nil {
			t.Fatal(err)
		}
		m, err := posters[owner].Post(soon(t), g.ID, clientID, clientID)
		if err != nil {
			t.Fatal(err)
		}
		if earlier, ok := seen[clientID]; ok && earlier.ID != m.ID {
			t.Fatalf("post %s was there as %s and is posted again as %s", clientID, earlier.ID, m.ID)
		}
		if err := book.ack(clientID, m.ID); err != nil {
			t.Fatal(err)
		}
	}
}

// checkLogSequence reads the agency's log from its beginning in the way of a client that comes back after long, and wants
// every seq once. Joins and leaves take a seq too, and are not repeated.
func checkLogSequence(t *testing.T, reader person, g client.Agency) {
	t.Helper()
	history, err := reader.History(soon(t), g.ID)
	if err != nil {
		t.Fatal(err)
	}
	s := reader.plain(t)
	since := history[max(0, len(history)-500)].Seq
	end := joined(t, s, g).Seq
	if last := history[len(history)-1].Seq; end != last {
		t.Fatalf("the log ends at %d, its last message is at %d", end, last)
	}
	want := history[max(0, len(history)-500)+1:]
	for len(want) > 0 {
		j, err := s.Join(soon(t), g.ID, &since)
		if err != nil || j.Recovered == nil || !*j.Recovered || len(j.Missed) == 0 || len(j.Missed) > len(want) {
			t.Fatalf("joined since %d: %v, %v", since, j, err)
		}
		for i, missed := range j.Missed {
			var m client.Message
			if err := json.Unmarshal(missed.Data, &m); err != nil || m.ID != want[i].ID || m.Seq != since+1 {
				t.Fatalf("after seq %d came %s %s, want message %s", since, missed.Event, missed.Data, want[i].ID)
			}
			since = m.Seq
		}
		want = want[len(j.Missed):]
	}
}

// TestKillEverything: accounts, tokens, rooms, edits and deletions survive a kill right after their answers.
func TestKillEverything(t *testing.T) {
	t.Parallel()
	server := own(t)
	api := client.API{Base: server.URL()}
	for range 3 {
		ann, bob := user(t, api, "ann"), user(t, api, "bob")
		g, hidden := ann.room(t, "room", false), ann.room(t, "hidden", true)
		bob.enter(t, g)
		kept, dropped := ann.post(t, g, "kept"), ann.post(t, g, "dropped")
		must[json.RawMessage](t, ann.API, http.MethodPatch, "/api/agencies/"+g.ID+"/messages/"+kept.ID, map[string]string{"content": "kept, edited"})
		must[json.RawMessage](t, ann.API, http.MethodDelete, "/api/agencies/"+g.ID+"/messages/"+dropped.ID, nil)
		pat := must[token](t, ann.API, http.MethodPost, "/api/auth/tokens", map[string]string{"name": "pat"})
		revoked := must[token](t, ann.API, http.MethodPost, "/api/auth/tokens", map[string]string{"name": "revoked"})
		must[json.RawMessage](t, ann.API, http.MethodDelete, "/api/auth/tokens/"+revoked.ID, nil)
		agent := must[created](t, ann.API, http.MethodPost, "/api/agents", map[string]string{"name": fresh("bot")})
		must[created](t, ann.API, http.MethodPost, "/api/agents/"+agent.Agent.ID+"/verify", nil)
		self, err := api.RegisterAgent(soon(t), fresh("self"), "")
		if err != nil {
			t.Fatal(err)
		}
		must[json.RawMessage](t, bob.API, http.MethodPost, "/api/auth/logout", nil)
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := server.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if me(t, ann.API).ID != ann.ID || me(t, api.As(pat.Token)).ID != ann.ID {
			t.Fatal("the tokens belong to somebody else")
		}
		refused(t, api.As(revoked.Token), http.MethodGet, "/api/auth/me", nil, 401)
		refused(t, bob.API, http.MethodGet, "/api/auth/me", nil, 401)
		again, err := api.Login(soon(t), bob.Username, password)
		if err != nil {
			t.Fatal(err)
		}
		history, err := api.As(again.Token).History(soon(t), g.ID)
		if err != nil || len(history) != 1 || history[0].Content != "kept, edited" {
			t.Fatalf("the history is %+v, %v", history, err)
		}
		refused(t, api.As(again.Token), http.MethodGet, "/api/agencies/"+hidden.ID, nil, 404)
		for _, secret := range []string{agent.AgentToken, self.Agent.Token} {
			if _, err := api.Exchange(soon(t), secret); err != nil {
				t.Fatal(err)
			}
		}
		if v := must[created](t, ann.API, http.MethodPost, "/api/agents/"+agent.Agent.ID+"/verify", nil); v.AgentToken != agent.AgentToken {
			t.Fatalf("after the restart verify shows %q", v.AgentToken)
		}
		if m := ann.post(t, g, "on it goes"); m.Seq <= history[0].Seq {
			t.Fatalf("seq %d after %d", m.Seq, history[0].Seq)
		}
	}
}
