package actortest

import (
	"context"
	"sync"

	"parley/actors/platform"
)

// Mailbox is a mailer that keeps what it is given.
type Mailbox struct {
	mu    sync.Mutex
	mails []platform.Mail
	tries int
	fails []error
}

var _ platform.Mailer = (*Mailbox)(nil)

// Send implements platform.Mailer.
func (m *Mailbox) Send(_ context.Context, mail platform.Mail) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tries++
	if len(m.fails) > 0 {
		err := m.fails[0]
		m.fails = m.fails[1:]
		return err
	}
	m.mails = append(m.mails, mail)
	return nil
}

// Fail makes the next tries fail, one for each error.
func (m *Mailbox) Fail(errs ...error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fails = append(m.fails, errs...)
}

// Mails returns what was sent so far.
func (m *Mailbox) Mails() []platform.Mail {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]platform.Mail(nil), m.mails...)
}

// Tries returns how often sending was tried.
func (m *Mailbox) Tries() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tries
}
