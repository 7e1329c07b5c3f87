package rest

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// DefaultVendor names the cookie when no vendor is given.
const DefaultVendor = "Service"

// Options say how the transport behaves. Service and PublicURL are required.
type Options struct {
	// Service is the domain.
	Service Service
	// Vendors name the cookie <vendor>_token, in lower case: the first one's is set, those of all are accepted.
	// Empty: DefaultVendor alone.
	Vendors []string
	// PublicURL is the service's own address as clients see it. Under https the cookie is Secure. Required.
	PublicURL *url.URL
	// WebURL is the web front end's address. nil: PublicURL.
	WebURL *url.URL
	// TrustedProxies are peers whose X-Forwarded-For is believed. Empty: nobody's is.
	TrustedProxies []netip.Prefix
	// RateLimitExempt are clients free of the rate limits. Empty: none.
	RateLimitExempt []netip.Prefix
	// Limiter counts requests against the rate limits. nil: one of this process alone.
	Limiter Limiter
	// Logger gets an access line a request at debug level and failures of the server above. nil: slog.Default().
	Logger *slog.Logger
	// Now is the clock of the rate limits and of durations in the log. nil: time.Now.
	Now func() time.Time
	// Draining reports that the server is about to end, for /readyz. nil: never.
	Draining func() bool
	// Metrics answers GET /metrics and /metrics/snapshot. nil: they answer 404.
	Metrics Metrics
	// MetricsToken has to be shown to both, as a bearer. Empty: they are open to everybody.
	MetricsToken string
	// Meter is told of every request. nil: nothing is measured.
	Meter Meter
	// Realtime are handlers that take their connections over: by path, such as "/ws", or by everything below one that
	// ends in a slash, such as "/socket.io/". They get the ResponseWriter untouched. nil: none.
	Realtime map[string]http.Handler
}

// vendorName is what can stand in a cookie's and a header's name.
var vendorName = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// complete checks the options and fills in what zero means.
func (o Options) complete() (Options, error) {
	switch {
	case o.Service == nil:
		return o, errors.New("rest: no service")
	case o.PublicURL == nil || originOf(o.PublicURL) == "":
		return o, errors.New("rest: the public URL must be an absolute http or https address")
	case o.WebURL != nil && originOf(o.WebURL) == "":
		return o, errors.New("rest: the web URL must be an absolute http or https address")
	}
	if o.WebURL == nil {
		o.WebURL = o.PublicURL
	}
	if len(o.Vendors) == 0 {
		o.Vendors = []string{DefaultVendor}
	}
	for _, v := range o.Vendors {
		if !vendorName.MatchString(v) {
			return o, fmt.Errorf("rest: vendor %q must be letters, digits and hyphens", v)
		}
	}
	for path, h := range o.Realtime {
		if !strings.HasPrefix(path, "/") || h == nil {
			return o, fmt.Errorf("rest: realtime path %q must begin with a slash and have a handler", path)
		}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Draining == nil {
		o.Draining = func() bool { return false }
	}
	if o.Meter == nil {
		o.Meter = noMeter{}
	}
	if o.Limiter == nil {
		o.Limiter = NewLimiter(o.Now)
	}
	return o, nil
}
