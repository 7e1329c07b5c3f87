package config

import (
	"strings"
	"testing"
)

func TestMailOptions(t *testing.T) {
	c := mustLoad(t, []string{"PARLEY_SMTP_URL=smtps://ann:s3cret@mail.example:465", "PARLEY_PUBLIC_URL=https://chat.example.org"})
	if p, _ := c.SMTP.User.Password(); p != "s3cret" || c.SMTP.Host != "mail.example:465" || c.MailFrom.Address != "parley@chat.example.org" {
		t.Errorf("%v, %v", c.SMTP.Redacted(), c.MailFrom)
	}
	text, err := c.YAML()
	if err != nil || strings.Contains(string(text), "s3cret") {
		t.Errorf("printed: %s, %v", text, err)
	}
	c = mustLoad(t, nil, "--smtp-url", "smtp://mail.example", "--mail-from", "Parley <p@mail.example>")
	if c.SMTP.Host != "mail.example" || c.MailFrom.Name != "Parley" {
		t.Errorf("%v, %v", c.SMTP, c.MailFrom)
	}
	for _, args := range [][]string{
		{"--smtp-url", "http://ann:s3cret@x"}, {"--smtp-url", "smtp://ann:s3cret@"}, {"--smtp-url", "smtp://ann:s3cret@x:0"},
		{"--smtp-url", "smtp://ann:s3cret@x/path"}, {"--smtp-url", "smtp://ann:s3cret@x?y"}, {"--smtp-url", "://ann:s3cret@"},
		{"--mail-from", "nobody"}, {"--mail-from", "a@b.test\nBcc: c@d.test"}, {"--mail-from", "a@b.test, c@d.test"},
	} {
		_, err := Load(sources(t, nil, args...))
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%v: %v", args, err)
		}
	}
}
