// Command client is what the MCP conformance suite runs as the client under test:
// the host's real manager, attached to the server whose address is the last
// argument. The suite names the scenario in MCP_CONFORMANCE_SCENARIO, the protocol
// revision in MCP_CONFORMANCE_PROTOCOL_VERSION, and gives what else the scenario
// needs as JSON in MCP_CONFORMANCE_CONTEXT.
//
// It owns what a user of the host would do in a scenario: attach, call the tools.
// It must not repair what the manager does.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"time"

	"molar/mcpclients"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// The names under which the suite passes on what it wants.
const (
	scenarioVar = "MCP_CONFORMANCE_SCENARIO"
	contextVar  = "MCP_CONFORMANCE_CONTEXT"
	protocolVar = "MCP_CONFORMANCE_PROTOCOL_VERSION"
)

// serverName is the name of the only server in the manager.
const serverName = "suite"

// wantsLogin stands in the reason of a server that wants a login.
const wantsLogin = "run molar servers login"

// timeLimit is below the 30 s after which the suite ends this program.
const timeLimit = 25 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Getenv, os.Stderr)
	stop()
	os.Exit(code)
}

// run returns the exit code: 0 when the scenario went as a user would expect, 1
// when not, 2 for a wrong call of the program.
func run(ctx context.Context, args []string, getenv func(string) string, stderr io.Writer) int {
	if len(args) != 1 {
		_, _ = fmt.Fprintln(stderr, "usage: client URL")
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
	s.person.server = transport.ServerConfig{Name: serverName, URL: args[0], Protocol: getenv(protocolVar)}
	s.person.server.OAuth = s.settings()
	m, err := mcpclients.New(mcpclients.Config{
		Logger:  log,
		Elicit:  agree,
		Servers: []transport.ServerConfig{s.person.server},
		Logins:  &s.person.kept,
	})
	if err != nil {
		log.Error("the manager refused its config", "error", err)
		return 2
	}
	s.manager = m
	if err := errors.Join(attach(ctx, m, &s.person), s.play(ctx), m.Close()); err != nil {
		log.Error("the scenario went wrong", "scenario", s.name, "error", err)
		return 1
	}
	return 0
}

// agree sends a form back as it came: the manager fills in the defaults.
func agree(context.Context, schemas.Question) (schemas.Answer, error) {
	return schemas.Answer{Action: schemas.ActionAccept}, nil
}

// attach starts the manager and waits until its server is ready. A person logs in when
// the server wants it.
func attach(ctx context.Context, m *mcpclients.Manager, p *person) error {
	m.Start(ctx)
	if err := m.Wait(ctx, nil); err != nil {
		return err
	}
	const logins = 3 // one, and two for what it lacks
	for range logins {
		if !strings.Contains(m.Status()[0].Reason, wantsLogin) {
			break
		}
		if err := p.logIn(ctx); err != nil {
			return fmt.Errorf("log in: %w", err)
		}
		// What "molar servers reload" does; the host finds the login by itself, later.
		if _, err := m.Apply(ctx, []transport.ServerConfig{p.server}); err != nil {
			return err
		}
		if err := m.Wait(ctx, nil); err != nil {
			return err
		}
	}
	if st := m.Status()[0]; st.State != schemas.StateReady {
		return fmt.Errorf("the server is %s: %s", st.State, st.Reason)
	}
	return nil
}
