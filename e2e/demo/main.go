// Command demo shows Parley at work: an agent registers itself and answers a person, the server is killed in the midst of
// it and started again, and the conversation goes on with nothing lost. It exits with 0 only if all of that happened.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/e2e/client"
	"parley/e2e/process"
)

// Limits of the demonstration.
const (
	total = 28 * time.Second // for all of it, without the build
	each  = 8 * time.Second  // for each wait
)

func main() {
	binary := flag.String("binary", "bin/parley", "server to start; it is built into a scratch folder if it is not there")
	flag.Parse()
	begin := time.Now()
	if err := run(*binary); err != nil {
		fmt.Fprintln(os.Stderr, "\nFAILED:", err)
		os.Exit(1)
	}
	fmt.Printf("\nAll of it happened as it should, in %s.\n", time.Since(begin).Round(100*time.Millisecond))
}

func run(binary string) (err error) {
	dir, err := os.MkdirTemp("", "parley-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if _, missing := os.Stat(binary); missing != nil {
		binary = filepath.Join(dir, "parley")
		if err := process.Build(context.Background(), binary); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), total)
	defer cancel()
	server, err := process.Start(ctx, process.Options{Binary: binary, DataDir: filepath.Join(dir, "data")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Kill()) }()
	say("a server listens on %s, with an empty folder", server.URL())
	var tasks sync.WaitGroup
	defer tasks.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	d := &demo{server: server, api: client.API{Base: server.URL()}, names: map[string]string{}}
	for _, act := range []func(context.Context, *sync.WaitGroup) error{d.agentArrives, d.personArrives, d.talk, d.crash, d.goOn, d.compare, d.end} {
		if err := act(ctx, &tasks); err != nil {
			return fmt.Errorf("%w\nthe server's log:\n%s", err, server.Log())
		}
	}
	return nil
}

// say prints what happens around the conversation.
func say(format string, args ...any) { fmt.Printf("* "+format+"\n", args...) }

// demo is the stage.
type demo struct {
	server *process.Server
	api    client.API
	names  map[string]string // of rooms, by id; complete before anybody speaks

	otto       *agent
	registered client.RegisteredAgent
	ann        *follower
	annID      client.Session
	lobby      client.Agency

	mu    sync.Mutex
	heard []client.Message // by ann, in the order of arrival
}

// agentArrives: an agent registers itself, exchanges its permanent token for a session and connects.
func (d *demo) agentArrives(ctx context.Context, tasks *sync.WaitGroup) (err error) {
	if d.registered, err = d.api.RegisterAgent(ctx, "Otto", "answers when it is mentioned"); err != nil {
		return err
	}
	handle := d.registered.Agent.Username
	say("an agent registered itself as @%s and owns %q; a person may claim it at %s", handle, d.registered.Agency.Name, d.registered.ClaimURL)
	session, err := d.api.Exchange(ctx, d.registered.Agent.Token)
	if err != nil {
		return err
	}
	if d.lobby, err = d.api.As(session.Token).Agency(ctx, "lobby"); err != nil {
		return err
	}
	d.names[d.lobby.ID], d.names[d.registered.Agency.ID] = d.lobby.Name, d.registered.Agency.Name
	d.otto = newAgent(d.api.As(session.Token), handle)
	tasks.Go(func() { d.otto.run(ctx) })
	tasks.Go(func() { d.otto.answer(ctx) })
	if err := d.enterBoth(ctx, d.otto.follower); err != nil {
		return err
	}
	say("@%s is connected over Socket.IO and joined both rooms", handle)
	return nil
}

// personArrives: a person registers, joins the agent's room over REST and connects.
func (d *demo) personArrives(ctx context.Context, tasks *sync.WaitGroup) (err error) {
	if d.annID, err = d.api.Register(ctx, "ann", "correct horse battery", "Ann"); err != nil {
		return err
	}
	api := d.api.As(d.annID.Token)
	if err := api.Join(ctx, d.registered.Agency.ID); err != nil {
		return err
	}
	d.ann = newFollower("ann", api, d.hear)
	tasks.Go(func() { d.ann.run(ctx) })
	if err := d.enterBoth(ctx, d.ann); err != nil {
		return err
	}
	say("a person registered as ann, joined %q and is connected, too", d.registered.Agency.Name)
	return nil
}

func (d *demo) enterBoth(ctx context.Context, f *follower) error {
	ctx, cancel := context.WithTimeout(ctx, each)
	defer cancel()
	for _, id := range []string{d.lobby.ID, d.registered.Agency.ID} {
		if err := f.enter(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// hear is ann's ear: it prints the transcript.
func (d *demo) hear(m client.Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.heard = append(d.heard, m)
	fmt.Printf("    [%s] %s: %s\n", d.names[m.AgencyID], m.SenderUsername, m.Content)
}

// answered waits until ann has heard the agent's answer to each of some messages.
func (d *demo) answered(ctx context.Context, ids ...string) error {
	ctx, cancel := context.WithTimeout(ctx, each)
	defer cancel()
	for _, id := range ids {
		heard := d.ann.await(ctx, "the agent's answer to message "+id, func() bool { return d.answers(id) == 1 })
		select {
		case err := <-d.otto.failed:
			return err
		default:
		}
		if heard != nil {
			return heard
		}
	}
	return nil
}

// answers counts what ann has heard of answers to a message.
func (d *demo) answers(id string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	count := 0
	for _, m := range d.heard {
		if m.ClientID == "answer-"+id && m.SenderID == d.registered.Agent.ID {
			count++
		}
	}
	return count
}

// talk: both speak, in both rooms, over sockets and REST.
func (d *demo) talk(ctx context.Context, _ *sync.WaitGroup) error {
	handle := "@" + d.otto.handle
	room := d.registered.Agency.ID
	first, err := d.ann.send(ctx, d.lobby.ID, "Good morning! Is there anybody called "+handle+" here?", "hello")
	if err != nil {
		return err
	}
	if err := d.answered(ctx, first.MessageID); err != nil {
		return err
	}
	second, err := d.api.As(d.annID.Token).Post(ctx, room, handle+", this one is posted over REST.", "")
	if err != nil {
		return err
	}
	if _, err := d.ann.send(ctx, room, handle+"_x is somebody else, so nobody answers.", "nobody"); err != nil {
		return err
	}
	return d.answered(ctx, second.ID)
}

// crash: the server is killed while a question is on its way, and ann goes on speaking into the void.
func (d *demo) crash(ctx context.Context, tasks *sync.WaitGroup) error {
	question, err := d.ann.send(ctx, d.registered.Agency.ID, "@"+d.otto.handle+" what do you do when the server dies right now?", "crash")
	if err != nil {
		return err
	}
	if err := d.server.Kill(); err != nil {
		return err
	}
	say("the server was killed with SIGKILL, right after that question was acknowledged")
	type sent struct {
		ack client.Ack
		err error
	}
	void := make(chan sent, 1)
	tasks.Go(func() {
		ack, err := d.ann.send(ctx, d.lobby.ID, "Hello? @"+d.otto.handle+"? I said this while the server was down.", "void")
		void <- sent{ack, err}
	})
	if err := d.server.Restart(ctx); err != nil {
		return err
	}
	say("it runs again, on the same folder; both come back with the tokens that they had")
	s := <-void
	if s.err != nil {
		return s.err
	}
	return d.answered(ctx, question.MessageID, s.ack.MessageID)
}

// goOn: the conversation continues on second connections.
func (d *demo) goOn(ctx context.Context, _ *sync.WaitGroup) error {
	for _, f := range []*follower{d.ann, d.otto.follower} {
		wait, cancel := context.WithTimeout(ctx, each)
		err := f.await(wait, "a second connection, with the same token", func() bool { return f.lives >= 2 && f.entered[d.lobby.ID] })
		cancel()
		if err != nil {
			return err
		}
	}
	last, err := d.ann.send(ctx, d.registered.Agency.ID, "@"+d.otto.handle+", there you are again! Did you miss anything?", "after")
	if err != nil {
		return err
	}
	return d.answered(ctx, last.MessageID)
}

// compare: what ann heard is what the server has, each message once and in order.
func (d *demo) compare(ctx context.Context, _ *sync.WaitGroup) error {
	count := 0
	for _, id := range []string{d.lobby.ID, d.registered.Agency.ID} {
		history, err := d.api.As(d.annID.Token).History(ctx, id)
		if err != nil {
			return err
		}
		d.mu.Lock()
		heard := slices.DeleteFunc(slices.Clone(d.heard), func(m client.Message) bool { return m.AgencyID != id })
		d.mu.Unlock()
		if got, want := list(heard), list(history); got != want {
			return fmt.Errorf("in %s ann heard\n%s\nand expected what the history has:\n%s", d.names[id], got, want)
		}
		count += len(history)
	}
	const said = 6 // by ann; all but one are answered
	if want := 2*said - 1; count != want {
		return fmt.Errorf("the history has %d messages, expected %d: %d of ann's and %d answers", count, want, said, said-1)
	}
	say("ann heard all %d messages of both rooms, each once, as the history has them", count)
	return nil
}

func list(messages []client.Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "%d %s %s: %s\n", m.Seq, m.ID, m.SenderUsername, m.Content)
	}
	return b.String()
}

// end: the server ends in the good way.
func (d *demo) end(context.Context, *sync.WaitGroup) error {
	code, err := d.server.Terminate()
	if err == nil && code != 0 {
		err = fmt.Errorf("after SIGTERM the server ended with code %d, expected 0", code)
	}
	if err == nil {
		say("after SIGTERM the server ended with code 0")
	}
	return err
}
