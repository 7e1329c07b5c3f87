package rest

import (
	"net/http"
	"net/netip"
	"strings"
)

// hostBits is how much of an IPv6 address stands for one client: a household gets at least a /64.
const hostBits = 64

// maxForwarded is how many hops of X-Forwarded-For are looked at.
const maxForwarded = 20

// clientIP is the address that a request comes from: the peer's, or, when the peer is a trusted proxy, the right-most
// entry of X-Forwarded-For that is not one. Entries left of it are the client's own words. It is invalid when the peer has
// no address, as on a Unix socket.
func (a *API) clientIP(r *http.Request) netip.Addr {
	client := peer(r.RemoteAddr)
	if !within(client, a.o.TrustedProxies) {
		return client
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= max(0, len(hops)-maxForwarded); i-- {
		hop := peer(strings.TrimSpace(hops[i]))
		if !hop.IsValid() {
			break // the proxy before it vouches for nothing further
		}
		client = hop
		if !within(hop, a.o.TrustedProxies) {
			break
		}
	}
	return client
}

// peer reads an address with or without a port.
func peer(s string) netip.Addr {
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return ap.Addr().Unmap().WithZone("")
	}
	addr, err := netip.ParseAddr(strings.Trim(s, "[]"))
	if err != nil {
		return netip.Addr{}
	}
	return addr.Unmap().WithZone("")
}

func within(addr netip.Addr, nets []netip.Prefix) bool {
	for _, n := range nets {
		if n.Contains(addr) {
			return true
		}
	}
	return false
}

// limitedAs names the client to the limiter.
func limitedAs(addr netip.Addr) string {
	if addr.Is6() {
		if net, err := addr.Prefix(hostBits); err == nil {
			return net.String()
		}
	}
	return addr.String()
}
