// Command floor serves the hand-made turn over HTTP.
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

	"molar/bench/floor"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	var cfg floor.Config
	flags := flag.NewFlagSet("floor", flag.ContinueOnError)
	listen := flags.String("listen", "127.0.0.1:8010", "address")
	flags.StringVar(&cfg.ModelURL, "model-url", "http://127.0.0.1:11434", "Ollama-wire server")
	flags.StringVar(&cfg.Model, "model", "qwen2.5:7b-instruct", "model")
	flags.StringVar(&cfg.MCPURL, "mcp", "http://127.0.0.1:8011/mcp", "streamable HTTP endpoint of the tool server")
	if err := flags.Parse(args); err != nil {
		return err
	}
	handler, err := floor.Handler(ctx, cfg)
	if err != nil {
		return err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", *listen)
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = srv.Close() })()
	_, _ = fmt.Fprintf(stdout, "listening on http://%s\n", l.Addr())
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
