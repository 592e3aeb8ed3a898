// Package running asks a host that runs already, over HTTP.
package running

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host/trust"
)

// keyVariable holds the API key with which commands ask a running host.
const keyVariable = "MOLAR_API_KEY"

// A Host is a running host, as a command that asks it reaches it.
type Host struct {
	// address is host:port, as the settings or a flag name it.
	address string
	base    string
	key     string
	client  *http.Client
}

// Find returns the host that listens where the flag says, else where the settings
// do, whatever else may be wrong with them.
func Find(c *cli.CLI, listen string) (*Host, error) {
	flags := map[string]string{}
	if listen != "" {
		flags["listen"] = listen
	}
	door, err := config.FindDoor(c.Options(flags))
	if err != nil && listen == "" {
		return nil, cli.Usage(err)
	}
	if listen != "" {
		door.Listen = listen
	}
	return Of(c, door)
}

// Of makes the client for a host: over TLS when its settings say that it speaks it.
func Of(c *cli.CLI, door config.Door) (*Host, error) {
	address := config.Reachable(door.Listen)
	far := &Host{address: door.Listen, base: "http://" + address, client: http.DefaultClient}
	far.key, _ = c.Env(keyVariable)
	if !door.TLS.On() {
		return far, nil
	}
	pool, err := trust.Roots(door.CAFile)
	if err != nil {
		return nil, err
	}
	settings := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	trustOwn(settings, door.TLS.Cert, address)
	far.base = "https://" + address
	far.client = &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: settings, DisableKeepAlives: true,
	}}
	return far, nil
}

// trustOwn trusts the certificate that the host shows, since the settings name its
// file, also under an address of this machine that it is not made out to. Without the
// file the authorities alone decide.
func trustOwn(c *tls.Config, file, address string) {
	shown := firstCertificate(file)
	if shown == nil {
		return
	}
	c.RootCAs.AddCert(shown)
	host, _, _ := net.SplitHostPort(address) // what is not an address is told when it is used
	ip, err := netip.ParseAddr(host)
	local := host == "localhost" || err == nil && ip.IsLoopback()
	if local && shown.VerifyHostname(host) != nil {
		c.ServerName = nameOf(shown)
	}
}

// firstCertificate reads what a host shows of a PEM file; nil when there is none.
func firstCertificate(file string) *x509.Certificate {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			cert, _ := x509.ParseCertificate(block.Bytes) // nil when it cannot be read
			return cert
		}
	}
	return nil
}

// nameOf is a name under which a certificate is good.
func nameOf(cert *x509.Certificate) string {
	switch {
	case len(cert.DNSNames) > 0:
		return strings.Replace(cert.DNSNames[0], "*.", "molar.", 1)
	case len(cert.IPAddresses) > 0:
		return cert.IPAddresses[0].String()
	}
	return ""
}

// request makes a request to the host, with the key of the environment.
func (h *Host) request(ctx context.Context, method, path string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, h.base+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	if h.key != "" {
		req.Header.Set("Authorization", "Bearer "+h.key)
	}
	return req, nil
}

// Ask reads a JSON document from the host.
func (h *Host) Ask(ctx context.Context, path string) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := h.request(ctx, http.MethodGet, path)
	if err != nil {
		return nil, err
	}
	res, err := h.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, errors.New(res.Status)
	}
	const largest = 16 << 20
	return io.ReadAll(io.LimitReader(res.Body, largest))
}
