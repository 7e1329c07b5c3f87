package account

import (
	"encoding/json"
	"fmt"
	"slices"

	"parley/persistence"
)

// Kinds of events of an account's log.
const (
	registered      = "registered"
	profileUpdated  = "profile-updated"
	passwordChanged = "password-changed"
	sessionOpened   = "session-opened"
	sessionClosed   = "session-closed"
	sessionsClosed  = "sessions-closed"
	sessionExtended = "session-extended"
	patCreated      = "pat-created"
	patUsed         = "pat-used"
	patRevoked      = "pat-revoked"
	verified        = "verified"
	tokenReplaced   = "token-replaced"
	deleted         = "deleted"
	configured      = "configured"
	owned           = "owned"
	claimRequested  = "claim-requested"
	claimMailTried  = "claim-mail-tried"
	claimMailed     = "claim-mailed"
	claimSettled    = "claim-settled"
	followingSet    = "following-set"
	followersSet    = "followers-set"
	walletChanged   = "wallet-changed"
)

// state is everything that an account's actor knows. It is its own snapshot.
type state struct {
	stored
	PasswordHash string              `json:"ph,omitempty"`
	TokenHash    string              `json:"tk,omitempty"`
	SealedToken  []byte              `json:"st,omitempty"` // until SealedTokenFor after VerifiedAt
	VerifiedAt   int64               `json:"va,omitempty"` // by the owner
	ClaimCode    string              `json:"cc,omitempty"` // stays when the agent has been claimed, to tell so
	ClaimedWith  string              `json:"cw,omitempty"` // the request by which the owner claimed it
	Config       map[string]settings `json:"cg,omitempty"` // agent configuration by agency, "" for all
	Claims       []pendingClaim      `json:"cl,omitempty"` // of a user, oldest first
	Sessions     []session           `json:"ss,omitempty"` // oldest first
	PATs         []storedPAT         `json:"pt,omitempty"` // oldest first
}

type session struct {
	ID       string `json:"i"`
	Hash     string `json:"h"`
	OpenedAt int64  `json:"o"`
	Expires  int64  `json:"e"`
}

type storedPAT struct {
	ID        string `json:"i"`
	Name      string `json:"n"`
	Prefix    string `json:"p"`
	Hash      string `json:"h"`
	CreatedAt int64  `json:"c"`
	ExpiresAt int64  `json:"e,omitempty"`
	UsedAt    int64  `json:"u,omitempty"`
}

type idOnly struct {
	ID string `json:"i"`
}

type extension struct {
	ID      string `json:"i"`
	Expires int64  `json:"e"`
}

type patUse struct {
	ID string `json:"i"`
	At int64  `json:"a"`
}

type newPassword struct {
	Hash string `json:"h"`
}

type newToken struct {
	Hash string `json:"h"`
}

type verification struct {
	At int64 `json:"a"`
}

// event encodes an event of the log.
func event(kind string, body any) persistence.Event {
	data, err := json.Marshal(body)
	if err != nil {
		panic(err) // plain structs always encode
	}
	return persistence.Event{Kind: kind, Data: data}
}

func (s *state) exists() bool { return s.ID != "" && !s.Deleted }

func (s *state) pat(id string) int {
	return slices.IndexFunc(s.PATs, func(p storedPAT) bool { return p.ID == id })
}

func (s *state) session(id string) int {
	return slices.IndexFunc(s.Sessions, func(x session) bool { return x.ID == id })
}

// apply changes the state by one event.
func (s *state) apply(ev *persistence.Event) error {
	decode := func(v any) error {
		if err := json.Unmarshal(ev.Data, v); err != nil {
			return fmt.Errorf("account event %d %s: %w", ev.Seq, ev.Kind, err)
		}
		return nil
	}
	switch ev.Kind {
	case registered:
		return decode(s)
	case profileUpdated:
		var b stored // fields that were cleared are absent in the event
		if err := decode(&b); err != nil {
			return err
		}
		s.stored = b
	case passwordChanged:
		var b newPassword
		if err := decode(&b); err != nil {
			return err
		}
		s.PasswordHash = b.Hash
	case verified:
		var b verification
		if err := decode(&b); err != nil {
			return err
		}
		s.Verified, s.VerifiedAt = true, b.At
	case tokenReplaced:
		var b newToken
		if err := decode(&b); err != nil {
			return err
		}
		s.TokenHash, s.SealedToken, s.HasToken = b.Hash, nil, true
	case deleted:
		*s = state{stored: stored{ID: s.ID, Deleted: true}}
	case sessionOpened, sessionClosed, sessionsClosed, sessionExtended:
		return s.applySession(ev, decode)
	case patCreated, patUsed, patRevoked:
		return s.applyPAT(ev, decode)
	case walletChanged:
		var b newWallet
		if err := decode(&b); err != nil {
			return err
		}
		s.Wallet = b.Address
	case configured, owned:
		return s.applyAgent(ev.Kind, decode)
	case followingSet, followersSet:
		return s.applyFollow(ev.Kind, decode)
	case claimRequested, claimMailTried, claimMailed, claimSettled:
		return s.applyClaim(ev.Kind, decode)
	default:
		return fmt.Errorf("account event %d: unknown kind %q", ev.Seq, ev.Kind)
	}
	return nil
}

func (s *state) applySession(ev *persistence.Event, decode func(any) error) error {
	switch ev.Kind {
	case sessionOpened:
		var b session
		if err := decode(&b); err != nil {
			return err
		}
		s.Sessions = append(s.Sessions, b)
	case sessionClosed:
		var b idOnly
		if err := decode(&b); err != nil {
			return err
		}
		s.Sessions = slices.DeleteFunc(s.Sessions, func(x session) bool { return x.ID == b.ID })
	case sessionExtended:
		var b extension
		if err := decode(&b); err != nil {
			return err
		}
		if i := s.session(b.ID); i >= 0 {
			s.Sessions[i].Expires = b.Expires
		}
	case sessionsClosed:
		s.Sessions = nil
	}
	return nil
}

func (s *state) applyPAT(ev *persistence.Event, decode func(any) error) error {
	if ev.Kind == patCreated {
		var b storedPAT
		if err := decode(&b); err != nil {
			return err
		}
		s.PATs = append(s.PATs, b)
		return nil
	}
	var b patUse
	if err := decode(&b); err != nil {
		return err
	}
	i := s.pat(b.ID)
	switch {
	case i < 0:
	case ev.Kind == patUsed:
		s.PATs[i].UsedAt = b.At
	default:
		s.PATs = slices.Delete(s.PATs, i, i+1)
	}
	return nil
}

func (s *state) applyAgent(kind string, decode func(any) error) error {
	if kind == configured {
		var b configuration
		if err := decode(&b); err != nil {
			return err
		}
		s.Config = b.apply(s.Config)
		return nil
	}
	var b newOwner
	if err := decode(&b); err != nil {
		return err
	}
	s.OwnerID, s.ClaimedWith = b.Owner, b.Request
	return nil
}
