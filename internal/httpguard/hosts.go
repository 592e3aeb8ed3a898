package httpguard

import (
	"fmt"
	"net"
	"slices"
	"strings"
)

// Hosts returns the Host values for a server on the listen address ("host:port"): the names of
// the loopback and the address itself, each with the port, and every extra name with and
// without it. Clients omit ports 80 and 443 from Host headers, so there the bare names pass as
// well.
func Hosts(listen string, extra ...string) ([]string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, fmt.Errorf("listen address %q: want host:port: %w", listen, err)
	}
	names := []string{"localhost", "127.0.0.1", "::1"}
	ip := net.ParseIP(host)
	if host != "" && !ip.IsUnspecified() && !slices.Contains(names, host) {
		names = append(names, host)
	}
	var hosts []string
	for _, name := range names {
		hosts = append(hosts, net.JoinHostPort(name, port))
		if port == "80" || port == "443" {
			hosts = append(hosts, bracketed(name))
		}
	}
	for _, name := range extra {
		if net.ParseIP(name) != nil {
			name = bracketed(name)
		}
		hosts = append(hosts, name)
		if _, _, err := net.SplitHostPort(name); err != nil {
			hosts = append(hosts, net.JoinHostPort(strings.Trim(name, "[]"), port))
		}
	}
	return hosts, nil
}

// bracketed writes a name as in a Host header without a port.
func bracketed(name string) string {
	if strings.Contains(name, ":") {
		return "[" + name + "]"
	}
	return name
}
