package serve

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
)

// keyVariable holds the API key with which commands query a running host.
const keyVariable = "MOLAR_API_KEY"

// A Host is a client of a running host.
type Host struct {
	// address is host:port, from the settings or a flag.
	address string
	base    string
	key     string
	client  *http.Client
}

// Find returns the host that listens at the flag's address, else at that of the settings, even
// if these have other faults.
func Find(c *cli.CLI, listen string) (*Host, error) {
	flags := map[string]string{}
	if listen != "" {
		flags["listen"] = listen
	}
	endpoint, err := config.LoadHostAddress(c.Options(flags))
	if err != nil && listen == "" {
		return nil, cli.Usage(err)
	}
	if listen != "" {
		endpoint.Listen = listen
	}
	return clientOf(c, endpoint)
}

// clientOf returns a client for the host at an endpoint, over TLS if the endpoint has a
// certificate.
func clientOf(c *cli.CLI, endpoint config.HostAddress) (*Host, error) {
	address := config.LocalAddress(endpoint.Listen)
	far := &Host{address: endpoint.Listen, base: "http://" + address, client: http.DefaultClient}
	far.key, _ = c.Env(keyVariable)
	if !endpoint.TLS.On() {
		return far, nil
	}
	pool, err := host.Roots(endpoint.CAFile)
	if err != nil {
		return nil, err
	}
	settings := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	trustOwn(settings, endpoint.TLS.Cert, address)
	far.base = "https://" + address
	far.client = &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: settings, DisableKeepAlives: true,
	}}
	return far, nil
}

// trustOwn trusts the host's certificate, since the settings name its file, also under an
// address of this machine that it is not issued for. Without the file only the authorities
// decide.
func trustOwn(c *tls.Config, file, address string) {
	shown := firstCertificate(file)
	if shown == nil {
		return
	}
	c.RootCAs.AddCert(shown)
	host, _, _ := net.SplitHostPort(address) // an invalid address is reported when it is used
	ip, err := netip.ParseAddr(host)
	local := host == "localhost" || err == nil && ip.IsLoopback()
	if local && shown.VerifyHostname(host) != nil {
		c.ServerName = certificateName(shown)
	}
}

// firstCertificate reads the first certificate of a PEM file; nil if there is none.
func firstCertificate(file string) *x509.Certificate {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			cert, _ := x509.ParseCertificate(block.Bytes) // nil if it cannot be parsed
			return cert
		}
	}
	return nil
}

// certificateName returns a name for which a certificate is valid.
func certificateName(cert *x509.Certificate) string {
	switch {
	case len(cert.DNSNames) > 0:
		return strings.Replace(cert.DNSNames[0], "*.", "molar.", 1)
	case len(cert.IPAddresses) > 0:
		return cert.IPAddresses[0].String()
	}
	return ""
}

// A hostAnswer is an HTTP response of the host, read whole.
type hostAnswer struct {
	address, status string
	code            int
	body            []byte
}

// decode decodes the answer, which any molar sends as JSON.
func (a hostAnswer) decode(to any) error {
	if err := json.Unmarshal(a.body, to); err != nil {
		return fmt.Errorf("the program at %s is not molar: it answered %s", a.address, a.status)
	}
	return nil
}

// call sends a request with the key of the environment, and a JSON body if body is not nil.
func (h *Host) call(ctx context.Context, method, path string, body any, atMost time.Duration) (hostAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	var sent io.Reader = http.NoBody
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return hostAnswer{}, err
		}
		sent = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, h.base+path, sent)
	if err != nil {
		return hostAnswer{}, cli.Usage(fmt.Errorf("--listen: want host:port such as 127.0.0.1:8000: %w", err))
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if h.key != "" {
		req.Header.Set("Authorization", "Bearer "+h.key)
	}
	res, err := h.client.Do(req)
	if err != nil {
		return hostAnswer{}, fmt.Errorf("no host answers at %s: %w; start one with molar serve, or name its address with --listen", h.address, err)
	}
	defer res.Body.Close()
	const largest = 16 << 20
	data, err := io.ReadAll(io.LimitReader(res.Body, largest))
	if err != nil {
		return hostAnswer{}, fmt.Errorf("read the answer of the host at %s: %w", h.address, err)
	}
	return hostAnswer{h.address, res.Status, res.StatusCode, data}, nil
}

// ErrRefused means that a host runs there, and requires another key.
var ErrRefused = errors.New("it requires an API key")

// ask reads a JSON document from the host.
func (h *Host) ask(ctx context.Context, path string) (json.RawMessage, error) {
	res, err := h.call(ctx, http.MethodGet, path, nil, queryTimeout)
	switch {
	case err != nil || res.code == http.StatusOK:
	case res.wantsKey():
		err = fmt.Errorf("a molar runs at %s, and %w: put one into %s (molar keys create NAME makes one)", h.address, ErrRefused, keyVariable)
	default:
		err = errors.New(res.status)
	}
	return res.body, err
}

// wantsKey reports whether a molar, and not another program, refused the key or its absence.
func (a hostAnswer) wantsKey() bool {
	var refusal struct{ Error struct{ Code string } }
	known := []string{"invalid_api_key", "identity_missing", "insufficient_scope"}
	return (a.code == http.StatusUnauthorized || a.code == http.StatusForbidden) &&
		json.Unmarshal(a.body, &refusal) == nil && slices.Contains(known, refusal.Error.Code)
}
