package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/setup"
	"molar/internal/terminal"
)

// hostWait is how long the welcome waits for a host that may run.
const hostWait = 500 * time.Millisecond

// A step is a command that a person can type, and what it does.
type step struct{ command, does string }

// welcome tells a person who typed the program's name alone what state things are in, and what to
// type next.
func (a *app) welcome(ctx context.Context) error {
	serves := step{"molar serve", "the chat page and the OpenAI endpoint"}
	asks := step{`molar chat "a question"`, "an answer here; molar chat alone talks"}
	steps := []step{serves, asks, {"molar servers add", "one more MCP server"}, {"molar doctor", "when something is wrong: the fault and its remedy"}}
	name, _ := config.FindFile(a.ConfigFile, a.Env)
	cfg, err := a.Load(nil)
	_, errFile := os.Stat(name)
	switch {
	case errFile != nil:
		a.Say("There is no config file yet; its place is %s.", name)
		steps = append([]step{{"molar init", "a model, your MCP servers, a subject, and a first answer"}}, serves, asks,
			step{"molar example", "an MCP server to try it with"})
	case err != nil:
		a.Say("Settings: %s", name)
		a.Say("%s", terminal.Clean("They are not valid: "+err.Error()))
		steps = []step{{"molar config check", "again, once that is corrected"}, {"molar doctor", "the fault and its remedy"}}
	default:
		a.Say("Settings: %s", name)
		a.Say("%s", terminal.Clean(stateOf(cfg)))
		if len(cfg.MCPServers) == 0 {
			steps[1], steps[2] = steps[2], steps[1]
		}
		steps = append(steps, step{"molar config check", "whether they are valid, and the effective settings"})
	}
	if note := setup.UnreadFile(a.CLI); note != "" {
		a.Say("%s", terminal.Clean(cli.Typed(note)))
	}
	if err == nil {
		wait, cancel := context.WithTimeout(ctx, hostWait)
		defer cancel()
		if a.isServed(wait, "") {
			a.Say("A host runs: its chat page is %s", cfg.Address(cfg.Listen))
			if steps[0] == serves {
				steps = steps[1:]
			}
		} else {
			a.Say("No host runs at %s.", cfg.Address(cfg.Listen))
		}
	}
	a.saySteps(steps)
	return nil
}

// stateOf describes valid settings in a line.
func stateOf(cfg *config.Config) string {
	servers := "no MCP server yet"
	if len(cfg.MCPServers) > 0 {
		servers = "MCP servers: " + strings.Join(cfg.MCPServers.Names(), ", ")
	}
	return fmt.Sprintf("model: %s; %s; assistant: %s", strings.Join(cfg.LLM.Provider, ", then "), servers, cfg.Default)
}

// saySteps prints the first step as the next one, and the others below, with --config if it was given.
func (a *app) saySteps(steps []step) {
	width := 0
	for i := range steps {
		if a.ConfigFile != "" && steps[i].command != "molar example" {
			steps[i].command += " --config " + terminal.Shell(a.ConfigFile)
		}
		steps[i].command = cli.Typed(steps[i].command)
		width = max(width, len(steps[i].command))
	}
	a.Say("")
	for i, s := range steps {
		mark := "     "
		if i == 0 {
			mark = "next:"
		}
		a.Say("%s %-*s  %s", mark, width, s.command, cli.Typed(s.does))
	}
	a.Say("\nAll commands: %s", cli.Typed("molar --help"))
}
