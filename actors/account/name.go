package account

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/actors/kernel"
)

// Limits of names and profile texts, in characters.
const (
	MinUsername    = 2
	MaxUsername    = 24
	MaxDisplayName = 64
	MaxDescription = 2000
	MaxPersonality = 16_000
	MaxRole        = 200
	MaxURL         = 2048
	MaxStyle       = 64 // theme and font
)

var usernameForm = regexp.MustCompile(`^[A-Za-z0-9_-]{2,24}$`)

// reserved names belong to nobody (decision 5). Whoever is called "deleted" would have said what deleted accounts did
// (decision 9).
var reserved = map[string]bool{"system": true, "hook": true, "admin": true, "everyone": true, "here": true,
	"channel": true, "me": true, "api": true, "deleted": true}

// CheckUsername applies the rules of decision 5.
func CheckUsername(name string) error {
	switch {
	case !usernameForm.MatchString(name):
		return kernel.Invalid("username must be %d to %d letters, digits, '_' or '-'", MinUsername, MaxUsername)
	case reserved[strings.ToLower(name)]:
		return kernel.Invalid("the username %q is reserved", name)
	}
	return nil
}

// HandleOf derives an agent's handle from its name: lower-case letters and digits, and with keepMarks also '-' and '_',
// which agents made by a user keep (decision 5). Longer ones are cut to MaxUsername.
func HandleOf(name string, keepMarks bool) (string, error) {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(name)) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', keepMarks && (r == '-' || r == '_'):
			b.WriteRune(r)
		case keepMarks && unicode.IsSpace(r):
			b.WriteByte('-')
		}
		if b.Len() == MaxUsername {
			break
		}
	}
	handle := b.String()
	if len(handle) < MinUsername {
		return "", kernel.Invalid("name must contain at least %d letters or digits (a-z, 0-9)", MinUsername)
	}
	return handle, CheckUsername(handle)
}

// CheckText refuses control characters and texts over a limit. It returns the text without space around it.
func CheckText(field, text string, limit int) (string, error) {
	text = strings.TrimSpace(text)
	if utf8.RuneCountInString(text) > limit {
		return "", kernel.Invalid("%s must be at most %d characters", field, limit)
	}
	for _, r := range text {
		if unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' {
			return "", kernel.Invalid("%s must not contain control characters", field)
		}
	}
	return text, nil
}

// blank are characters that count as letters or symbols and show nothing.
var blank = map[rune]bool{'\u115f': true, '\u1160': true, '\u3164': true, '\uffa0': true, '\u2800': true}

// CheckDisplayName is CheckShown for the names of accounts.
func CheckDisplayName(field, name string) (string, error) {
	return CheckShown(field, name, MaxDisplayName)
}

// CheckShown checks a name that people see: one line of at most limit characters, something visible in it unless it is
// empty, and no characters that turn the direction of the text around it. It returns the name without space around it.
func CheckShown(field, name string, limit int) (string, error) {
	name, err := CheckText(field, name, limit)
	if err != nil || name == "" {
		return name, err
	}
	visible := false
	for _, r := range name {
		switch {
		case unicode.IsControl(r) || r == '\u2028' || r == '\u2029':
			return "", kernel.Invalid("%s must be a single line", field)
		case r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069': // embeddings, overrides and isolates
			return "", kernel.Invalid("%s must not contain characters that turn the direction of the text", field)
		case unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) && !blank[r]:
			visible = true
		}
	}
	if !visible {
		return "", kernel.Invalid("%s must contain something visible", field)
	}
	return name, nil
}
