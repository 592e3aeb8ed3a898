// Command stubmcp serves the stub MCP server: over stdio, or over streamable HTTP
// at /mcp with -listen.
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

	"molar/internal/testkit/stubmcp"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run serves until its input or ctx ends. It returns 0, 1 for a fault, 2 for wrong
// flags.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var cfg stubmcp.Config
	flags := flag.NewFlagSet("stubmcp", flag.ContinueOnError)
	flags.SetOutput(stderr)
	listen := flags.String("listen", "", "address for HTTP; empty: stdio")
	flags.DurationVar(&cfg.Delay, "delay", 0, "how long a call takes")
	flags.IntVar(&cfg.Tools, "tools", 7, "tools listed")
	flags.Uint64Var(&cfg.Seed, "seed", 0, "tools as long as real ones, others for each seed; 0: tools that differ by a number")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	server := stubmcp.New(cfg)
	serve := func() error { return server.ServeStdio(ctx, stdin, stdout) }
	if *listen != "" {
		serve = func() error { return serveHTTP(ctx, server, *listen, stdout) }
	}
	if err := serve(); err != nil {
		_, _ = fmt.Fprintln(stderr, "stubmcp:", err)
		return 1
	}
	return 0
}

func serveHTTP(ctx context.Context, handler http.Handler, address string, stdout io.Writer) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = srv.Close() })
	defer stop()
	_, _ = fmt.Fprintf(stdout, "listening on http://%s/mcp\n", l.Addr())
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
