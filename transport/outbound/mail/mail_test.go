package mail

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/actors/platform"
	"parley/transport/outbound/mail/mailtest"
)

var letter = platform.Mail{To: "ann@mail.test", Subject: "Grüße, and welcome", Text: "Hello\n.\nhttps://x.test/verify/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\nü",
	HTML: "<p>Hello</p><a href=\"https://x.test/verify/0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\">ü</a>"}

// certificate makes a server's certificate and who trusts it.
func certificate(t *testing.T) (*tls.Config, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, pool
}

func server(t *testing.T, scheme, user string, s *mailtest.Server) *url.URL {
	t.Helper()
	u, err := url.Parse(scheme + "://" + user + s.Address())
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func mailer(t *testing.T, o Options) *Mailer {
	t.Helper()
	o.From = "Parley <parley@chat.test>"
	o.Log = slog.New(slog.DiscardHandler)
	m, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// wants checks a mail that was taken.
func wants(t *testing.T, data string) {
	t.Helper()
	m, err := mailtest.Parse(data)
	if err != nil {
		t.Fatalf("%v in\n%s", err, data)
	}
	unix := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
	if m.Subject != letter.Subject || unix(m.Text) != letter.Text || unix(m.HTML) != letter.HTML || m.Header.Get("From") != `"Parley" <parley@chat.test>` ||
		m.Header.Get("To") != "<ann@mail.test>" || m.Header.Get("Message-Id") == "" || m.Header.Get("Date") == "" || m.Header.Get("Auto-Submitted") != "auto-generated" {
		t.Errorf("%+v in\n%s", m, data)
	}
}

func TestSend(t *testing.T) {
	shown, roots := certificate(t)
	for name, c := range map[string]struct {
		o               mailtest.Options
		scheme, user    string
		encrypted, auth bool
	}{
		"plain":                   {mailtest.Options{}, "smtp", "", false, false},
		"signed in on this host":  {mailtest.Options{User: "ann", Password: "p@ss"}, "smtp", "ann:p%40ss@", false, true},
		"STARTTLS":                {mailtest.Options{TLS: shown}, "smtp", "", true, false},
		"STARTTLS, signed in":     {mailtest.Options{TLS: shown, User: "ann", Password: "pw"}, "smtp", "ann:pw@", true, true},
		"implicit TLS":            {mailtest.Options{TLS: shown, Implicit: true}, "smtps", "", true, false},
		"implicit TLS, signed in": {mailtest.Options{TLS: shown, Implicit: true, User: "ann", Password: "pw"}, "smtps", "ann:pw@", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := mailtest.Start(t, c.o)
			m := mailer(t, Options{Server: server(t, c.scheme, c.user, s), Roots: roots})
			if err := m.Send(t.Context(), letter); err != nil {
				t.Fatal(err)
			}
			got := s.Mails()
			if len(got) != 1 || got[0].From != "parley@chat.test" || len(got[0].To) != 1 || got[0].To[0] != letter.To || got[0].Encrypted != c.encrypted || got[0].SignedIn != c.auth {
				t.Fatalf("%+v", got)
			}
			wants(t, got[0].Data)
		})
	}
}

func TestFailures(t *testing.T) {
	shown, roots := certificate(t)
	for name, c := range map[string]struct {
		o             mailtest.Options
		scheme, user  string
		command, line string
		trust, final  bool
	}{
		"no such mailbox":       {mailtest.Options{}, "smtp", "", "RCPT", "550 5.1.1 no such mailbox", true, true},
		"come back later":       {mailtest.Options{}, "smtp", "", "RCPT", "451 4.7.1 greylisted", true, false},
		"spam":                  {mailtest.Options{}, "smtp", "", "DOT", "554 5.7.1 spam", true, true},
		"full":                  {mailtest.Options{}, "smtp", "", "DOT", "452 4.2.2 full", true, false},
		"sender refused":        {mailtest.Options{}, "smtp", "", "MAIL", "550 5.7.1 not you", true, false},
		"wrong password":        {mailtest.Options{User: "ann", Password: "pw"}, "smtp", "ann:wrong@", "", "", true, false},
		"unknown certificate":   {mailtest.Options{TLS: shown}, "smtp", "", "", "", false, false},
		"unknown, implicit":     {mailtest.Options{TLS: shown, Implicit: true}, "smtps", "", "", "", false, false},
		"TLS where there isn't": {mailtest.Options{}, "smtps", "", "", "", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := mailtest.Start(t, c.o)
			if c.command != "" {
				s.Answer(c.command, c.line)
			}
			o := Options{Server: server(t, c.scheme, c.user, s), Timeout: 5 * time.Second}
			if c.trust {
				o.Roots = roots
			}
			err := mailer(t, o).Send(t.Context(), letter)
			if err == nil || errors.Is(err, platform.ErrUndeliverable) != c.final || len(s.Mails()) != 0 {
				t.Errorf("%v, %d mails", err, len(s.Mails()))
			}
			if err != nil && strings.Contains(err.Error(), "wrong@") {
				t.Errorf("the password is in the error: %v", err)
			}
		})
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := &url.URL{Scheme: "smtp", Host: l.Addr().String()}
	_ = l.Close()
	if err := mailer(t, Options{Server: nobody}).Send(t.Context(), letter); err == nil || errors.Is(err, platform.ErrUndeliverable) {
		t.Errorf("nobody listens: %v", err)
	}
}

// A server that says nothing holds up nobody for longer than the timeout, and not beyond the end of the context.
func TestHangingServer(t *testing.T) {
	for _, command := range []string{"EHLO", "MAIL", "RCPT", "QUIT"} {
		s := mailtest.Start(t, mailtest.Options{})
		s.Answer(command, "HANG")
		m := mailer(t, Options{Server: server(t, "smtp", "", s)})
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		start := time.Now()
		_ = m.Send(ctx, letter)
		cancel()
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: it took %s", command, took)
		}
	}
}

func TestBadMailIsUndeliverable(t *testing.T) {
	s := mailtest.Start(t, mailtest.Options{})
	m := mailer(t, Options{Server: server(t, "smtp", "", s)})
	for name, c := range map[string]platform.Mail{
		"no address":          {To: "", Subject: "s"},
		"a name":              {To: "Ann <ann@mail.test>", Subject: "s"},
		"two":                 {To: "a@mail.test, b@mail.test", Subject: "s"},
		"a header in address": {To: "a@mail.test\r\nBcc: b@mail.test", Subject: "s"},
		"a command":           {To: "a@mail.test>\r\nRCPT TO:<b@mail.test", Subject: "s"},
		"a header in subject": {To: "a@mail.test", Subject: "s\r\nBcc: b@mail.test"},
		"a line feed":         {To: "a@mail.test", Subject: "s\nBcc: b@mail.test"},
		"a long subject":      {To: "a@mail.test", Subject: strings.Repeat("s", maxSubject+1)},
		"a long text":         {To: "a@mail.test", Subject: "s", Text: strings.Repeat("s", maxBody+1)},
	} {
		if err := m.Send(t.Context(), c); !errors.Is(err, platform.ErrUndeliverable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s.Tries() != 0 {
		t.Errorf("the server was asked %d times", s.Tries())
	}
}

func TestFolder(t *testing.T) {
	var log bytes.Buffer
	dir := filepath.Join(t.TempDir(), "data", "outbox")
	m, err := New(Options{Folder: dir, From: "parley@chat.test", Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := m.Send(t.Context(), letter); err != nil {
			t.Fatal(err)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		path := filepath.Join(dir, f.Name())
		info, err := f.Info()
		if err != nil || info.Mode().Perm() != 0o600 || !strings.HasSuffix(path, ".eml") || !strings.Contains(log.String(), path) {
			t.Errorf("%s: %v, %v, %s", path, info.Mode(), err, log.String())
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if m, err := mailtest.Parse(string(data)); err != nil || m.Subject != letter.Subject {
			t.Errorf("%+v, %v", m, err)
		}
	}
	if strings.Contains(log.String(), "verify") {
		t.Error("the log has the text of the mail")
	}
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := mailer(t, Options{Folder: filepath.Join(blocked, "outbox")}).Send(t.Context(), letter); err == nil || errors.Is(err, platform.ErrUndeliverable) {
		t.Errorf("no folder: %v", err)
	}
}

func TestOptions(t *testing.T) {
	parse := func(s string) *url.URL {
		u, err := url.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	for _, bad := range []string{"http://x", "smtp://", "smtp:x", "smtp://x:0", "smtp://x/path", "smtp://x?a=b", "smtps://x:99999"} {
		if _, err := New(Options{Server: parse(bad), From: "a@b.test"}); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
	for good, want := range map[string]int{"smtp://mail.test": 25, "smtp://a:b@mail.test": 587, "smtps://mail.test": 465, "smtps://a:b@mail.test:2465": 2465} {
		if got := port(parse(good)); got != want {
			t.Errorf("%s: port %d, want %d", good, got, want)
		}
		if _, err := New(Options{Server: parse(good), From: "a@b.test"}); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, o := range []Options{{From: "a@b.test"}, {Folder: "x"}, {Folder: "x", From: "nobody"}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

// Only on the way to this host may a password go in clear.
func TestLoopback(t *testing.T) {
	if loopback("mail.test") || loopback("10.0.0.1") || !loopback("127.0.0.9") || !loopback("LOCALHOST") || !loopback("::1") {
		t.Error("which host is this one?")
	}
}
