package platform

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/kernel"
)

// maxListedAgencies is the number of agencies in an answer of /agency list.
const maxListedAgencies = 100

func (p *Platform) commandAgencyCreate(ctx context.Context, c *commandCall) (string, error) {
	private, args := c.args.TakeBare("private")
	charter, given, args := args.Take("charter")
	n := agency.NewAgency{Name: args.Rest(0), Private: private}
	if n.Name == "" {
		return "", c.usage()
	}
	if given {
		n.Charter = &charter.Value
	}
	made, err := p.CreateAgency(ctx, c.Who, n)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Created %s. Its slug is %s, its id %s.", inLine(made.Name), made.Slug, made.ID), nil
}

func (p *Platform) commandAgencyList(ctx context.Context, c *commandCall) (string, error) {
	all, err := p.listing(ctx, c.Who, 0, 0)
	if err != nil {
		return "", err
	}
	list, err := all.first(maxListedAgencies + 1).Views() // the caller's own come first, but for the Lobby
	if err != nil {
		return "", kernel.AsError(err)
	}
	slices.SortStableFunc(list, func(a, b agency.View) int {
		switch {
		case a.IsMember == b.IsMember:
			return 0
		case a.IsMember:
			return -1
		default:
			return 1
		}
	})
	list = list[:min(len(list), maxListedAgencies)]
	lines := make([]string, 0, maxListedAgencies+1)
	for _, v := range list {
		line := fmt.Sprintf("%s — %s, %s", v.Slug, inLine(v.Name), plural(v.MemberCount, "member", "members"))
		if v.Role != nil {
			line += ", you are " + string(*v.Role)
		}
		lines = append(lines, line)
	}
	if more := all.Len() - len(list); more > 0 {
		lines = append(lines, fmt.Sprintf("- and %d more", more))
	}
	return strings.Join(lines, "\n"), nil
}

func (*Platform) commandCharter(_ context.Context, c *commandCall) (string, error) {
	switch {
	case c.args.Len() > 0:
		return "", usageError(c.builtin, nil)
	case c.room.Charter == nil || strings.TrimSpace(*c.room.Charter) == "":
		return "This agency has no charter.", nil
	default:
		return *c.room.Charter, nil
	}
}

func (p *Platform) commandCharterSet(ctx context.Context, c *commandCall) (string, error) {
	return p.changeCharter(ctx, c, c.args.Raw(), "The charter is set.")
}

func (p *Platform) commandCharterClear(ctx context.Context, c *commandCall) (string, error) {
	return p.changeCharter(ctx, c, "", "The charter is removed.")
}

func (p *Platform) changeCharter(ctx context.Context, c *commandCall, text, said string) (string, error) {
	if _, err := p.UpdateAgency(ctx, c.Who, c.AgencyID, agency.Update{Charter: &text}); err != nil {
		return "", err
	}
	c.acted = true
	return said, nil
}

// commandInvite takes its limits in any order or as flags: a number of uses, and when the code ends.
func (p *Platform) commandInvite(ctx context.Context, c *commandCall) (string, error) {
	uses, _, args := c.args.Take("uses")
	expires, _, args := args.Take("expires")
	for n := range args.Len() {
		switch w := args.Word(n); {
		case strings.HasPrefix(w, "@"):
			return "", kernel.Invalid("people join with a code, which /invite makes; /invite agent %.40s adds an agent", w)
		case strings.Trim(w, "0123456789") == "" && uses.Value == "":
			uses.Value = w
		case expires.Value == "":
			expires.Value = w
		default:
			return "", c.usage()
		}
	}
	var most *int64
	if uses.Value != "" {
		n, err := strconv.ParseInt(uses.Value, 10, 64)
		if err != nil {
			return "", kernel.Invalid("the number of uses must be between 1 and %d", agency.MaxUses)
		}
		most = &n
	}
	v, err := p.CreateInvite(ctx, c.Who, c.AgencyID, most, expires.Value)
	if err != nil {
		return "", err
	}
	text := "Invite code: " + v.Code
	if v.MaxUses != 0 {
		text += ", for " + plural(v.MaxUses, "use", "uses")
	}
	if end := account.FormatTime(v.ExpiresAt); end != nil {
		text += ", until " + *end
	}
	return text, nil
}

func (p *Platform) commandLeave(ctx context.Context, c *commandCall) (string, error) {
	if err := p.Leave(ctx, c.Who, c.AgencyID); err != nil {
		return "", err
	}
	return fmt.Sprintf("You left %s.", inLine(c.room.Name)), nil
}

// commandDM opens a direct message; what is to be said in it never appears in this room.
func (p *Platform) commandDM(ctx context.Context, c *commandCall) (string, error) {
	who, err := p.namedIn(ctx, c.args.Word(0))
	if err != nil {
		return "", err
	}
	v, _, err := p.OpenDM(ctx, c.Who, who.ID)
	if err != nil {
		return "", err
	}
	text := c.args.After(1).Raw()
	if text == "" {
		return fmt.Sprintf("The direct message with %s is open. Its id is %s.", who.Username, v.ID), nil
	}
	if _, _, err := p.Post(ctx, c.Who, v.ID, agency.NewMessage{Content: text, ClientID: c.post.ClientID}); err != nil {
		return "", err
	}
	return fmt.Sprintf("Sent to %s. The id of the direct message is %s.", who.Username, v.ID), nil
}
