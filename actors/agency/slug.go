package agency

import (
	"strings"

	"github.com/google/uuid"

	"parley/actors/account"
	"parley/actors/kernel"
)

// Limits of agencies, in characters.
const (
	MaxName    = 100
	MaxSlug    = 64
	MaxCharter = 4000
)

// SlugOf derives a slug: lower-case letters and digits, everything else becomes a single hyphen ("Ann's Reef" is
// ann-s-reef; clients.md 4.3). One that would pass for an id gets a word in front: clients look for an agency by id or slug
// in one list, and must not come upon a stranger's.
func SlugOf(name string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(name) {
		if r < 'a' || r > 'z' {
			if r < '0' || r > '9' {
				gap = b.Len() > 0
				continue
			}
		}
		if b.Len()+1 >= MaxSlug {
			break
		}
		if gap {
			b.WriteByte('-')
			gap = false
		}
		b.WriteRune(r)
	}
	if b.Len() == 0 {
		return "agency"
	}
	if slug := b.String(); uuid.Validate(slug) == nil {
		return "agency-" + slug
	}
	return b.String()
}

// HasSlug says whether SlugOf finds something in a text to make a slug of.
func HasSlug(text string) bool {
	return strings.ContainsFunc(strings.ToLower(text), func(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' })
}

// CheckName applies the rules of an agency's name: 1 to MaxName characters by the rules of account.CheckShown, since people
// and programs read names in lists, one to a line.
func CheckName(name string) (string, error) { return CheckNameAs("name", name) }

// CheckNameAs is CheckName for a request that gave the name as another field.
func CheckNameAs(field, name string) (string, error) {
	name, err := account.CheckShown(field, name, MaxName)
	if err == nil && name == "" {
		err = kernel.Invalid("%s is required", field)
	}
	return name, err
}

func checkCharter(c *string) (*string, error) {
	if c == nil {
		return nil, nil
	}
	text, err := account.CheckText("charter", *c, MaxCharter)
	if err != nil || text == "" {
		return nil, err
	}
	return &text, nil
}
