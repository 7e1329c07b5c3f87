package load

import (
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"time"
)

// Limits of the server that the generator respects, and bounds of its own.
const (
	// maxPerAccount is the number of live connections that an account may have (decision 31).
	maxPerAccount = 20
	// maxSocketRate is the number of events per second that a connection may send for good
	// (decision 31); above it the server reads more slowly, which would look like latency.
	maxSocketRate = 50
	// defaultSocketRate leaves some distance to maxSocketRate, because two clocks never agree.
	defaultSocketRate = 45
	// socketBurst is how many posts a closed loop may send at once beyond its rate; the server
	// allows 200 (decision 31), of which joining takes some.
	socketBurst = 150
	// maxContent is the longest content of a post (decision 21).
	maxContent = 16_000
	// maxConnections bounds a run: more needs more descriptors than one process is given anywhere.
	maxConnections = 1_000_000
	// maxLoops bounds --loops: one event loop serves tens of thousands of sockets.
	maxLoops = 64
	// maxCoalesce bounds --coalesce: more would be most of the latency that is measured.
	maxCoalesce = 10 * time.Millisecond
)

// options are the settings of a run, as the flags of the command describe them.
type options struct {
	URL           string
	Scenario      string
	Format        string
	Connections   int
	Rooms         int
	PerAccount    int
	ConnectRate   float64
	Posters       int
	PostersLeave  bool
	Rate          float64
	SocketRate    float64
	Size          int
	Warmup        time.Duration
	Duration      time.Duration
	Settle        time.Duration
	DrainTimeout  time.Duration
	ServerPID     int
	Loops         int
	Coalesce      time.Duration
	Seed          uint64
	OwnSessions   bool
	Storm         time.Duration
	Slow          int
	Cleanup       bool
	JSON          bool
	postersChosen bool
}

// check refuses settings that contradict each other or the server's limits, with a sentence that
// says what to change, and derives what was left open.
func (o *options) check() error {
	switch {
	case o.Connections < 1 || o.Connections > maxConnections:
		return fmt.Errorf("--connections must be 1 to %d", maxConnections)
	case o.Rooms < 1 || o.Rooms > o.Connections:
		return errors.New("--rooms must be at least 1 and at most --connections: each connection joins one room")
	case o.PerAccount < 1 || o.PerAccount > maxPerAccount:
		return fmt.Errorf("--per-account must be 1 to %d: the server refuses further connections of an account", maxPerAccount)
	case o.Size < minContent || o.Size > maxContent:
		return fmt.Errorf("--size must be %d to %d bytes", minContent, maxContent)
	case o.Rate < 0 || o.ConnectRate < 0 || math.IsNaN(o.Rate+o.ConnectRate) || math.IsInf(o.Rate+o.ConnectRate, 0):
		return errors.New("--rate and --connect-rate can't be negative or infinite")
	case !(o.SocketRate > 0) || o.SocketRate > 1e6:
		return errors.New("--socket-rate must be above 0 and at most 1000000")
	case o.Duration <= 0 || o.Warmup < 0 || o.Settle < 0 || o.DrainTimeout <= 0:
		return errors.New("--duration and --drain-timeout must be above 0, --warmup and --settle not below")
	case o.Loops < 1 || o.Loops > maxLoops:
		return fmt.Errorf("--loops must be 1 to %d", maxLoops)
	case o.Coalesce < 0 || o.Coalesce > maxCoalesce:
		return fmt.Errorf("--coalesce must be 0 to %s", maxCoalesce)
	case dialects[o.Format] == nil:
		return fmt.Errorf("--format must be socketio or plain, not %q", o.Format)
	}
	if err := o.checkStorm(); err != nil {
		return err
	}
	return o.checkPosters()
}

// checkStorm checks what makes trouble on purpose.
func (o *options) checkStorm() error {
	switch {
	case o.Storm < 0 || o.Storm > 0 && o.Storm >= o.Duration:
		return errors.New("--storm must lie within --duration")
	case o.Slow < 0 || o.Slow >= o.Connections:
		return errors.New("--slow must be at least 0 and below --connections")
	}
	return nil
}

func (o *options) checkPosters() error {
	if o.Rate > 0 && !o.postersChosen {
		o.Posters = min(o.Connections, int(math.Ceil(o.Rate/o.SocketRate*1.25)))
	}
	if o.Posters < 0 || o.Posters > o.Connections {
		return errors.New("--posters must be at least 0 and at most --connections: posters are connections")
	}
	if o.Rate > 0 && o.Posters == 0 {
		return errors.New("--rate needs posters: leave --posters out to have their number derived")
	}
	if o.Rate > 0 && o.Rate/float64(o.Posters) > o.SocketRate {
		return fmt.Errorf("--rate %g over %d posters is %.1f posts/s a socket, above --socket-rate %g: the server reads at most %d events/s from a connection; at least %d posters are needed",
			o.Rate, o.Posters, o.Rate/float64(o.Posters), o.SocketRate, maxSocketRate, int(math.Ceil(o.Rate/o.SocketRate)))
	}
	if o.Storm > 0 && o.Posters >= o.Connections || o.Slow > 0 && o.Posters+o.Slow > o.Connections {
		return errors.New("--storm and --slow need connections that do not post")
	}
	if o.PostersLeave && o.Posters >= o.Connections {
		return errors.New("--posters-leave needs connections that do not post, else nobody listens")
	}
	return nil
}

// target is the server's address: where sockets connect to and what the Host header says.
type target struct {
	base *url.URL
	addr netip.AddrPort
}

// newTarget resolves the address of --url. Only http is spoken: TLS would measure the generator's own
// cryptography.
func newTarget(text string) (target, error) {
	base, err := url.Parse(text)
	if err != nil || base.Scheme != "http" || base.Hostname() == "" {
		return target{}, fmt.Errorf("--url must look like http://HOST:PORT, not %q", text)
	}
	port := firstOf(base.Port(), "80")
	addr, err := net.ResolveTCPAddr("tcp", net.JoinHostPort(base.Hostname(), port))
	if err != nil {
		return target{}, fmt.Errorf("resolve --url: %w", err)
	}
	ap := addr.AddrPort()
	return target{base: base, addr: netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())}, nil
}

// source is the loopback address that the i-th account comes from: each has one of its own, so that
// neither ephemeral ports nor the server's limits per address bound the run. Servers elsewhere see
// the address that the route gives: then it is the zero address.
func (t target) source(i int, seed uint64) netip.Addr {
	if !t.addr.Addr().Is4() || !t.addr.Addr().IsLoopback() {
		return netip.Addr{}
	}
	// 127.1.0.0 to 127.254.255.255, beginning at a place of the run's own.
	const size = 254 << 16
	n := (seed + uint64(i)) % size
	return netip.AddrFrom4([4]byte{127, byte(1 + n>>16), byte(n >> 8), byte(n)})
}
