package config

// maxTypos is how many letters may be wrong in a name for a suggestion, and maxCompared the longest name that is looked
// at: no option's name is longer.
const (
	maxTypos    = 2
	maxCompared = 64
)

// suggest returns "; did you mean X?" for the name next to what was given, or nothing.
func suggest(given string, names []string) string {
	best, least := "", maxTypos+1
	if len(given) > maxCompared {
		return ""
	}
	for _, name := range names {
		if d := distance(given, name); d < least {
			best, least = name, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// distance counts the bytes to insert, drop or replace to get from a to b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
