package platform

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"parley/actors/account"
	"parley/actors/agency"
	"parley/actors/command"
	"parley/actors/kernel"
)

// Limits of /who and /roll.
const (
	maxWho   = 200 // members in one answer
	maxDice  = 100
	maxSides = 1000
	maxBonus = 10_000
)

// commandHelp answers with lines that clients read: "/name — description", and nothing else (clients.md 5.2).
func (*Platform) commandHelp(_ context.Context, c *commandCall) (string, error) {
	var lines []string
	if c.args.Len() == 0 {
		for _, b := range command.Builtins() {
			lines = append(lines, "/"+b.Name+" — "+b.Description)
		}
		return strings.Join(lines, "\n"), nil
	}
	asked := command.Parse("/" + strings.TrimPrefix(c.args.Word(0), "/"))
	b := command.Find(asked.Name)
	if b == nil {
		return "", kernel.NotFound("there is no command %s; /help lists them", asked.Shown())
	}
	for i := range b.Forms {
		lines = append(lines, b.Usage(&b.Forms[i])+" — "+b.Forms[i].Description)
	}
	return strings.Join(lines, "\n"), nil
}

// commandCustom has one line per custom command, or one that says "no custom" (clients.md 5.2).
func (*Platform) commandCustom(_ context.Context, _ *commandCall) (string, error) {
	return "There are no custom commands in this agency.", nil
}

// commandWho has a line per member; agents carry [agent] in it (clients.md 5.2).
func (p *Platform) commandWho(ctx context.Context, c *commandCall) (string, error) {
	members, err := p.Members(ctx, c.Who, c.AgencyID, maxWho, "")
	if err != nil {
		return "", err
	}
	slices.SortFunc(members, func(a, b agency.MemberView) int {
		return strings.Compare(strings.ToLower(a.Username), strings.ToLower(b.Username))
	})
	lines := make([]string, 0, len(members)+1)
	for _, m := range members {
		line := m.Username
		if m.IsAgent {
			line += " [agent]"
		}
		line += " — " + string(m.Role)
		if m.Online != nil && *m.Online {
			line += ", online"
		}
		lines = append(lines, line)
	}
	if more := c.room.MemberCount - int64(len(members)); more > 0 && len(members) >= maxWho {
		lines = append(lines, fmt.Sprintf("- and %d more", more))
	}
	return strings.Join(lines, "\n"), nil
}

func (*Platform) commandWhoami(_ context.Context, c *commandCall) (string, error) {
	kind := "a user"
	if c.Who.Type == account.Agent {
		kind = "an agent"
	}
	return fmt.Sprintf("You are %s (%s), %s with the role %s in %s. Your id is %s.", c.Who.Username, inLine(c.Who.DisplayName), kind, c.role,
		inLine(c.room.Name), c.Who.ID), nil
}

func (*Platform) commandEcho(_ context.Context, c *commandCall) (string, error) {
	return c.args.Raw(), nil
}

func (*Platform) commandMe(_ context.Context, c *commandCall) (string, error) {
	c.post.Type = "action"
	return c.args.Raw(), nil
}

func (*Platform) commandPing(context.Context, *commandCall) (string, error) { return "pong", nil }

func (p *Platform) commandTime(_ context.Context, _ *commandCall) (string, error) {
	return *account.FormatTime(p.Now().UnixMilli()), nil
}

var diceForm = regexp.MustCompile(`^([0-9]{0,3})[dD]([0-9]{1,4})([+-][0-9]{1,5})?$`)

// commandRoll answers "2d6: 3 + 5 = 8".
func (*Platform) commandRoll(_ context.Context, c *commandCall) (string, error) {
	dice := strings.Join(strings.Fields(c.args.Rest(0)), "")
	if dice == "" {
		dice = "d6"
	}
	form := diceForm.FindStringSubmatch(dice)
	if form == nil {
		return "", c.usage()
	}
	count, sides, bonus := 1, 0, 0
	for i, n := range []*int{&count, &sides, &bonus} {
		if form[i+1] != "" {
			*n, _ = strconv.Atoi(form[i+1]) // a few digits
		}
	}
	if count < 1 || count > maxDice || sides < 2 || sides > maxSides || max(bonus, -bonus) > maxBonus {
		return "", kernel.Invalid("roll 1 to %d dice of 2 to %d sides, with a bonus of at most %d", maxDice, maxSides, maxBonus)
	}
	return strings.ToLower(dice) + ": " + rolled(count, sides, bonus), nil
}

func rolled(count, sides, bonus int) string {
	var b strings.Builder
	total := bonus
	for i := range count {
		n := 1 + rand.IntN(sides)
		total += n
		if i > 0 {
			b.WriteString(" + ")
		}
		b.WriteString(strconv.Itoa(n))
	}
	switch {
	case bonus > 0:
		fmt.Fprintf(&b, " + %d", bonus)
	case bonus < 0:
		fmt.Fprintf(&b, " - %d", -bonus)
	case count == 1:
		return b.String()
	}
	fmt.Fprintf(&b, " = %d", total)
	return b.String()
}
