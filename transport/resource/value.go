package resource

import (
	"parley/actors/account"
	"parley/actors/agency"
	"parley/transport/rest/openapi"
)

// Short names for the fields of schemas.
var has, may = openapi.Has, openapi.May

// MaxID is the length of an id in bytes; nothing longer exists.
const MaxID = 128

// Values that many resources have.
var (
	ID       = openapi.Text(1, MaxID).Like("1d78c805-f3e0-4f66-a0fc-6c3dde6812fd")
	Time     = openapi.Text(0, 0).Format("date-time").Pattern(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`).Like("2026-01-31T12:00:00.000Z")
	Text     = openapi.Text(0, 0)
	Username = openapi.Text(account.MinUsername, account.MaxUsername).Like("ann")
	Type     = openapi.Enum(string(account.User), string(account.Agent))
	Role     = openapi.Enum(string(agency.Owner), string(agency.Admin), string(agency.Moderator), string(agency.Member), string(agency.AgentRole))
)
