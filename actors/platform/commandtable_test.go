package platform

import (
	"strings"
	"testing"

	"parley/actors/command"
)

// The table and the handlers know the same commands.
func TestEveryFormHasItsHandler(t *testing.T) {
	forms := map[string]bool{}
	for _, b := range command.Builtins() {
		for _, f := range b.Forms {
			key := strings.TrimSpace(b.Name + " " + f.Sub)
			forms[key] = true
			if handlers[key] == nil {
				t.Errorf("/%s has no handler", key)
			}
		}
	}
	for key := range handlers {
		if !forms[key] {
			t.Errorf("/%s is handled and not in the table", key)
		}
	}
}

func TestCommandsAreBounded(t *testing.T) {
	r := newRunningCommands()
	for range MaxCommands {
		if err := r.enter(); err != nil {
			t.Fatal(err)
		}
	}
	if r.enter() == nil {
		t.Error("one command too many")
	}
	r.leave()
	if err := r.enter(); err != nil {
		t.Error(err)
	}
	closed := make(chan struct{})
	go func() {
		r.close()
		close(closed)
	}()
	<-r.ctx.Done()
	select {
	case <-closed:
		t.Error("closed before the commands have ended")
	default:
	}
	for range MaxCommands {
		r.leave()
	}
	<-closed
	if r.enter() == nil {
		t.Error("a command after the end")
	}
}
