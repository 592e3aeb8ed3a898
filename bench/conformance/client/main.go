//go:build linux

// Command client is what the MCP conformance suite runs as the client under test: it sits before
// the program molar as a person does, with default settings and an empty home folder. The address
// of the server is the last argument. The suite names the scenario in MCP_CONFORMANCE_SCENARIO, and
// gives what else the scenario needs as JSON in MCP_CONFORMANCE_CONTEXT.
//
// It owns what a person does in a scenario: writes the config, logs in when molar says so, lists the
// tools and calls them, and answers what is asked at the terminal. It must not repair what molar
// does.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"time"
)

// The names under which the suite passes on what it wants.
const (
	scenarioVar = "MCP_CONFORMANCE_SCENARIO"
	contextVar  = "MCP_CONFORMANCE_CONTEXT"
)

// timeLimit is below the 30 s after which the suite ends this program.
const timeLimit = 28 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Getenv, os.Stderr)
	stop()
	os.Exit(code)
}

// run returns the exit code: 0 when the scenario went as a person would expect, 1 when not, 2 for a
// wrong call of the program.
func run(ctx context.Context, args []string, getenv func(string) string, stderr io.Writer) int {
	flags := flag.NewFlagSet("client", flag.ContinueOnError)
	flags.SetOutput(stderr)
	program := flags.String("molar", "molar", "`path` of the program under test")
	if flags.Parse(args) != nil || flags.NArg() != 1 {
		_, _ = io.WriteString(stderr, "usage: client [-molar PATH] URL\n")
		return 2
	}
	log := slog.New(slog.NewTextHandler(stderr, nil))
	s := scenario{name: getenv(scenarioVar)}
	if raw := getenv(contextVar); raw != "" {
		if err := json.Unmarshal([]byte(raw), &s); err != nil {
			log.Error("the context is not JSON", "variable", contextVar, "error", err)
			return 2
		}
	}
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	home, err := os.MkdirTemp("", "conformance")
	if err != nil {
		log.Error("there is no home folder", "error", err)
		return 2
	}
	defer os.RemoveAll(home)
	m := molar{program: *program, home: home, path: getenv("PATH"), log: log}
	if err := m.configure(s.settings(flags.Arg(0))); err != nil {
		log.Error("the config cannot be written", "error", err)
		return 2
	}
	if err := s.play(ctx, &m); err != nil {
		log.Error("the scenario went wrong", "scenario", s.name, "error", err)
		return 1
	}
	return 0
}
