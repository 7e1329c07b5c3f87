package account

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/persistence"
)

// Lifetimes and limits of credentials (rest.md, Authentication and Limits).
const (
	SessionLife    = 7 * 24 * time.Hour
	MaxPATs        = 10
	MaxPATName     = 64
	MaxSessions    = 100            // of one account; the oldest ends when one more begins
	SealedTokenFor = 24 * time.Hour // after the first verification (decision 10)

	patPrefix   = "cru_"
	agentPrefix = "sk_"
)

// randomHex returns n random bytes in hex.
func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// NewSessionToken returns a fresh session token: 64 hex digits.
func NewSessionToken() string { return randomHex(32) }

// NewPATToken returns a fresh personal access token: cru_ and 48 hex digits.
func NewPATToken() string { return patPrefix + randomHex(24) }

// NewAgentToken returns a fresh agent token: sk_ and 48 hex digits.
func NewAgentToken() string { return agentPrefix + randomHex(24) }

// NewClaimCode returns a fresh claim code: 20 hex digits.
func NewClaimCode() string { return randomHex(10) }

// CredentialKind says what a token is good for.
type CredentialKind string

// Kinds of credentials.
const (
	SessionCredential CredentialKind = "s"
	PATCredential     CredentialKind = "p"
	AgentCredential   CredentialKind = "a"
)

// Credential is what a token's claim tells of it.
type Credential struct {
	Kind     CredentialKind `json:"k"`
	ID       string         `json:"i,omitempty"` // of the session or PAT
	LoggedIn int64          `json:"l,omitempty"` // ms; sessions opened by a password
}

// ReadCredential decodes the data of a token's claim.
func ReadCredential(data []byte) (Credential, error) {
	var c Credential
	if err := json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("credential: %w", err)
	}
	return c, nil
}

// KindOfToken routes a token by its form: cru_ is a PAT, sk_ an agent token, anything else a session token.
func KindOfToken(token string) CredentialKind {
	switch {
	case strings.HasPrefix(token, patPrefix):
		return PATCredential
	case strings.HasPrefix(token, agentPrefix):
		return AgentCredential
	default:
		return SessionCredential
	}
}

// tokenClaim takes the hash of a token for an account.
func tokenClaim(owner, hash string, c Credential, expires int64) persistence.ClaimOp {
	data, err := json.Marshal(c)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return persistence.ClaimOp{Index: persistence.ClaimToken, Key: hash, Owner: owner, Data: data, Expires: expires}
}

func releaseToken(owner, hash string) persistence.ClaimOp {
	return persistence.ClaimOp{Index: persistence.ClaimToken, Key: hash, Owner: owner, Release: true}
}

// Sealer encrypts secrets at rest with AES-256-GCM (decision 17).
type Sealer struct{ aead cipher.AEAD }

// NewSealer takes a key of 32 bytes.
func NewSealer(key []byte) (*Sealer, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("secret key: %w", err)
	}
	if len(key) != 32 {
		return nil, errors.New("secret key: want 32 bytes")
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("secret key: %w", err)
	}
	return &Sealer{aead}, nil
}

// Seal encrypts a secret for one purpose: it opens only under the same one.
func (s *Sealer) Seal(purpose, secret string) []byte {
	nonce := make([]byte, s.aead.NonceSize())
	_, _ = rand.Read(nonce)
	return s.aead.Seal(nonce, nonce, []byte(secret), []byte(purpose))
}

// Open decrypts what Seal made for the same purpose.
func (s *Sealer) Open(purpose string, sealed []byte) (string, error) {
	n := s.aead.NonceSize()
	if len(sealed) < n {
		return "", errors.New("sealed secret: too short")
	}
	plain, err := s.aead.Open(nil, sealed[:n], sealed[n:], []byte(purpose))
	if err != nil {
		return "", errors.New("sealed secret: wrong key or damaged")
	}
	return string(plain), nil
}
