package config

import (
	"fmt"
	"io"
	"strings"
)

// envPrefix begins the name of every environment variable that the program reads.
const envPrefix = "PARLEY_"

// Option is one row of the table that flags, environment, file, validation and reference are made from.
type Option struct {
	// Name is the key in the file and the name of the flag.
	Name string
	// Usage is what the option is for, a phrase that begins with a small letter.
	Usage string
	// Default is the text that holds when nobody sets the option. With derive it only describes that.
	Default string
	// List options take several values, separated by commas or as a list in the file.
	List bool
	// Secret options have no flag, since other users can read a process's arguments, and are never printed.
	Secret bool
	// Masked options may hold a secret and are never printed, but have a flag.
	Masked bool
	// NoFile keeps the option out of the file.
	NoFile bool

	// derive makes the default from options further up in the table.
	derive func(c *Config, host hostFacts) (string, error)
	// set checks the text and puts it into c. Its error says what it wants, not what it got.
	set func(c *Config, text string) error
}

// hostFacts is where derived defaults come from, besides other options.
type hostFacts struct {
	name   func() (string, error)
	random io.Reader
}

// Env is the option's environment variable.
func (o *Option) Env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(o.Name, "-", "_"))
}

// Options is the table, in the order in which defaults are derived and references are printed. The names and defaults
// are those of decisions.md, Name and run-time interface.
func Options() []*Option { return table }

var table = []*Option{
	{
		Name: "listen", Default: "127.0.0.1:8080",
		Usage: "address to accept requests on; port 0 takes a free one",
		set:   func(c *Config, s string) (err error) { c.Listen, err = listenAddress(s); return err },
	},
	{
		Name: "public-url", Default: "`http://` and the listen address",
		Usage:  "base address of the service as clients see it, used in links",
		derive: func(c *Config, _ hostFacts) (string, error) { return "http://" + reachable(c.Listen), nil },
		set:    func(c *Config, s string) (err error) { c.PublicURL, err = baseURL(s); return err },
	},
	{
		Name: "web-url", Default: "the public URL",
		Usage: "address of the web front end, the target of claim redirects and an origin that is let in",
		derive: func(c *Config, _ hostFacts) (string, error) {
			if c.PublicURL == nil { // refused, which is reported already
				return "http://" + reachable(c.Listen), nil
			}
			return c.PublicURL.String(), nil
		},
		set: func(c *Config, s string) (err error) { c.WebURL, err = baseURL(s); return err },
	},
	{
		Name: "data-dir", Default: "./data",
		Usage: "folder of the embedded store, which holds uploaded pictures too, and of the generated secret",
		set:   func(c *Config, s string) (err error) { c.DataDir, err = folder(s); return err },
	},
	{
		Name: "secret-key", Secret: true, Default: "generated into the data folder as `secret.key`, mode 0600",
		Usage: "secret for encryption at rest, 32 bytes as hex or base64",
		set:   func(c *Config, s string) (err error) { c.Secret, err = optionalKey(s); return err },
	},
	{
		Name: "instance", Default: "the host's name and a random suffix",
		Usage:  "name of this server in metrics and presence",
		derive: func(_ *Config, host hostFacts) (string, error) { return instanceName(host) },
		set:    func(c *Config, s string) (err error) { c.Instance, err = instance(s); return err },
	},
	{
		Name: "trusted-proxies", List: true,
		Usage: "addresses or CIDRs of proxies whose `X-Forwarded-For` is believed",
		set:   func(c *Config, s string) (err error) { c.TrustedProxies, err = prefixes(s); return err },
	},
	{
		Name: "rate-limit-exempt", List: true,
		Usage: "addresses or CIDRs of clients that the rate limits per address do not count",
		set:   func(c *Config, s string) (err error) { c.RateLimitExempt, err = prefixes(s); return err },
	},
	{
		Name: "metrics-token", Secret: true, Default: "none: both are open to everybody",
		Usage: "token that `/metrics` and `/metrics/snapshot` ask for, as a bearer",
		set:   func(c *Config, s string) (err error) { c.MetricsToken, err = bearerToken(s); return err },
	},
	{
		Name: "vendor", List: true, Default: "Service",
		Usage: "names in `X-<Vendor>-…` headers, all of them accepted and sent; the first one names the cookie",
		set:   func(c *Config, s string) (err error) { c.Vendors, err = vendors(s); return err },
	},
	{
		Name: "smtp-url", Masked: true,
		Usage: "mail server, `smtp://user:password@host:port` or `smtps://…`; without one every mail is written into `outbox` in the data folder",
		set:   func(c *Config, s string) (err error) { c.SMTP, err = mailServer(s); return err },
	},
	{
		Name: "mail-from", Default: "`parley@` and the host of the public URL",
		Usage:  "sender of mail",
		derive: func(c *Config, _ hostFacts) (string, error) { return mailSender(c.PublicURL), nil },
		set:    func(c *Config, s string) (err error) { c.MailFrom, err = mailAddress(s); return err },
	},
	{
		Name: "wallet-rpc-url", Masked: true,
		Usage: "JSON-RPC address of a node of the wallets' block chain; without one balances and payments are not looked up",
		set:   func(c *Config, s string) (err error) { c.WalletNode, err = chainNode(s); return err },
	},
	{
		Name: "wallet-network", Default: "base",
		Usage: "block chain of the wallets: `base` or `base-sepolia`",
		set:   func(c *Config, s string) (err error) { c.WalletNetwork, err = walletNetwork(s); return err },
	},
	{
		Name: "config", NoFile: true,
		Usage: "YAML file with the same keys as the flags",
		set:   func(c *Config, s string) error { c.File = s; return nil },
	},
	{
		Name: "log-level", Default: "info",
		Usage: "least level that is logged: `debug`, `info`, `warn` or `error`",
		set:   func(c *Config, s string) (err error) { c.LogLevel, err = logLevel(s); return err },
	},
	{
		Name: "log-format", Default: "text",
		Usage: "form of the log: `text` or `json`",
		set:   func(c *Config, s string) (err error) { c.LogFormat, err = logFormat(s); return err },
	},
	{
		Name:  "pprof-listen",
		Usage: "loopback address for Go's profiling pages; empty turns them off",
		set:   func(c *Config, s string) (err error) { c.PprofListen, err = loopbackAddress(s); return err },
	},
}

// option finds a row by its name.
func option(name string) (*Option, bool) {
	for _, o := range table {
		if o.Name == name {
			return o, true
		}
	}
	return nil, false
}

// values splits what a list option was set to.
func (o *Option) values(text string) []string {
	if !o.List {
		return []string{text}
	}
	return splitList(text)
}

func splitList(text string) []string {
	var out []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// OptionError says what is wrong with one option.
type OptionError struct {
	Option string // its name
	Source string // where the value came from, such as "flag --listen" or "parley.yaml, line 3"
	Got    string // the value, quoted; "a secret" for secrets
	Want   string // what would be accepted
}

func (e *OptionError) Error() string {
	return fmt.Sprintf("%s: got %s from %s, want %s", e.Option, e.Got, e.Source, e.Want)
}
