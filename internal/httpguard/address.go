package httpguard

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Addresses finds the address of a request's client. It trusts X-Forwarded-For only from
// proxies that the operator named: anyone can write that header.
type Addresses struct{ trusted []netip.Prefix }

// NewAddresses returns an Addresses that trusts the proxies, which are addresses or ranges
// ("10.0.0.0/8").
func NewAddresses(proxies []string) (*Addresses, error) {
	a := &Addresses{}
	for _, text := range proxies {
		p, err := parseProxy(text)
		if err != nil {
			return nil, fmt.Errorf("trusted proxy %q: %w", text, err)
		}
		a.trusted = append(a.trusted, p)
	}
	return a, nil
}

// parseProxy reads an address or a range of addresses.
func parseProxy(text string) (netip.Prefix, error) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Masked(), nil
	}
	ip, err := netip.ParseAddr(text)
	if err != nil || ip.Zone() != "" {
		return netip.Prefix{}, errProxy
	}
	return netip.PrefixFrom(ip, ip.BitLen()), nil
}

// Of returns the address of the client, the nearest one that is not a trusted proxy; it
// is not valid for a request whose address cannot be read.
func (a *Addresses) Of(r *http.Request) netip.Addr {
	ip := peer(r)
	if a == nil || !a.trusts(ip) {
		return ip
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		hop, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			return ip // entries further left are older than an invalid one
		}
		if ip = hop.Unmap(); !a.trusts(ip) {
			return ip
		}
	}
	return ip
}

// FromProxy reports whether a trusted proxy made the connection.
func (a *Addresses) FromProxy(r *http.Request) bool { return a != nil && a.trusts(peer(r)) }

// Encrypted reports whether the client's connection is encrypted, as far as known.
func (a *Addresses) Encrypted(r *http.Request) bool {
	return r.TLS != nil || a != nil && a.trusts(peer(r)) && r.Header.Get("X-Forwarded-Proto") == "https"
}

func (a *Addresses) trusts(ip netip.Addr) bool {
	for _, p := range a.trusted {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

func peer(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	ip, _ := netip.ParseAddr(host) // the zero address means none
	return ip.Unmap().WithZone("")
}

// viaProxy refuses a request that carries a proxy's header. On a port without keys the
// loopback address means the person at this machine, but a proxy or tunnel brings strangers
// from the same address. A proxy that adds none of these headers is invisible; its setting
// (trusted_proxies, allowed_hosts) then closes the port.
func viaProxy(r *http.Request) *Refusal {
	for name, values := range r.Header {
		if strings.Contains(name, "Forwarded") || slices.Contains([]string{"X-Real-Ip", "Via", "Cdn-Loop"}, name) || namesAddress(name, values) {
			return refuse(http.StatusUnauthorized, "proxy_without_key",
				"this request came through a proxy ("+name+"), so it may be anybody's: make an API key with molar keys create NAME, "+
					"or let the proxy name the person (identity.header)")
		}
	}
	return nil
}

// namesAddress reports whether a header holds a network address, as the differently named
// headers of proxies, tunnels and content networks do. A version of four numbers looks the
// same.
func namesAddress(name string, values []string) bool {
	return !strings.Contains(name, "Version") && slices.ContainsFunc(values, func(value string) bool {
		first, _, _ := strings.Cut(value, ",")
		first = strings.TrimSpace(first)
		_, bare := netip.ParseAddr(first)
		_, withPort := netip.ParseAddrPort(first)
		return bare == nil || withPort == nil
	})
}

// ClientName returns the name under which an address is counted. An owner of one IPv6 address
// has a whole network of them, so there the network counts.
func ClientName(ip netip.Addr) string {
	const network = 64
	if ip.Is6() {
		if p, err := ip.Prefix(network); err == nil {
			return p.String()
		}
	}
	return ip.String()
}
