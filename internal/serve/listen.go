package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"molar/internal/config"
)

// Limits of the ports. None of them cuts a running answer.
const (
	readHeaderTimeout = 5 * time.Second
	maxHeader         = 64 << 10
	// idleConn is how long a connection may wait for its next request.
	idleConn = 2 * time.Minute
	// addressRate is how many requests a second one address may make when keys are on,
	// addressBurst how many at once: a page with all its files, several times over.
	addressRate, addressBurst = 50, 200
)

// newServer returns the server of a port; requests end with ctx.
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

// serveOn serves until the server is shut down, over TLS if configured.
func serveOn(server *http.Server, listener net.Listener) error {
	if server.TLSConfig != nil {
		return server.ServeTLS(listener, "", "")
	}
	return server.Serve(listener)
}

// warnPlain warns of what others on the network can read.
func warnPlain(cfg *config.Config, listen string, log *slog.Logger) {
	if !config.Loopback(listen) && !cfg.TLS.On() {
		log.Warn("listening off loopback without TLS: keys and conversations can be read on the way; set tls.cert and tls.key, "+
			"or put a proxy with TLS in front and listen on loopback", "listen", listen)
	}
}

// explainPort returns the error of a port that cannot be opened, with its reason.
func explainPort(address string, err error) error {
	if errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("listen on %s: %w; choose a port above 1023 with --listen", address, err)
	}
	return fmt.Errorf("listen on %s: %w; end the program that holds the port, or choose another, such as: molar serve --listen 127.0.0.1:8010", address, err)
}

// drain lets open answers end, and cancels those that take too long.
func drain(log *slog.Logger, atMost time.Duration, server *http.Server, cancelCalls context.CancelFunc) error {
	log.Info("shutting down: waiting for open answers", "at_most", atMost)
	ctx, cancel := context.WithTimeout(context.Background(), atMost)
	defer cancel()
	return closePort(ctx, server, cancelCalls)
}

// closePort lets open requests end while ctx lasts, and cancels the rest.
func closePort(ctx context.Context, server *http.Server, cancelTurns context.CancelFunc) error {
	err := server.Shutdown(ctx)
	cancelTurns()
	if errors.Is(err, context.DeadlineExceeded) {
		last, done := context.WithTimeout(context.Background(), time.Second)
		defer done()
		if err = server.Shutdown(last); err != nil {
			_ = server.Close()
		}
		return nil
	}
	return err
}

// listen opens a port.
func listen(ctx context.Context, address string) (net.Listener, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, explainPort(address, err)
	}
	return listener, nil
}
