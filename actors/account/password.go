package account

import (
	"context"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"

	"parley/actors/kernel"
)

// Limits of passwords (rest.md, User; decision 7) and of their hashing.
const (
	MinPassword = 8    // characters
	MaxPassword = 1024 // characters
	// hashWorkers is the number of hashes computed at once, each of which takes 19 MiB.
	hashWorkers = 2
	// hashQueue is the number of callers that wait for a hash; one more is refused.
	hashQueue = 128
)

var hashParams = &argon2id.Params{Memory: 19 * 1024, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// Hasher computes argon2id in a small pool, so that a burst of logins can neither exhaust memory nor starve the rest.
type Hasher struct {
	slots   chan struct{}
	waiting chan struct{}
}

// dummyHash is verified against for unknown names, so that both answers take the same time. It is made like every other
// hash (hashParams), of a password that nobody knows.
const dummyHash = "$argon2id$v=19$m=19456,t=2,p=1$Q16tceH+qw/fOfymy8S7Qg$Q5TBUs/V11PyB/9l6/Q7Jzs2w8ATmAlP0zkOdZZA54c"

// NewHasher makes a pool of hashWorkers.
func NewHasher() *Hasher {
	return &Hasher{slots: make(chan struct{}, hashWorkers), waiting: make(chan struct{}, hashQueue)}
}

// CheckPassword applies the rules of a new password.
func CheckPassword(field, password string) error {
	switch n := utf8.RuneCountInString(password); {
	case n < MinPassword:
		return kernel.Invalid("%s must be at least %d characters", field, MinPassword)
	case n > MaxPassword:
		return kernel.Invalid("%s must be at most %d characters", field, MaxPassword)
	}
	return nil
}

// Hash returns the encoded hash of a password.
func (h *Hasher) Hash(ctx context.Context, password string) (hash string, err error) {
	err = h.run(ctx, func() error {
		hash, err = argon2id.CreateHash(password, hashParams)
		return err
	})
	return hash, err
}

// Verify compares in constant time. An empty hash stands for no account: it costs the same and is never right.
func (h *Hasher) Verify(ctx context.Context, password, hash string) (right bool, err error) {
	known := hash != ""
	if !known {
		hash = dummyHash
	}
	if utf8.RuneCountInString(password) > MaxPassword {
		password, known = "", false
	}
	err = h.run(ctx, func() error {
		right, err = argon2id.ComparePasswordAndHash(password, hash)
		return err
	})
	return right && known, err
}

func (h *Hasher) run(ctx context.Context, f func() error) error {
	select {
	case h.waiting <- struct{}{}:
		defer func() { <-h.waiting }()
	default:
		return kernel.ErrOverloaded
	}
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	case <-ctx.Done():
		return kernel.ErrTimeout
	}
	return f()
}
