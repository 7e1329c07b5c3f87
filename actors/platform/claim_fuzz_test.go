package platform

import (
	"strings"
	"testing"
)

// FuzzEmail checks that an accepted address can neither end its line nor its place between < and >, and is one address.
func FuzzEmail(f *testing.F) {
	for _, s := range []string{"ann@example.org", "a@b", "a@[127.0.0.1]", "a@b.test>\r\nRCPT TO:<c@d.test", `"a\"b"@c.test`, "a@b,c@d", "a@b\n", "(x)a@b.test"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, email string) {
		if checkEmail(email) != nil {
			return
		}
		if strings.ContainsAny(email, "\r\n\t <>,;()\"\\\x00") || strings.Count(email, "@") != 1 || len(email) > maxEmail || !strings.Contains(email, "@") {
			t.Fatalf("%q was accepted", email)
		}
	})
}
