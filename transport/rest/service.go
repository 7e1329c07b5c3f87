package rest

import (
	"context"
	"encoding/json"
	"time"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/command"
	"parley/actors/platform"
)

// Service is what the endpoints need of the domain. *platform.Platform is one; tests have their own. Every error is
// understood by kernel.AsError.
type Service interface {
	accounts
	tokens
	agents
	claims
	agencies
	moderation
	invites
	messages
	wallets
	skills
	reactions
	directMessages
	explore

	// Ready fails while the service can't do its work.
	Ready(ctx context.Context) error
	// Totals counts what there is.
	Totals(ctx context.Context) (platform.Totals, error)
}

type accounts interface {
	Authenticate(ctx context.Context, token string) (*platform.Identity, error)
	RegisterUser(ctx context.Context, username, password, displayName string) (token string, prof *account.Profile, err error)
	Login(ctx context.Context, username, password string) (token string, prof *account.Profile, err error)
	ExchangeAgentToken(ctx context.Context, agentToken string) (token string, prof *account.Profile, err error)
	Logout(ctx context.Context, id *platform.Identity) error
	Profile(ctx context.Context, accountID string) (*account.Profile, error)
	UpdateProfile(ctx context.Context, id *platform.Identity, u account.ProfileUpdate) (*account.Profile, error)
	ChangePassword(ctx context.Context, id *platform.Identity, current, next string) error
	DeleteAccount(ctx context.Context, id *platform.Identity, password *string) error
}

type tokens interface {
	CreatePAT(ctx context.Context, id *platform.Identity, name, expiresIn string) (*account.PAT, string, error)
	PATs(ctx context.Context, id *platform.Identity) ([]account.PAT, error)
	RevokePAT(ctx context.Context, id *platform.Identity, patID string) error
}

type agents interface {
	RegisterAgent(ctx context.Context, r platform.SelfRegistration) (*platform.Registered, error)
	CreateAgent(ctx context.Context, id *platform.Identity, c platform.NewAgent) (prof *account.Profile, agentToken string, err error)
	Agents(ctx context.Context, id *platform.Identity) ([]platform.AgentView, error)
	VerifyAgent(ctx context.Context, id *platform.Identity, agentID string) (prof *account.Profile, agentToken string, err error)
	RegenerateAgentToken(ctx context.Context, id *platform.Identity, agentID string) (token string, err error)
	CreateVeniceAgent(ctx context.Context, id *platform.Identity, v platform.VeniceAgent) (prof *account.Profile, agentToken string, err error)
	AgentConfig(ctx context.Context, id *platform.Identity, agentID, agencyID string) (account.Config, error)
	SetAgentConfig(ctx context.Context, id *platform.Identity, agentID, agencyID string, values map[string]json.RawMessage) (account.Config, error)
	TransferAgent(ctx context.Context, id *platform.Identity, agentID string, to platform.NewOwner) (agent, owner *account.Profile, err error)
	DeleteAgent(ctx context.Context, id *platform.Identity, agentID string) error
	Bootstrap(ctx context.Context, agentToken string) (*platform.Bootstrap, error)
	AddAgent(ctx context.Context, id *platform.Identity, agencyID string, a platform.AddedAgent) (*platform.AgentAdded, error)
}

type claims interface {
	ClaimAgent(ctx context.Context, id *platform.Identity, code, email string) (expires time.Time, err error)
	ClaimPage(ctx context.Context, code string) (*platform.ClaimPage, error)
	VerifyClaim(ctx context.Context, token string) (*account.Profile, error)
}

type agencies interface {
	ListAgencies(ctx context.Context, id *platform.Identity, g platform.Page) (platform.Encoded, error)
	CreateAgency(ctx context.Context, id *platform.Identity, c agency.NewAgency) (*agency.View, error)
	AgencyBySlug(ctx context.Context, id *platform.Identity, slug string) (*agency.View, error)
	Agency(ctx context.Context, id *platform.Identity, agencyID string) (*agency.View, error)
	UpdateAgency(ctx context.Context, id *platform.Identity, agencyID string, u agency.Update) (*agency.View, error)
	DeleteAgency(ctx context.Context, id *platform.Identity, agencyID string) error
	Members(ctx context.Context, id *platform.Identity, agencyID string, limit int, after string) ([]agency.MemberView, error)
	FindMembers(ctx context.Context, id *platform.Identity, agencyID, text string, limit int, after string) ([]agency.MemberView, error)
	Join(ctx context.Context, id *platform.Identity, agencyID string) (*agency.View, error)
	Leave(ctx context.Context, id *platform.Identity, agencyID string) error
}

type moderation interface {
	SetRole(ctx context.Context, id *platform.Identity, agencyID, accountID, role string) (*agency.MemberView, error)
	Kick(ctx context.Context, id *platform.Identity, agencyID, accountID, reason string) error
	TransferAgency(ctx context.Context, id *platform.Identity, agencyID, newOwnerID, newOwnerName string) (*agency.View, *account.Profile, error)
	Ban(ctx context.Context, id *platform.Identity, agencyID, accountID, reason, expires string) (*agency.BanView, error)
	Unban(ctx context.Context, id *platform.Identity, agencyID, accountID string) error
	Bans(ctx context.Context, id *platform.Identity, agencyID string, limit int, after string) ([]agency.BanView, error)
}

type invites interface {
	CreateInvite(ctx context.Context, id *platform.Identity, agencyID string, maxUses *int64, expires string) (*agency.InviteView, error)
	Invites(ctx context.Context, id *platform.Identity, agencyID string) ([]agency.InviteView, error)
	RevokeInvite(ctx context.Context, id *platform.Identity, agencyID, code string) error
	RedeemInvite(ctx context.Context, id *platform.Identity, code string) (*agency.View, error)
}

type messages interface {
	Messages(ctx context.Context, id *platform.Identity, agencyID string, q platform.History) ([]json.RawMessage, error)
	Post(ctx context.Context, id *platform.Identity, agencyID string, m agency.NewMessage) (msg json.RawMessage, earlier bool, err error)
	Command(ctx context.Context, id *platform.Identity, agencyID, content string) (command.Result, error)
	EditMessage(ctx context.Context, id *platform.Identity, agencyID, messageID, content string) (json.RawMessage, error)
	DeleteMessage(ctx context.Context, id *platform.Identity, agencyID, messageID string) error
}

type wallets interface {
	Wallet(ctx context.Context, id *platform.Identity) (*platform.Wallet, error)
	RegisterWallet(ctx context.Context, id *platform.Identity, address string) (*platform.Wallet, error)
	UnregisterWallet(ctx context.Context, id *platform.Identity) error
	Pay(ctx context.Context, id *platform.Identity, r platform.PaymentReport) (*platform.Paid, error)
	WalletOwner(ctx context.Context, username string) (*account.Profile, error)
	Capabilities() platform.Capabilities
}

type skills interface {
	Skills(ctx context.Context, id *platform.Identity, agencyID string) (*platform.Skills, error)
	InstallSkill(ctx context.Context, id *platform.Identity, agencyID, name string) (command.Skill, *platform.Skills, error)
	UninstallSkill(ctx context.Context, id *platform.Identity, agencyID, name string) (command.Skill, *platform.Skills, error)
}

type reactions interface {
	React(ctx context.Context, id *platform.Identity, agencyID, messageID, emoji string, remove bool) (*agency.Reacted, error)
}

type directMessages interface {
	OpenDM(ctx context.Context, id *platform.Identity, accountID string) (v *platform.DMView, made bool, err error)
	DMs(ctx context.Context, id *platform.Identity, limit, offset int) ([]*platform.DMView, error)
	DMMessages(ctx context.Context, id *platform.Identity, agencyID string, q platform.History) ([]json.RawMessage, error)
	HideDM(ctx context.Context, id *platform.Identity, agencyID string) error
	PurgeDM(ctx context.Context, id *platform.Identity, agencyID string) error
}

type explore interface {
	ExploreAgencies(ctx context.Context, id *platform.Identity, g platform.Page) ([]agency.View, error)
	ExploreAgents(ctx context.Context, g platform.Page) ([]platform.AgentCard, error)
	ExploreUsers(ctx context.Context, g platform.Page) ([]*account.Profile, error)
}

var _ Service = (*platform.Platform)(nil)
