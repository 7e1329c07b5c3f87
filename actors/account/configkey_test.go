package account

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"parley/actors/kernel"
)

func TestSecretKeys(t *testing.T) {
	for key, want := range map[string]bool{"extToken": true, "llm_api_key": true, "github_token": true, "A_SECRET": true, "db_password": true,
		"apiKey": true, "token": true, "password": true, "monkey": false, "tokens": false, "key_note": false, "secretary": false, "role": false} {
		if isSecret(key) != want {
			t.Errorf("%s is a secret: %v", key, !want)
		}
	}
	for secret, want := range map[string]string{"sk-12345678-abcd": "sk-…abcd", "sk-12345abcd": "sk-…abcd", "elevenchars": "…", "": "…", "äöü-12345-ßßßß": "äöü…ßßßß"} {
		if got := maskSecret(secret); got != want {
			t.Errorf("%s is shown as %s", secret, got)
		}
	}
}

// FuzzConfigSetting checks that what is kept of a configuration is bounded, compact JSON, and that every refusal is the
// caller's fault and proper UTF-8.
func FuzzConfigSetting(f *testing.F) {
	for key := range configKeys {
		f.Add(key, `"x"`)
	}
	for alias := range configAliases {
		f.Add(alias, ` null `)
	}
	f.Add("wallet_allowlisted_hooks", `["a", null]`)
	f.Add("wallet_spend_limit_daily", `1e400`)
	f.Add("k", `{"a": [1, 2]}`)
	f.Fuzz(func(t *testing.T, name, value string) {
		if !json.Valid([]byte(value)) {
			return // bodies are decoded before
		}
		key, known := canonical(name)
		kept, err := checkSetting(name, key, known, json.RawMessage(value))
		if err == nil {
			var p stored
			_, err = setOnProfile(&p, "", key, kept)
		}
		if err != nil {
			if e := kernel.AsError(err); e.Code != kernel.CodeInvalid || utf8.ValidString(name) && !utf8.ValidString(e.Message) {
				t.Fatalf("%q: %v", name, err)
			}
			return
		}
		if kept != nil && (!json.Valid(kept) || len(kept) > MaxConfigValue || strings.TrimSpace(string(kept)) != string(kept)) {
			t.Fatalf("kept %q", kept)
		}
	})
}
