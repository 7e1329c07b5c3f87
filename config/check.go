package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Limits of values.
const (
	// maxURL bounds a base address, since links are made from it.
	maxURL = 1024
	// maxPrefixes bounds a list of CIDRs, which every request is compared with.
	maxPrefixes = 256
	// maxVendors bounds the vendors: every delivery carries headers for each.
	maxVendors = 8
	// maxHost is the longest name in the DNS (RFC 1035).
	maxHost = 253
	// maxToken bounds a bearer token in bytes.
	maxToken = 512
)

var (
	vendorForm   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,31}$`)
	instanceForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	tokenForm    = regexp.MustCompile(`^[[:graph:]]*$`)
	hostForm     = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?$`)
)

// listenAddress checks host:port.
func listenAddress(s string) (string, error) {
	want := errors.New("host:port, such as 127.0.0.1:8080, or :8080 for all addresses")
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return "", want
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", want
	}
	if _, err := netip.ParseAddr(host); err != nil && host != "" && (len(host) > maxHost || !hostForm.MatchString(host)) {
		return "", want
	}
	return s, nil
}

// loopbackAddress checks an address that only this host can reach; empty is off.
func loopbackAddress(s string) (string, error) {
	want := errors.New("a loopback address such as 127.0.0.1:6060, or nothing")
	if s == "" {
		return "", nil
	}
	if _, err := listenAddress(s); err != nil {
		return "", want
	}
	host, _, _ := net.SplitHostPort(s) // checked by listenAddress
	addr, err := netip.ParseAddr(host)
	if (err != nil || !addr.IsLoopback()) && !strings.EqualFold(host, "localhost") {
		return "", want
	}
	return s, nil
}

// reachable turns an address to listen on into one that a client on this host can dial.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	addr, err := netip.ParseAddr(host)
	switch {
	case host == "", err == nil && addr.IsUnspecified() && addr.Is4():
		host = "127.0.0.1"
	case err == nil && addr.IsUnspecified():
		host = "::1"
	}
	return net.JoinHostPort(host, port)
}

// baseURL checks an address that paths are added to.
func baseURL(s string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(s, "/"))
	if err != nil || len(s) > maxURL || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" ||
		u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(s, "#") {
		return nil, fmt.Errorf("an http or https address such as https://chat.example.org, of at most %d characters, without user, query and fragment", maxURL)
	}
	if port := u.Port(); port != "" {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return nil, errors.New("an http or https address with a port up to 65535")
		}
	}
	u.Host = strings.ToLower(u.Host)
	return u, nil
}

func folder(s string) (string, error) {
	if s == "" || strings.ContainsRune(s, 0) {
		return "", errors.New("the path of a folder")
	}
	return filepath.Clean(s), nil
}

func optionalKey(s string) (*Key, error) {
	if s == "" {
		return nil, nil
	}
	k, err := ParseKey(s)
	if err != nil {
		return nil, err
	}
	return &k, nil
}

func instance(s string) (string, error) {
	if !instanceForm.MatchString(s) {
		return "", errors.New("1 to 64 letters, digits, '.', '_' and '-'")
	}
	return s, nil
}

// bearerToken checks what can stand in an Authorization header; empty is none.
func bearerToken(s string) (string, error) {
	if len(s) > maxToken || !tokenForm.MatchString(s) {
		return "", fmt.Errorf("up to %d letters, digits and signs of ASCII, without spaces", maxToken)
	}
	return s, nil
}

// prefixes reads addresses and CIDRs.
func prefixes(s string) ([]netip.Prefix, error) {
	parts := splitList(s)
	if len(parts) > maxPrefixes {
		return nil, fmt.Errorf("at most %d addresses or CIDRs", maxPrefixes)
	}
	var out []netip.Prefix
	for _, part := range parts {
		p, err := netip.ParsePrefix(part)
		if err != nil {
			addr, err := netip.ParseAddr(part)
			if err != nil || addr.Zone() != "" {
				return nil, errors.New("addresses or CIDRs such as 10.0.0.0/8,192.0.2.1,2001:db8::/32")
			}
			addr = addr.Unmap()
			p = netip.PrefixFrom(addr, addr.BitLen())
		}
		if p.Addr().Is4In6() {
			return nil, errors.New("IPv4 ranges in their own form, such as 10.0.0.0/8")
		}
		out = append(out, p.Masked())
	}
	return out, nil
}

func vendors(s string) ([]string, error) {
	want := fmt.Errorf("1 to %d different names, each a letter and up to 31 letters, digits and '-'", maxVendors)
	out := splitList(s)
	seen := map[string]bool{}
	for _, name := range out {
		key := strings.ToLower(name)
		if !vendorForm.MatchString(name) || seen[key] {
			return nil, want
		}
		seen[key] = true
	}
	if len(out) == 0 || len(out) > maxVendors {
		return nil, want
	}
	return out, nil
}

func logLevel(s string) (slog.Level, error) {
	switch strings.ToLower(s) {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return 0, errors.New("debug, info, warn or error")
}

func logFormat(s string) (string, error) {
	switch f := strings.ToLower(s); f {
	case FormatText, FormatJSON:
		return f, nil
	}
	return "", errors.New("text or json")
}
