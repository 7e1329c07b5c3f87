package config

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// sources returns sources with a fixed host and randomness.
func sources(t *testing.T, environ []string, args ...string) Sources {
	t.Helper()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return Sources{
		Flags: flags, Environ: environ,
		HostName: func() (string, error) { return "big host", nil },
		Random:   bytes.NewReader([]byte{1, 2, 0xab, 0xcd}),
	}
}

func mustLoad(t *testing.T, environ []string, args ...string) *Config {
	t.Helper()
	c, err := Load(sources(t, environ, args...))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "parley.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDefaults(t *testing.T) {
	c := mustLoad(t, nil)
	want := map[string]string{
		"listen": "127.0.0.1:8080", "public-url": "http://127.0.0.1:8080", "web-url": "http://127.0.0.1:8080",
		"data-dir": "./data", "instance": "big-host-0102abcd", "vendor": "Service", "log-level": "info",
		"log-format": "text", "pprof-listen": "", "metrics-token": "", "trusted-proxies": "", "rate-limit-exempt": "", "secret-key": "", "config": "",
		"smtp-url": "", "mail-from": "parley@localhost", "wallet-rpc-url": "", "wallet-network": "base",
	}
	for name, text := range want {
		if c.text[name] != text || c.Source(name) != sourceDefault {
			t.Errorf("%s is %q from %s, want %q from the defaults", name, c.text[name], c.Source(name), text)
		}
	}
	if len(want) != len(table) {
		t.Errorf("%d options, the test knows %d", len(table), len(want))
	}
	if c.DataDir != "data" || c.StorePath() != filepath.Join("data", "parley.db") || c.Secret != nil ||
		!slices.Equal(c.Vendors, []string{"Service"}) || c.LogFormat != FormatText {
		t.Errorf("typed values do not follow the texts: %+v", c)
	}
}

func TestPrecedence(t *testing.T) {
	file := writeFile(t, "listen: 127.0.0.1:1\nvendor: [A, B]\nlog-level: warn\ninstance:\n")
	env := []string{"PARLEY_CONFIG=" + file, "PARLEY_LISTEN=127.0.0.1:2", "PARLEY_LOG_LEVEL=error", "PARLEY_VENDOR="}
	c := mustLoad(t, env, "--listen", "127.0.0.1:3")
	for name, want := range map[string][2]string{
		"listen":     {"127.0.0.1:3", "flag --listen"},
		"log-level":  {"error", "environment variable PARLEY_LOG_LEVEL"},
		"vendor":     {"A,B", file + ", line 2"},
		"log-format": {"text", "default"},
		"instance":   {"big-host-0102abcd", "default"},
		"public-url": {"http://127.0.0.1:3", "default"},
	} {
		if got := [2]string{c.text[name], c.Source(name)}; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if c.File != file {
		t.Errorf("file is %q", c.File)
	}
}

func TestLists(t *testing.T) {
	c := mustLoad(t, []string{"PARLEY_RATE_LIMIT_EXEMPT= 10.1.2.3/8 , 2001:db8::1"},
		"--trusted-proxies", "192.0.2.7", "--trusted-proxies", "::ffff:198.51.100.1,127.0.0.0/8")
	want := []netip.Prefix{netip.MustParsePrefix("192.0.2.7/32"), netip.MustParsePrefix("198.51.100.1/32"), netip.MustParsePrefix("127.0.0.0/8")}
	if !slices.Equal(c.TrustedProxies, want) {
		t.Errorf("trusted proxies %v, want %v", c.TrustedProxies, want)
	}
	want = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::1/128")}
	if !slices.Equal(c.RateLimitExempt, want) {
		t.Errorf("exempt %v, want %v", c.RateLimitExempt, want)
	}
	// An empty flag empties a list that the environment sets.
	c = mustLoad(t, []string{"PARLEY_TRUSTED_PROXIES=10.0.0.0/8"}, "--trusted-proxies=")
	if len(c.TrustedProxies) != 0 {
		t.Errorf("trusted proxies %v after an empty flag", c.TrustedProxies)
	}
}

func TestRefusals(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, tc := range []struct{ name, value string }{
		{"listen", "8080"}, {"listen", "a b:80"}, {"listen", "127.0.0.1:99999"}, {"listen", "127.0.0.1:http"}, {"listen", ""},
		{"public-url", "chat.example.org"}, {"public-url", "ftp://x"}, {"public-url", "https://u:p@x"},
		{"public-url", "https://x?q"}, {"public-url", "https://x#f"}, {"public-url", "http://x:70000"}, {"web-url", "http://"},
		{"web-url", "http://" + strings.Repeat("x", maxURL)},
		{"data-dir", ""}, {"data-dir", "a\x00b"},
		{"instance", "has space"}, {"instance", long},
		{"trusted-proxies", "10.0.0.0/33"}, {"trusted-proxies", "proxy.example.org"}, {"trusted-proxies", "fe80::1%eth0"},
		{"trusted-proxies", "::ffff:10.0.0.0/104"}, {"rate-limit-exempt", strings.Repeat("10.0.0.1,", maxPrefixes+1)},
		{"vendor", "A,a"}, {"vendor", "A B"}, {"vendor", "1A"}, {"vendor", "A,B,C,D,E,F,G,H,I"}, {"vendor", ","},
		{"log-level", "loud"}, {"log-format", "xml"},
		{"pprof-listen", "0.0.0.0:6060"}, {"pprof-listen", "example.org:6060"}, {"pprof-listen", "127.0.0.1"},
	} {
		_, err := Load(sources(t, nil, "--"+tc.name+"="+tc.value))
		var wrong *OptionError
		if !errors.As(err, &wrong) || wrong.Option != tc.name || wrong.Source != "flag --"+tc.name || wrong.Want == "" {
			t.Errorf("--%s=%.40q: %v", tc.name, tc.value, err)
		}
		if err != nil && len(err.Error()) > 600 {
			t.Errorf("--%s: an error of %d bytes", tc.name, len(err.Error()))
		}
	}
}

func TestAccepted(t *testing.T) {
	for _, tc := range []struct{ name, value string }{
		{"listen", ":8080"}, {"listen", "[::1]:0"}, {"listen", "chat.example.org:443"},
		{"public-url", "https://Chat.example.org/base/"}, {"web-url", "http://[::1]:3000"},
		{"pprof-listen", "localhost:6060"}, {"pprof-listen", "[::1]:0"}, {"pprof-listen", ""}, {"log-level", "DEBUG"},
		{"log-format", "JSON"}, {"vendor", "Service, Other-One"}, {"instance", "a.b_c-1"},
	} {
		if _, err := Load(sources(t, nil, "--"+tc.name+"="+tc.value)); err != nil {
			t.Errorf("--%s=%q: %v", tc.name, tc.value, err)
		}
	}
	c := mustLoad(t, nil, "--public-url", "https://Chat.example.org/base/")
	if got := c.PublicURL.String(); got != "https://chat.example.org/base" || c.WebURL.String() != got {
		t.Errorf("public URL %s, web URL %s", got, c.WebURL)
	}
}

func TestAllErrorsAtOnce(t *testing.T) {
	file := writeFile(t, "log-lvel: debug\nlisten: {a: b}\nconfig: other.yaml\nvendor: [[A]]\n")
	_, err := Load(sources(t, []string{"PARLEY_LOG_FORMAT=xml", "PARLEY_SECRET_KEY=hunter2"}, "--config", file, "--instance", "a b"))
	if err == nil {
		t.Fatal("accepted")
	}
	text := err.Error()
	for _, want := range []string{
		`line 1: unknown key "log-lvel"; did you mean log-level?`,
		"listen: got a mapping from " + file + ", line 2, want one value",
		`line 3: unknown key "config"`,
		"vendor: got a list from " + file + ", line 4, want a list of plain values",
		`log-format: got "xml" from environment variable PARLEY_LOG_FORMAT, want text or json`,
		"secret-key: got something else from environment variable PARLEY_SECRET_KEY, want 32 bytes",
		`instance: got "a b" from flag --instance`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "hunter2") {
		t.Error("the error repeats the secret")
	}
	if strings.Contains(text, "public-url") {
		t.Error("a derived default is blamed for what it is derived from")
	}
}

func TestBrokenFiles(t *testing.T) {
	for name, text := range map[string]string{
		"syntax": "a: [", "list": "- a\n", "scalar": "hello", "twice": "listen: a:1\nlisten: b:2\n",
		"too large": "# " + strings.Repeat("x", maxFile),
		"alias":     "vendor: &a [A]\ntrusted-proxies: *a\n",
	} {
		if _, err := Load(sources(t, nil, "--config", writeFile(t, text))); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for name, text := range map[string]string{"empty": "", "comment": "# nothing\n", "null": "~\n", "document": "---\n"} {
		if _, err := Load(sources(t, nil, "--config", writeFile(t, text))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Load(sources(t, nil, "--config", filepath.Join(t.TempDir(), "none"))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestUnknownVariables(t *testing.T) {
	c := mustLoad(t, []string{"PARLEY_LISTENS=x", "PARLEY_ZZZZZZZZZ=", "OTHER=1", "PARLEY_LISTEN=:1"})
	want := []string{
		"the environment variable PARLEY_LISTENS is unknown and ignored; did you mean PARLEY_LISTEN?",
		"the environment variable PARLEY_ZZZZZZZZZ is unknown and ignored",
	}
	if !slices.Equal(c.Warnings, want) {
		t.Errorf("warnings %q", c.Warnings)
	}
}

func TestBound(t *testing.T) {
	addr := &net.TCPAddr{IP: net.IPv4zero, Port: 4711}
	c := mustLoad(t, nil, "--listen", "0.0.0.0:0", "--web-url", "https://web.example.org")
	if err := c.Bound(addr); err != nil {
		t.Fatal(err)
	}
	if c.PublicURL.String() != "http://127.0.0.1:4711" || c.WebURL.String() != "https://web.example.org" {
		t.Errorf("public %s, web %s", c.PublicURL, c.WebURL)
	}
}

func TestInstanceWithoutHost(t *testing.T) {
	from := sources(t, nil)
	from.HostName = func() (string, error) { return "", errors.New("no name") }
	c, err := Load(from)
	if err != nil || c.Instance != "server-0102abcd" {
		t.Errorf("instance %v, %v", c, err)
	}
	from = sources(t, nil)
	from.Random = strings.NewReader("")
	if _, err := Load(from); !errors.Is(err, io.EOF) {
		t.Errorf("without randomness: %v", err)
	}
}

func TestYAMLIsAConfigFile(t *testing.T) {
	secret := strings.Repeat("0f", KeySize)
	c := mustLoad(t, []string{"PARLEY_SECRET_KEY=" + secret}, "--instance", "007", "--trusted-proxies", "10.0.0.0/8,::1", "--log-format=json")
	b, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	if strings.Contains(text, secret) || !strings.Contains(text, mask) {
		t.Errorf("the secret is not masked:\n%s", text)
	}
	if !strings.Contains(text, "log-format: json # flag --log-format") {
		t.Errorf("no source:\n%s", text)
	}
	var lines []string // what is printed can be read again, but for the secret
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "secret-key:") {
			lines = append(lines, line)
		}
	}
	again := mustLoad(t, nil, "--config", writeFile(t, strings.Join(lines, "")))
	if again.Instance != "007" || len(again.TrustedProxies) != 2 || again.LogFormat != FormatJSON {
		t.Errorf("read back as %+v", again)
	}
}

func TestMetricsToken(t *testing.T) {
	if c := mustLoad(t, []string{"PARLEY_METRICS_TOKEN=aB3-._~+/="}); c.MetricsToken != "aB3-._~+/=" {
		t.Errorf("from the environment: %q", c.MetricsToken)
	}
	c := mustLoad(t, []string{"PARLEY_METRICS_TOKEN="}, "--config", writeFile(t, "metrics-token: hush\n"))
	if text, err := c.YAML(); c.MetricsToken != "hush" || err != nil || strings.Contains(string(text), "hush") {
		t.Errorf("from the file: %q, printed as %s, %v", c.MetricsToken, text, err)
	}
	for _, bad := range []string{"a b", "ä", "a\tb", "a\nb", strings.Repeat("x", maxToken+1)} {
		_, err := Load(sources(t, []string{"PARLEY_METRICS_TOKEN=" + bad}))
		var wrong *OptionError
		if !errors.As(err, &wrong) || wrong.Option != "metrics-token" || strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	if AddFlags(flags); flags.Lookup("metrics-token") != nil {
		t.Error("the token has a flag")
	}
}

func TestFlagsOfChosenOptions(t *testing.T) {
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	AddFlags(flags, "data-dir", "secret-key")
	if flags.Lookup("data-dir") == nil || flags.Lookup("listen") != nil || flags.Lookup("secret-key") != nil {
		t.Errorf("flags: %s", flags.FlagUsages())
	}
}

// TestTable holds what the rest takes for granted about the table.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, o := range Options() {
		if seen[o.Name] || o.Name == "" || o.Usage == "" || o.set == nil || (o.Secret && o.List) || strings.Contains(o.Usage, "|") {
			t.Errorf("row %q", o.Name)
		}
		seen[o.Name] = true
	}
}

func TestReferenceIsCurrent(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	if string(page) != Reference() {
		t.Error("docs/configuration.md is stale; run make docs")
	}
	for _, o := range Options() {
		if !bytes.Contains(page, []byte("`"+o.Env()+"`")) {
			t.Errorf("%s is not on the page", o.Env())
		}
	}
	// The example on the page is a file that is accepted.
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	example, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("no example")
	}
	if c := mustLoad(t, nil, "--config", writeFile(t, example)); c.LogFormat != FormatJSON {
		t.Errorf("the example reads as %+v", c)
	}
}

// FuzzFile feeds the reader of config files. Whatever is accepted must print as YAML that reads back the same.
func FuzzFile(f *testing.F) {
	f.Add([]byte("listen: :80\nvendor: [A, B]\n"))
	f.Add([]byte("a: &x [*x]\n"))
	f.Add([]byte("instance: 0o17\nsecret-key: !!binary aGk=\n"))
	f.Add([]byte("<<: {listen: a}\n? [a]\n: b\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		settings, err := parseFile("f", data)
		if err != nil {
			return
		}
		c := &Config{text: map[string]string{}, source: map[string]string{}}
		for name, s := range settings {
			o, known := option(name)
			if !known || o.NoFile || s.text == "" || s.source == "" {
				t.Fatalf("%q: %+v", name, s)
			}
			if err := c.take(o, s, hostFacts{}); err != nil {
				return
			}
		}
		out, err := c.YAML()
		if err != nil {
			t.Fatal(err)
		}
		var back map[string]any
		if err := yaml.Unmarshal(out, &back); err != nil {
			t.Fatalf("%v in\n%s", err, out)
		}
	})
}
