// Package mailtest is a small SMTP server (RFC 5321) for tests: it keeps what it gets, with STARTTLS, TLS from the first
// byte, and signing in, and it fails as a test wants it to.
package mailtest

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"
)

// Limits of a session.
const (
	sessionTime = 30 * time.Second
	maxLine     = 4096 // bytes
)

// Options of a Server. The zero Options make one that takes everything, without TLS.
type Options struct {
	// TLS is what the server shows. With Implicit it is spoken from the first byte, else after STARTTLS.
	TLS      *tls.Config
	Implicit bool
	// User and Password must sign in, when there is a User.
	User, Password string
}

// Received is a mail as it came.
type Received struct {
	From      string
	To        []string
	Encrypted bool
	SignedIn  bool
	Data      string
}

// Server is a running server.
type Server struct {
	t        testing.TB
	o        Options
	listener net.Listener
	sessions sync.WaitGroup

	mu      sync.Mutex
	conns   map[net.Conn]bool
	answers map[string][]string // by command: what it is answered with, once each
	mails   []Received
	tries   int
}

// Start starts a server on a free port of the loopback interface; it ends with the test.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if o.Implicit {
		l = tls.NewListener(l, o.TLS)
	}
	s := &Server{t: t, o: o, listener: l, conns: map[net.Conn]bool{}, answers: map[string][]string{}}
	s.sessions.Go(s.accept)
	t.Cleanup(s.close)
	return s
}

func (s *Server) close() {
	_ = s.listener.Close()
	s.mu.Lock()
	for c := range s.conns {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.sessions.Wait()
}

// Address is host:port.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Answer makes the server answer the next use of a command (such as RCPT, or DOT for the end of the data) with a line. The
// line HANG is none at all: the server waits until the client goes.
func (s *Server) Answer(command, line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[command] = append(s.answers[command], line)
}

// Mails is what came so far.
func (s *Server) Mails() []Received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Received(nil), s.mails...)
}

// Tries is how many sessions there were.
func (s *Server) Tries() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tries
}

func (s *Server) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		_ = c.SetDeadline(time.Now().Add(sessionTime))
		s.mu.Lock()
		s.conns[c] = true
		s.tries++
		s.mu.Unlock()
		s.sessions.Go(func() {
			(&session{server: s, conn: c, in: bufio.NewReaderSize(c, maxLine), mail: Received{Encrypted: s.o.Implicit}}).run()
			_ = c.Close()
			s.mu.Lock()
			delete(s.conns, c)
			s.mu.Unlock()
		})
	}
}

// scripted is what the test wants a command to be answered with.
func (s *Server) scripted(command string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := s.answers[command]
	if len(lines) == 0 {
		return "", false
	}
	s.answers[command] = lines[1:]
	return lines[0], true
}

// session is one connection.
type session struct {
	server *Server
	conn   net.Conn
	in     *bufio.Reader
	mail   Received
}

func (s *session) say(lines ...string) {
	_, _ = io.WriteString(s.conn, strings.Join(lines, "\r\n")+"\r\n")
}

func (s *session) line() (string, error) {
	line, err := s.in.ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err
}

func (s *session) run() {
	s.say("220 mail.test ESMTP")
	for {
		line, err := s.line()
		if err != nil {
			return
		}
		verb, rest, _ := strings.Cut(line, " ")
		verb = strings.ToUpper(verb)
		if answer, ok := s.server.scripted(verb); ok {
			if answer == "HANG" {
				_, _ = io.Copy(io.Discard, s.in)
				return
			}
			s.say(answer)
			continue
		}
		if !s.command(verb, rest) {
			return
		}
	}
}

// command answers one command; false ends the session.
func (s *session) command(verb, rest string) bool {
	o := &s.server.o
	switch verb {
	case "EHLO", "HELO":
		s.greet()
	case "STARTTLS":
		s.say("220 go on")
		c := tls.Server(s.conn, o.TLS)
		s.conn, s.in, s.mail = c, bufio.NewReaderSize(c, maxLine), Received{Encrypted: true}
	case "AUTH":
		return s.auth(rest)
	case "MAIL":
		if o.User != "" && !s.mail.SignedIn {
			s.say("530 5.7.0 sign in first")
			return true
		}
		s.mail.From = address(rest)
		s.say("250 ok")
	case "RCPT":
		s.mail.To = append(s.mail.To, address(rest))
		s.say("250 ok")
	case "DATA":
		s.say("354 go on")
		return s.data()
	case "RSET":
		s.mail.From, s.mail.To = "", nil
		s.say("250 ok")
	case "QUIT":
		s.say("221 bye")
		return false
	case "NOOP":
		s.say("250 ok")
	default:
		s.say("502 what?")
	}
	return true
}

func (s *session) greet() {
	lines := []string{"250-mail.test"}
	if s.server.o.TLS != nil && !s.mail.Encrypted {
		lines = append(lines, "250-STARTTLS")
	}
	if s.server.o.User != "" {
		lines = append(lines, "250-AUTH PLAIN LOGIN")
	}
	s.say(append(lines, "250 8BITMIME")...)
}

func (s *session) auth(rest string) bool {
	method, given, _ := strings.Cut(rest, " ")
	if !strings.EqualFold(method, "PLAIN") {
		s.say("504 5.5.4 PLAIN only")
		return true
	}
	text, err := base64.StdEncoding.DecodeString(given)
	if err != nil || string(text) != "\x00"+s.server.o.User+"\x00"+s.server.o.Password {
		s.say("535 5.7.8 wrong")
		return true
	}
	s.mail.SignedIn = true
	s.say("235 2.7.0 welcome")
	return true
}

func (s *session) data() bool {
	var b strings.Builder
	for {
		line, err := s.line()
		if err != nil {
			return false
		}
		if line == "." {
			break
		}
		b.WriteString(strings.TrimPrefix(line, ".") + "\r\n")
	}
	if answer, ok := s.server.scripted("DOT"); ok {
		s.say(answer)
		return true
	}
	s.mail.Data = b.String()
	s.server.mu.Lock()
	s.server.mails = append(s.server.mails, s.mail)
	s.server.mu.Unlock()
	s.say("250 taken")
	return true
}

// address is what stands between < and >.
func address(s string) string {
	_, s, _ = strings.Cut(s, "<")
	s, _, _ = strings.Cut(s, ">")
	return s
}

// Message is a mail taken apart.
type Message struct {
	Header     mail.Header
	Subject    string
	Text, HTML string
}

// Parse takes a mail of a plain text and an HTML part apart.
func Parse(data string) (*Message, error) {
	m, err := mail.ReadMessage(strings.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("read the mail: %w", err)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil {
		return nil, fmt.Errorf("read the subject: %w", err)
	}
	out := &Message{Header: m.Header, Subject: subject}
	kind, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/alternative" {
		return nil, fmt.Errorf("the mail is %q, %w", kind, err)
	}
	parts := multipart.NewReader(m.Body, params["boundary"])
	for {
		p, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read a part: %w", err)
		}
		var body io.Reader = p
		if strings.EqualFold(p.Header.Get("Content-Transfer-Encoding"), "quoted-printable") {
			body = quotedprintable.NewReader(p)
		}
		text, err := io.ReadAll(body)
		if err != nil {
			return nil, fmt.Errorf("read a part: %w", err)
		}
		if kind, _, _ := mime.ParseMediaType(p.Header.Get("Content-Type")); kind == "text/html" {
			out.HTML = string(text)
		} else {
			out.Text = string(text)
		}
	}
}
