package agency

import (
	"parley/actors/account"
	"parley/actors/kernel"
)

// ParseRole reads the name of a role; CodeInvalid for any other.
func ParseRole(s string) (Role, error) {
	if r := Role(s); r.Rank() > 0 {
		return r, nil
	}
	return "", kernel.Invalid("role must be owner, admin, moderator or member")
}

// roleFor is the role that an account gets when it is given one: members that are agents are called so (decision 19).
func roleFor(kind account.Type, r Role) (Role, error) {
	switch {
	case r == Member && kind == account.Agent:
		return AgentRole, nil
	case r == AgentRole && kind != account.Agent:
		return "", kernel.Invalid("only agents have the role agent")
	default:
		return r, nil
	}
}

var errRank = kernel.Forbidden("you can't do this to somebody of your own rank or a higher one")

// mayRemove is the rule of kicking and banning: moderators and above, whoever ranks below them (decision 19). The target
// may be a stranger.
func mayRemove(by, target Role) error {
	switch {
	case by.Rank() < Moderator.Rank():
		return kernel.Forbidden("this needs the role %s or higher in the agency", Moderator)
	case target.Rank() >= by.Rank():
		return errRank
	default:
		return nil
	}
}

// mayGive is the rule of promoting and demoting: an owner gives any role, an admin those below its own, both to whoever
// ranks below them (decision 19). Everybody may step down.
func mayGive(by, target, next Role, self bool) error {
	switch {
	case self && next.Rank() <= by.Rank():
		return nil
	case self:
		return kernel.Forbidden("you can't promote yourself")
	case by.Rank() < Admin.Rank():
		return kernel.Forbidden("this needs the role %s or higher in the agency", Admin)
	case target.Rank() >= by.Rank():
		return errRank
	case by != Owner && next.Rank() >= by.Rank():
		return kernel.Forbidden("an admin can promote to moderator at most")
	default:
		return nil
	}
}

// MaySeeBans admits those who may ban to the list of bans. role is the caller's.
func MaySeeBans(r *Record, role Role) error {
	switch r.Kind {
	case Lobby:
		return errLobby()
	case DM:
		return kernel.Forbidden("nobody is banned from a direct message")
	}
	return mayRemove(role, "")
}

func errLobby() error { return kernel.Forbidden("the Lobby has no owner, so nobody can moderate it") }
