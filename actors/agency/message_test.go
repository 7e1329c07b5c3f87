package agency

import (
	"strings"
	"testing"
)

func TestCheckContent(t *testing.T) {
	for _, c := range []struct{ in, want, err string }{
		{"  hi\n", "hi", ""},
		{"👩‍🚀", "👩‍🚀", ""},
		{strings.Repeat("é", MaxContent), strings.Repeat("é", MaxContent), ""},
		{" \t\n", "", "must not be empty"},
		{"", "", "must not be empty"},
		{"\x00\x07\u200b\u202e", "", "something to read"},
		{"a\xff", "", "valid UTF-8"},
		{strings.Repeat("é", MaxContent+1), "", "at most 16000 characters"},
	} {
		got, err := CheckContent(c.in)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%.20q: %.20q, %v", c.in, got, err)
		}
	}
}
