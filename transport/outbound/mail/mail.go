// Package mail sends mail over SMTP, or where no server is configured, writes it into a folder.
package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	netmail "net/mail"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"parley/actors/platform"
)

// Limits of mail.
const (
	// DefaultTimeout bounds one mail, from the connection to its end.
	DefaultTimeout = 20 * time.Second
	// maxSubject and maxBody are the longest subject and part in bytes.
	maxSubject = 500
	maxBody    = 256 << 10
)

// Schemes of a server's address.
const (
	schemeSMTP  = "smtp"  // STARTTLS where the server offers it
	schemeSMTPS = "smtps" // TLS from the first byte
)

// Options of a Mailer. From and one of Server and Folder are required.
type Options struct {
	// Server is smtp://user:password@host:port or smtps://…; user and port may be absent (587 or 25 without a user, 465).
	// With a user, smtp wants STARTTLS, except on this host. nil: mail is written into Folder.
	Server *url.URL
	// Folder is made when it is needed, with access for this user alone.
	Folder string
	// From is the sender, with or without a name.
	From string
	// Roots are who may sign the server's certificate. nil: the system's.
	Roots *x509.CertPool
	// Timeout of one mail. 0: DefaultTimeout.
	Timeout time.Duration
	Log     *slog.Logger     // nil: slog.Default
	Now     func() time.Time // nil: time.Now
}

// Mailer sends mail. It may be used from any goroutine.
type Mailer struct {
	o    Options
	from *netmail.Address
	dial []gomail.Option
}

var _ platform.Mailer = (*Mailer)(nil)

// New makes a mailer; it connects to nothing yet.
func New(o Options) (*Mailer, error) {
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	from, err := netmail.ParseAddress(o.From)
	if err != nil {
		return nil, fmt.Errorf("mail: sender %q: %w", o.From, err)
	}
	m := &Mailer{o: o, from: from}
	switch {
	case o.Server != nil:
		if m.dial, err = dialOptions(o); err != nil {
			return nil, err
		}
	case o.Folder == "":
		return nil, errors.New("mail: neither a server nor a folder")
	}
	return m, nil
}

// CheckServer says what is wrong with the address of a mail server. It does not repeat the address, which has a password.
func CheckServer(u *url.URL) error {
	want := errors.New("smtp://user:password@host:port or smtps://user:password@host:port")
	if u.Scheme != schemeSMTP && u.Scheme != schemeSMTPS || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return want
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.ParseUint(p, 10, 16); err != nil || n == 0 {
			return want
		}
	}
	return nil
}

// port is the server's port: that of submission for those who sign in (RFC 6409, RFC 8314).
func port(u *url.URL) int {
	if n, err := strconv.Atoi(u.Port()); err == nil {
		return n
	}
	switch {
	case u.Scheme == schemeSMTPS:
		return 465
	case u.User != nil:
		return 587
	default:
		return 25
	}
}

func dialOptions(o Options) ([]gomail.Option, error) {
	u := o.Server
	if err := CheckServer(u); err != nil {
		return nil, fmt.Errorf("mail: the server's address must be %w", err)
	}
	options := []gomail.Option{gomail.WithPort(port(u)), gomail.WithTimeout(o.Timeout), gomail.WithTLSConfig(tlsConfig(o))}
	near := loopback(u.Hostname())
	switch {
	case u.Scheme == schemeSMTPS:
		options = append(options, gomail.WithSSL())
	case u.User != nil && !near:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	default:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSOpportunistic))
	}
	if u.User == nil {
		return options, nil
	}
	password, _ := u.User.Password()
	ways := []gomail.SMTPAuthType{gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthSCRAMSHA1, gomail.SMTPAuthCramMD5}
	if near { // the password does not leave this host, so that it may go in clear
		ways = append(ways, gomail.SMTPAuthPlainNoEnc, gomail.SMTPAuthLoginNoEnc)
	} else {
		ways = append(ways, gomail.SMTPAuthPlain, gomail.SMTPAuthLogin)
	}
	return append(options, gomail.WithUsername(u.User.Username()), gomail.WithPassword(password),
		gomail.WithOpportunisticSMTPAuth(ways...)), nil
}

func tlsConfig(o Options) *tls.Config {
	return &tls.Config{ServerName: o.Server.Hostname(), RootCAs: o.Roots, MinVersion: tls.VersionTLS12}
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && addr.IsLoopback()
}

// Send implements platform.Mailer. What can't be put into a mail, and what the server refuses for good, fails with
// platform.ErrUndeliverable.
func (m *Mailer) Send(ctx context.Context, mail platform.Mail) error {
	msg, err := m.compose(mail)
	if err != nil {
		return fmt.Errorf("%w: %w", platform.ErrUndeliverable, err)
	}
	if m.o.Server == nil {
		return m.file(msg)
	}
	ctx, cancel := context.WithTimeout(ctx, m.o.Timeout)
	defer cancel()
	client, err := gomail.NewClient(m.o.Server.Hostname(), append(slices.Clone(m.dial), gomail.WithDialContextFunc(m.dialer(ctx)))...)
	if err != nil {
		return fmt.Errorf("send mail: %w", err)
	}
	if err := client.DialAndSendWithContext(ctx, msg); err != nil {
		return classify(msg, err)
	}
	return nil
}

// dialer makes connections that end with ctx, whatever the library waits for. The library leaves TLS from the first byte
// to it.
func (m *Mailer) dialer(ctx context.Context) gomail.DialContextFunc {
	return func(dialing context.Context, network, address string) (conn net.Conn, err error) {
		if m.o.Server.Scheme == schemeSMTPS {
			conn, err = (&tls.Dialer{Config: tlsConfig(m.o)}).DialContext(dialing, network, address)
		} else {
			conn, err = (&net.Dialer{}).DialContext(dialing, network, address)
		}
		if err != nil {
			return nil, err
		}
		context.AfterFunc(ctx, func() { _ = conn.Close() }) // closed already after a mail that was sent
		return conn, nil
	}
}

// classify tells what is refused for good (RFC 5321, 4.2.1: 5yz) from what may go well another time. A refused sign-in is
// the operator's to mend, and may go well then.
func classify(msg *gomail.Msg, err error) error {
	var refused *gomail.SendError
	if !errors.As(msg.SendError(), &refused) {
		errors.As(err, &refused)
	}
	if refused != nil && refused.ErrorCode() >= 500 && !refused.IsTemp() &&
		(refused.Reason == gomail.ErrSMTPRcptTo || refused.Reason == gomail.ErrSMTPDataClose || refused.Reason == gomail.ErrSMTPData) {
		return fmt.Errorf("send mail: %w: %w", platform.ErrUndeliverable, err)
	}
	return fmt.Errorf("send mail: %w", err)
}

// compose makes the mail. Line ends in what goes into headers are refused, not mended.
func (m *Mailer) compose(mail platform.Mail) (*gomail.Msg, error) {
	to, err := netmail.ParseAddress(mail.To)
	switch {
	case err != nil:
		return nil, fmt.Errorf("recipient: %w", err)
	case to.Name != "" || to.Address != mail.To:
		return nil, errors.New("the recipient must be a bare address")
	case strings.ContainsFunc(mail.To+mail.Subject, control):
		return nil, errors.New("control characters in a header")
	case len(mail.Subject) > maxSubject || len(mail.Text) > maxBody || len(mail.HTML) > maxBody:
		return nil, errors.New("too long")
	}
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.FromMailAddress(m.from)
	if err := msg.EnvelopeFrom(m.from.Address); err != nil {
		return nil, fmt.Errorf("sender: %w", err)
	}
	if err := msg.To(mail.To); err != nil {
		return nil, fmt.Errorf("recipient: %w", err)
	}
	msg.Subject(mail.Subject)
	msg.SetDateWithValue(m.o.Now())
	msg.SetMessageID()
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: no automatic answers
	msg.SetBodyString(gomail.TypeTextPlain, mail.Text)
	msg.AddAlternativeString(gomail.TypeTextHTML, mail.HTML)
	return msg, nil
}

func control(r rune) bool { return r < ' ' || r == 0x7f }

// file writes a mail into the folder. It has its name when all of it is written.
func (m *Mailer) file(msg *gomail.Msg) (err error) {
	if err := os.MkdirAll(m.o.Folder, 0o700); err != nil {
		return fmt.Errorf("write mail: %w", err)
	}
	f, err := os.CreateTemp(m.o.Folder, m.o.Now().UTC().Format("20060102T150405.000Z")+"-*.part") // mode 0600
	if err != nil {
		return fmt.Errorf("write mail: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = msg.WriteTo(f)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write mail: %w", err)
	}
	path := strings.TrimSuffix(f.Name(), ".part") + ".eml"
	if err = os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("write mail: %w", err)
	}
	m.o.Log.Info("mail written to a file, since no mail server is configured", "path", path)
	return nil
}
