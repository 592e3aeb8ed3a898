package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// A zone is the range from which an address can be reached. A server may refer the host to
// addresses of its own zone and wider ones, never further in.
type zone int

const (
	public zone = iota
	private
	loopback
)

func zoneOf(ip netip.Addr) zone {
	ip = ip.Unmap()
	b := ip.As16()
	switch {
	case ip.IsLoopback(), ip.IsUnspecified():
		return loopback
	case !ip.IsGlobalUnicast(), ip.IsPrivate(), netip.MustParsePrefix("100.64.0.0/10").Contains(ip):
		return private
	case netip.MustParsePrefix("64:ff9b::/96").Contains(ip): // an IPv4 address behind NAT64
		return zoneOf(netip.AddrFrom4([4]byte(b[12:])))
	case netip.MustParsePrefix("2002::/16").Contains(ip): // or in 6to4
		return zoneOf(netip.AddrFrom4([4]byte(b[2:6])))
	default:
		return public
	}
}

// zoneOfHost returns the zone of a URL's host by its text alone.
func zoneOfHost(host string) zone {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return loopback
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return zoneOf(ip)
	}
	return public
}

// checkAddress rejects addresses that must not get tokens and codes: plain http except on
// loopback, or further in than the MCP server.
func checkAddress(raw string, inside zone) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "" || u.User != nil || u.Fragment != "":
		return fmt.Errorf("%q is not an address that a login can use", printable(raw, 200))
	case u.Scheme == "http" && zoneOfHost(u.Hostname()) != loopback, u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%s://%s is refused: a login requires https, or http on loopback", printable(u.Scheme, 20), printable(u.Host, 200))
	case zoneOfHost(u.Hostname()) > inside:
		return insideError(u.Host)
	}
	return nil
}

func insideError(host string) error {
	return fmt.Errorf("%s is refused: it is an address of this machine or of a private network, and the MCP server is not", printable(host, 200))
}

// A restrictedClient makes the exchanges of one login: it connects to no address further in than
// the MCP server, follows redirects of a GET within one origin, and reads bounded answers.
type restrictedClient struct {
	inside          zone
	direct, proxied *http.Transport
	limit           time.Duration
}

func (c *Client) restrictedClient(inside zone) *restrictedClient {
	direct, proxied := c.base.Clone(), c.base.Clone()
	direct.Proxy, direct.DialTLSContext, direct.DisableKeepAlives = nil, nil, true
	proxied.DisableKeepAlives = true
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil || zoneOf(to.Addr()) > inside {
			return insideError(address)
		}
		return nil
	}}
	direct.DialContext = dialer.DialContext
	return &restrictedClient{inside: inside, direct: direct, proxied: proxied, limit: callTimeout}
}

// RoundTrip implements http.RoundTripper. It does not check where a proxy connects.
func (c *restrictedClient) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := checkAddress(r.URL.String(), c.inside); err != nil {
		return nil, err
	}
	if c.proxied.Proxy != nil {
		if proxy, err := c.proxied.Proxy(r); err == nil && proxy != nil {
			return c.proxied.RoundTrip(r)
		}
	}
	return c.direct.RoundTrip(r)
}

// client returns a client that follows the allowed redirects.
func (c *restrictedClient) client() *http.Client {
	return &http.Client{Transport: c, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		first := via[0]
		if first.Method != http.MethodGet || next.URL.Scheme != first.URL.Scheme || next.URL.Host != first.URL.Host || len(via) > 3 {
			return http.ErrUseLastResponse
		}
		return nil
	}}
}

// do makes one exchange and returns the answer.
func (c *restrictedClient) do(r *http.Request) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(r.Context(), c.limit)
	defer cancel()
	r.Header.Set("Accept", "application/json")
	resp, err := c.client().Do(r.WithContext(ctx))
	if err != nil {
		if outer, ok := errors.AsType[*url.Error](err); ok {
			err = outer.Err // the rest is the URL with its query
		}
		return 0, nil, fmt.Errorf("ask %s: %w", r.URL.Host, err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case err != nil:
		return 0, nil, fmt.Errorf("read the answer of %s: %w", r.URL.Host, err)
	case len(body) > maxBody:
		return 0, nil, fmt.Errorf("the answer of %s is longer than %d KiB", r.URL.Host, maxBody>>10)
	}
	return resp.StatusCode, body, nil
}

// get reads a JSON document; found is false if the address has none.
func (c *restrictedClient) get(ctx context.Context, address string, into any) (found bool, err error) {
	if err := checkAddress(address, c.inside); err != nil {
		return false, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false, fmt.Errorf("%q is no address", printable(address, 200))
	}
	status, body, err := c.do(r)
	switch {
	case err != nil:
		return false, err
	case status >= http.StatusInternalServerError:
		return false, fmt.Errorf("%s answered HTTP %d; try again later", r.URL.Host, status)
	case status != http.StatusOK || json.Unmarshal(body, into) != nil:
		return false, nil // a site that answers everything with a page has no document
	}
	return true, nil
}

// IsLoopback reports whether a URL's host is this machine, by its name alone.
func IsLoopback(host string) bool { return zoneOfHost(host) == loopback }
