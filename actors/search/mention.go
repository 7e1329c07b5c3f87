package search

import "strings"

// Limits of mentions.
const (
	// MaxMentions is the number of mentions in a message that can be found.
	MaxMentions = 256
	// minHandle and maxHandle are the lengths of a username (decision 5).
	minHandle, maxHandle = 2, 24
)

// handleByte says whether a byte can be part of a username.
func handleByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// Handle returns the form in which a username is compared, or false for what is none. A leading @ may be there.
func Handle(name string) (string, bool) {
	name = strings.TrimPrefix(name, "@")
	if len(name) < minHandle || len(name) > maxHandle {
		return "", false
	}
	for i := range len(name) {
		if !handleByte(name[i]) {
			return "", false
		}
	}
	return strings.ToLower(name), true
}

// Mentions calls yield with each handle that a text mentions, in lower case and as often as it does: @handle, not next
// to another character of a handle (clients.md 6.4). The first MaxMentions count.
func Mentions(text string, yield func(handle string) bool) {
	n := 0
	for i := 0; i < len(text); i++ {
		next := strings.IndexByte(text[i:], '@')
		if next < 0 {
			return
		}
		i += next
		end := i + 1
		for end < len(text) && handleByte(text[end]) {
			end++
		}
		handle, ok := Handle(text[i+1 : end])
		if !ok || i > 0 && handleByte(text[i-1]) {
			continue
		}
		if n++; n > MaxMentions || !yield(handle) {
			return
		}
	}
}
