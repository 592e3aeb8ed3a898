// Command fakemodel serves a scripted model on a fixed address, for load runs and for manual
// tests of a host.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"molar/internal/testkit/models"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run serves until ctx ends. It returns 0, 1 for an error, or 2 for invalid flags.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	cfg, listen, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "fakemodel:", err)
		return 2
	}
	server := models.New(cfg)
	url, err := server.Start(ctx, listen)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "fakemodel:", err)
		return 1
	}
	_, _ = fmt.Fprintln(stdout, "listening on", url)
	<-ctx.Done()
	if err := server.Close(); err != nil {
		_, _ = fmt.Fprintln(stderr, "fakemodel:", err)
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (cfg models.Config, listen string, err error) {
	flags := flag.NewFlagSet("fakemodel", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&listen, "listen", "127.0.0.1:11434", "address")
	flags.DurationVar(&cfg.FirstToken, "first", 0, "wait before the first output of an answer")
	flags.DurationVar(&cfg.Interval, "interval", 0, "wait between two tokens")
	flags.IntVar(&cfg.Tokens, "tokens", 20, "tokens of a text answer")
	flags.IntVar(&cfg.LineEvery, "line", 0, "a line end after every so many tokens; 0: none")
	flags.StringVar(&cfg.Tool, "tool", "", "tool to call; empty: the first one offered")
	toolArgs := flags.String("args", "{}", "its arguments, a JSON object")
	models := flags.String("models", "", "models served, separated by commas")
	flags.IntVar(&cfg.Parallel, "parallel", 0, "answers at once; 0: no limit")
	flags.IntVar(&cfg.Keep, "keep", 100, "requests remembered, for GET /_fake/requests")
	if err := flags.Parse(args); err != nil {
		return cfg, "", err
	}
	var object map[string]any
	if err := json.Unmarshal([]byte(*toolArgs), &object); err != nil {
		return cfg, "", fmt.Errorf("-args must be a JSON object: %w", err)
	}
	cfg.Args = json.RawMessage(*toolArgs)
	if *models != "" {
		cfg.Models = strings.Split(*models, ",")
	}
	return cfg, listen, nil
}
