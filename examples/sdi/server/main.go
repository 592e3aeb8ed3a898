// Command server is an MCP server for a GeoNetwork catalogue of spatial data, by default
// that of the European Environment Agency. It searches records and shows one, over
// streamable HTTP (/mcp), over HTTP with server-sent events (/sse) and as plain JSON-RPC
// (/message). It only reads, and does not depend on the host.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Defaults of the flags.
const (
	defaultListen    = "127.0.0.1:3001"
	defaultCatalogue = "https://sdi.eea.europa.eu/catalogue"
	defaultTimeout   = 15 * time.Second
)

// catalogueVariable names the environment variable that sets the catalogue.
const catalogueVariable = "SDI_CATALOGUE_URL"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Getenv, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "sdi server:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, args []string, env func(string) string, out io.Writer) error {
	flags := flag.NewFlagSet("server", flag.ContinueOnError)
	flags.SetOutput(out)
	listen := flags.String("listen", defaultListen, "`address` to listen on")
	base := flags.String("catalogue", or(env(catalogueVariable), defaultCatalogue), "`URL` of the GeoNetwork catalogue, above /srv")
	timeout := flags.Duration("timeout", defaultTimeout, "how long one request to the catalogue may take")
	if err := flags.Parse(args); err != nil {
		return err
	}
	c, err := newCatalogue(*base, *timeout, &http.Client{})
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w; choose another with --listen", *listen, err)
	}
	fmt.Fprintf(out, "sdi server: http://%s/mcp for %s\n", l.Addr(), c.base)
	return serve(ctx, l, newHandler(c))
}

// serve answers on l until ctx ends, then gives open requests a moment.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	const grace = 2 * time.Second
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx }, // ends the event streams
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := srv.Shutdown(closing)
	if errors.Is(err, context.DeadlineExceeded) {
		err = srv.Close()
	}
	if ended := <-failed; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

func or(value, fallback string) string {
	if value != "" {
		return value
	}
	return fallback
}
