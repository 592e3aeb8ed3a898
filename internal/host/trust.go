package host

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"molar/internal/cli"
)

// Client returns the client for services whose certificates the operator's own authority
// signed. Without a file it is nil: every adapter uses its default client.
func Client(file string) (*http.Client, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // nil asks for the default
	}
	pool, err := Roots(file)
	if err != nil {
		return nil, err
	}
	return &http.Client{
		Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSClientConfig:     &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
			MaxIdleConns:        4096,
			MaxIdleConnsPerHost: 1024,
			IdleConnTimeout:     90 * time.Second,
			TLSHandshakeTimeout: 10 * time.Second,
			ForceAttemptHTTP2:   true,
		},
		// Prompts and keys stay at the address that the operator named.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// Roots returns the authorities of the system, and those of a file, if there is one.
func Roots(file string) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("read the certificates of the system: %w", err)
	}
	if file == "" {
		return pool, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, cli.Usage(fmt.Errorf("ca_file: %w", err))
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, cli.Usage(fmt.Errorf("ca_file %s: there is no certificate in it; want PEM", file))
	}
	return pool, nil
}
