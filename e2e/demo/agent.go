package main

import (
	"context"
	"fmt"
	"strings"

	"parley/e2e/client"
)

// maxMentions is how many mentions may wait for the agent's answer.
const maxMentions = 100

// agent is a program that lives in rooms and answers when it is mentioned.
type agent struct {
	*follower
	handle   string
	mentions chan client.Message
	failed   chan error
}

// newAgent makes an agent out of a session.
func newAgent(api client.API, handle string) *agent {
	a := &agent{handle: handle, mentions: make(chan client.Message, maxMentions), failed: make(chan error, 1)}
	a.follower = newFollower(handle, api, func(m client.Message) {
		if m.SenderUsername != handle && client.Mentions(m.Content, handle) {
			a.mentions <- m
		}
	})
	return a
}

// answer answers mentions until ctx ends. The clientId is made of the mention's id, so that no mention is answered twice,
// whatever happens in between.
func (a *agent) answer(ctx context.Context) {
	for {
		select {
		case m := <-a.mentions:
			if _, err := a.send(ctx, m.AgencyID, "@"+m.SenderUsername+" "+a.reply(m.Content), "answer-"+m.ID); err != nil && ctx.Err() == nil {
				a.failed <- err
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// reply thinks, as far as it goes.
func (a *agent) reply(content string) string {
	words := len(strings.Fields(content))
	if strings.HasSuffix(content, "?") {
		return fmt.Sprintf("that is a good question, in %d words. I shall think about it.", words)
	}
	return fmt.Sprintf("I have heard your %d words.", words)
}
