// Package config knows the options of the program: their defaults, the places that they are read from, what they may be,
// and their reference. One table, Options, has them all; a new option is one entry there and one field of Config.
package config

import (
	"log/slog"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"path/filepath"
)

// Config is the effective configuration, checked. Its fields are for reading.
type Config struct {
	// Listen is host:port; the host may be empty (all addresses) and the port 0 (any free one).
	Listen string
	// PublicURL and WebURL are absolute, http or https, without a slash at the end, so that a path can be added to their
	// String. See Bound for a Listen with port 0.
	PublicURL *url.URL
	WebURL    *url.URL
	// DataDir is a clean path. Nothing says that it exists.
	DataDir string
	// Secret is nil when none was given; SecretKey then finds or makes one.
	Secret *Key
	// Instance is 1 to 64 letters, digits, '.', '_' and '-'.
	Instance string
	// TrustedProxies and RateLimitExempt are masked prefixes; a single address is one of full length.
	TrustedProxies  []netip.Prefix
	RateLimitExempt []netip.Prefix
	// MetricsToken is empty for none, else printable ASCII without spaces.
	MetricsToken string
	// Vendors has at least one name of letters, digits and '-', each once.
	Vendors []string
	// File is the config file that was read, empty for none.
	File     string
	LogLevel slog.Level
	// LogFormat is FormatText or FormatJSON.
	LogFormat string
	// SMTP is an smtp or smtps address with what signs in there, nil for none: mail is written into OutboxPath.
	SMTP *url.URL
	// MailFrom is the sender of mail.
	MailFrom *mail.Address
	// WalletNode is the JSON-RPC address of a node of WalletNetwork, which may have a secret in it; nil for no chain access.
	WalletNode    *url.URL
	WalletNetwork Network
	// PprofListen is a loopback host:port, empty for off.
	PprofListen string

	// Warnings are sentences about what was ignored, such as an unknown PARLEY_ variable.
	Warnings []string

	text   map[string]string // the effective text of each option
	source map[string]string // where it came from
}

// Forms of the log.
const (
	FormatText = "text"
	FormatJSON = "json"
)

// StorePath is the file of the embedded store.
func (c *Config) StorePath() string { return filepath.Join(c.DataDir, "parley.db") }

// OutboxPath is the folder of mail that there is no server for.
func (c *Config) OutboxPath() string { return filepath.Join(c.DataDir, "outbox") }

// Source says where the value of an option came from: "default", or a flag, variable or line of the file.
func (c *Config) Source(name string) string { return c.source[name] }

// Bound tells the configuration the address that the listener really has, and derives anew what was derived from Listen
// and nobody set: the public URL and the web URL.
func (c *Config) Bound(addr net.Addr) error {
	c.Listen = addr.String()
	c.text["listen"] = c.Listen
	for _, name := range []string{"public-url", "web-url"} {
		o, _ := option(name)
		if c.source[name] != sourceDefault {
			continue
		}
		text, err := o.derive(c, hostFacts{})
		if err != nil {
			return err
		}
		if err := o.set(c, text); err != nil {
			return &OptionError{Option: name, Source: sourceDefault, Got: text, Want: err.Error()}
		}
		c.text[name] = text
	}
	return nil
}
