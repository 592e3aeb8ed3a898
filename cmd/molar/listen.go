package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"molar/internal/config"
	"molar/internal/httpguard"
	"molar/web"
)

// Bounds of the ports. None of them cuts an answer that is on its way.
const (
	readHeaderTimeout = 5 * time.Second
	maxHeader         = 64 << 10
	// idleConn is how long a connection may wait for its next request.
	idleConn = 2 * time.Minute
	// addressRate is how many requests a second one address may make when keys are on,
	// addressBurst how many at once: a page with all its files, several times over.
	addressRate, addressBurst = 50, 200
)

// newServer is the server of a port; requests end with ctx.
func newServer(ctx context.Context, handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleConn,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// serveOn serves until the server is shut down, over TLS when it is set up.
func serveOn(server *http.Server, listener net.Listener) error {
	if server.TLSConfig != nil {
		return server.ServeTLS(listener, "", "")
	}
	return server.Serve(listener)
}

// schemeOf is the scheme of the ports' addresses.
func schemeOf(cfg *config.Config) string {
	if cfg.TLS.On() {
		return "https"
	}
	return "http"
}

// webAccess says who may use the host's port.
func (h *host) webAccess() (web.Access, error) {
	clients, err := httpguard.NewAddresses(h.cfg.TrustedProxies)
	if err != nil {
		return web.Access{}, err
	}
	perAddress, err := httpguard.NewLimiter(addressRate, addressBurst, nil)
	if err != nil {
		return web.Access{}, err
	}
	acc := web.Access{Keys: h.access.ring, SignIn: h.access.signIn, Clients: clients, PerAddress: perAddress}
	if n := h.cfg.Limits.TurnsPerMinute; n > 0 {
		const minute = 60.0
		acc.Turns, err = httpguard.NewLimiter(float64(n)/minute, n, nil)
	}
	return acc, err
}

// sayLink prints a link that signs a browser in, while keys are on.
func (a *app) sayLink(h *host, addr net.Addr) {
	if h.access.ring.On() {
		a.say("open %s://%s/?token=%s (works once, for ten minutes)", schemeOf(h.cfg), reachable(addr.String()), h.access.newLink())
	}
}

// trustingClient is the client for services whose certificates an authority of the
// operator's own signed. Without a file it is nil: every adapter has a client of its own.
func trustingClient(file string) (*http.Client, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // nil asks for the default
	}
	pool, err := trustedRoots(file)
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

// trustedRoots are the authorities of the system, and those of a file, if there is one.
func trustedRoots(file string) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("read the certificates of the system: %w", err)
	}
	if file == "" {
		return pool, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, &exitError{exitUsage, fmt.Errorf("ca_file: %w", err)}
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, &exitError{exitUsage, fmt.Errorf("ca_file %s: there is no certificate in it; want PEM", file)}
	}
	return pool, nil
}
