package config

import (
	"errors"
	"net/mail"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// maxMailAddress is the longest sender with its name, in bytes.
const maxMailAddress = 320

// mailServer checks the address of a mail server; empty is none.
func mailServer(s string) (*url.URL, error) {
	if s == "" {
		return nil, nil
	}
	want := errors.New("smtp://user:password@host:port or smtps://user:password@host:port")
	u, err := url.Parse(s)
	if err != nil || len(s) > maxURL || (u.Scheme != "smtp" && u.Scheme != "smtps") || u.Hostname() == "" ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, want
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.ParseUint(p, 10, 16); err != nil || n == 0 {
			return nil, want
		}
	}
	return u, nil
}

// mailAddress checks a sender, with or without a name.
func mailAddress(s string) (*mail.Address, error) {
	a, err := mail.ParseAddress(s)
	if err != nil || len(s) > maxMailAddress || strings.ContainsAny(s, "\r\n") {
		return nil, errors.New("an e-mail address such as parley@example.org, or Parley <parley@example.org>")
	}
	return a, nil
}

// mailSender is the default sender: a name of the service's own host.
func mailSender(public *url.URL) string {
	host := "localhost"
	if public != nil {
		if _, err := netip.ParseAddr(public.Hostname()); err != nil {
			host = public.Hostname()
		}
	}
	return "parley@" + host
}
