package main

import (
	"runtime"
	"strings"
	"testing"

	"parley/config"
)

func TestConfigCommand(t *testing.T) {
	t.Setenv("PARLEY_SECRET_KEY", strings.Repeat("5a", config.KeySize))
	t.Setenv("PARLEY_LISTNE", "x")
	out, said, err := run(t, "config", "--log-level", "debug")
	if err != nil || !strings.Contains(out, "log-level: debug # flag --log-level") || strings.Contains(out, "5a5a") {
		t.Errorf("%s%v", out, err)
	}
	if !strings.Contains(said, "did you mean PARLEY_LISTEN?") {
		t.Errorf("said %q", said)
	}
	if _, _, err := run(t, "config", "--log-level", "loud"); err == nil || !strings.Contains(err.Error(), "log-level: got") {
		t.Errorf("a wrong value: %v", err)
	}
	if _, _, err := run(t, "config", "--secret-key", "x"); err == nil {
		t.Error("the secret has a flag")
	}
	out, _, err = run(t, "config", "--reference")
	if err != nil || out != config.Reference() {
		t.Errorf("reference: %v", err)
	}
}

func TestVersionCommand(t *testing.T) {
	out, _, err := run(t, "version")
	if err != nil || !strings.HasPrefix(out, "parley ") || !strings.Contains(out, runtime.Version()) {
		t.Errorf("%q, %v", out, err)
	}
	if _, _, err := run(t, "version", "extra"); err == nil {
		t.Error("an argument too many")
	}
}
