package main

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

	"molar/internal/config"
)

// keyVariable holds the API key with which commands ask a running host.
const keyVariable = "MOLAR_API_KEY"

// A farHost is a running host, as a command that asks it reaches it.
type farHost struct {
	// address is host:port, as the settings or a flag name it.
	address string
	base    string
	client  *http.Client
}

// findHost returns the host that listens where the flag says, else where the settings
// do, whatever else may be wrong with them.
func (a *app) findHost(listen string) (*farHost, error) {
	flags := map[string]string{}
	if listen != "" {
		flags["listen"] = listen
	}
	door, err := config.FindDoor(a.options(flags))
	if err != nil && listen == "" {
		return nil, &exitError{exitUsage, err}
	}
	if listen != "" {
		door.Listen = listen
	}
	return a.reach(door)
}

// reach makes the client for a host: over TLS when its settings say that it speaks it.
func (a *app) reach(door config.Door) (*farHost, error) {
	address := reachable(door.Listen)
	far := &farHost{address: door.Listen, base: "http://" + address, client: http.DefaultClient}
	if !door.TLS.On() {
		return far, nil
	}
	pool, err := trustedRoots(door.CAFile)
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
	host, _, _ := net.SplitHostPort(address) // what is no address is told when it is used
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

// hostRequest is a request to a running host, with the key of the environment.
func (a *app) hostRequest(ctx context.Context, method string, far *farHost, path string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, far.base+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	if key, _ := a.env(keyVariable); key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	return req, nil
}

// askHost reads a JSON document from a running host.
func (a *app) askHost(ctx context.Context, far *farHost, path string) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := a.hostRequest(ctx, http.MethodGet, far, path)
	if err != nil {
		return nil, err
	}
	res, err := far.client.Do(req)
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
