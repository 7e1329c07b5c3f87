package load

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"
)

// Bounds of the REST calls.
const (
	requestTimeout = 30 * time.Second
	maxAnswer      = 1 << 20 // bytes of an answer that are read
	maxRetries     = 8       // after 429
	maxRetryAfter  = 2 * time.Minute
)

// apiClient speaks to the REST interface from one source address.
type apiClient struct {
	p    *provisioner
	http http.Client
}

func (p *provisioner) client(source netip.Addr) *apiClient {
	dialer := &net.Dialer{Timeout: requestTimeout}
	if source.IsValid() {
		dialer.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(source, 0))
	}
	// No proxy: the run measures the server that --url names.
	return &apiClient{p: p, http: http.Client{Timeout: requestTimeout, Transport: &http.Transport{DialContext: dialer.DialContext}}}
}

func (c *apiClient) close() { c.http.CloseIdleConnections() }

// call sends one request and decodes the answer. 429 is waited out; other statuses that are not 2xx
// are errors with the server's own sentence.
func (c *apiClient) call(ctx context.Context, method, path, token string, body, answer any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode request of %s: %w", path, err)
	}
	for try := 0; ; try++ {
		status, retry, data, err := c.once(ctx, method, path, token, raw)
		if err != nil {
			return fmt.Errorf("%s %s: %w", method, path, err)
		}
		if status == http.StatusTooManyRequests && try < maxRetries {
			if err := c.p.waitOut(ctx, path, retry); err != nil {
				return err
			}
			continue
		}
		if status == http.StatusForbidden {
			return fmt.Errorf("%s %s: %w: %s", method, path, errForbidden, errorText(data))
		}
		if status/100 != 2 {
			return fmt.Errorf("%s %s: status %d: %s", method, path, status, errorText(data))
		}
		if answer == nil {
			return nil
		}
		if err := json.Unmarshal(data, answer); err != nil {
			return fmt.Errorf("decode answer of %s %s: %w", method, path, err)
		}
		return nil
	}
}

func (c *apiClient) once(ctx context.Context, method, path, token string, body []byte) (int, string, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.p.target.base.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return 0, "", nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, "", nil, err
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	_ = resp.Body.Close()
	return resp.StatusCode, resp.Header.Get("Retry-After"), data, err
}

// waitOut sleeps as long as a 429 asks for.
func (p *provisioner) waitOut(ctx context.Context, path, retryAfter string) error {
	p.warnOnce.Do(func() {
		p.note("the server limits " + path + " per address and the run waits for it; start the server with --rate-limit-exempt 127.0.0.0/8 to avoid that")
	})
	wait := time.Second
	if seconds, err := strconv.Atoi(retryAfter); err == nil && seconds > 0 {
		wait = min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(wait):
		return nil
	}
}

func errorText(data []byte) string {
	var body struct {
		Error string `json:"error"`
	}
	if err := json.Unmarshal(data, &body); err != nil || body.Error == "" {
		return "an answer without an error text"
	}
	return body.Error
}
