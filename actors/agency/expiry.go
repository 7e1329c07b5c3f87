package agency

import (
	"strconv"
	"strings"
	"time"

	"parley/actors/kernel"
)

// maxTerm is the longest life of an invite and the longest ban with an end.
const maxTerm = 10 * 365 * 24 * time.Hour

// termUnits are the units of durations (decision 44).
var termUnits = map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}

// ParseExpiry reads when something ends, in milliseconds since 1970, from a duration (30s, 30m, 24h, 7d) that begins now
// or from a time in RFC 3339, which must be in the future; at most ten years ahead. Empty and "never" are 0: never.
// The error is CodeInvalid.
func ParseExpiry(s string, now time.Time) (int64, error) {
	s = strings.TrimSpace(s)
	if s == "" || s == "never" {
		return 0, nil
	}
	end, ok := parseTerm(s, now)
	if !ok {
		var err error
		if end, err = time.Parse(time.RFC3339Nano, s); err != nil {
			return 0, kernel.Invalid("expires must be a duration such as 30s, 30m, 24h or 7d, or a time such as 2030-01-31T12:00:00Z")
		}
	}
	switch {
	case end.UnixMilli() <= now.UnixMilli():
		return 0, kernel.Invalid("expires must be in the future")
	case end.After(now.Add(maxTerm)):
		return 0, kernel.Invalid("expires must be at most %d days ahead; leave it out for never", int(maxTerm.Hours()/24))
	}
	return end.UnixMilli(), nil
}

// parseTerm reads a duration of one number and one unit.
func parseTerm(s string, now time.Time) (time.Time, bool) {
	number, unit := s[:len(s)-1], termUnits[s[len(s)-1]]
	if unit == 0 || number == "" || strings.Trim(number, "0123456789") != "" {
		return time.Time{}, false
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n > int64(maxTerm/unit) {
		return now.Add(maxTerm + unit), true // too long, which the caller finds out
	}
	return now.Add(unit * time.Duration(n)), true
}
