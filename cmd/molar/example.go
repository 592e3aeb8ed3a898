package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"molar/examples/family"
	"molar/internal/cli"
)

// An example is an MCP server within the program.
type example struct {
	name, about string
	// question is one for its tools.
	question string
	// serve serves MCP on the streams until their end.
	serve func(ctx context.Context, in io.Reader, out io.Writer) error
}

func examples() []example {
	return []example{{
		"family", "finds families and their members in a small data set",
		"Show me the family with id 1a955fff-ce01-422f-8bb3-02ab14e8ec47", family.Serve,
	}}
}

func newExampleCmd(a *app) *cobra.Command {
	names := make([]string, len(examples()))
	for i, e := range examples() {
		names[i] = e.name
	}
	return &cobra.Command{
		Use:   "example [NAME]",
		Short: "Run an example MCP server, to try a host with; without NAME, list them",
		Long: `Run an example MCP server, to try a host with; without NAME, list them.

The server is in this program, reads nothing else and reaches nobody. It speaks MCP on its
standard input and output, as a host expects it of a command.`,
		Example: `  molar chat --mcp family="molar example family" "Show me the family with id 1a955fff-ce01-422f-8bb3-02ab14e8ec47"
  molar servers add family -- molar example family`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: first(fixed(names...)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				a.listExamples()
				return nil
			}
			for _, e := range examples() {
				if e.name == args[0] {
					return a.runExample(cmd.Context(), e)
				}
			}
			return cli.Usage(fmt.Errorf("no example is called %q; there is: %s", args[0], strings.Join(names, ", ")))
		},
	}
}

func (a *app) listExamples() {
	for _, e := range examples() {
		a.Say("%s: %s\n  %s chat --mcp %s=\"molar example %[4]s\" %q", e.name, e.about, cli.Program(), e.name, e.question)
	}
}

// runExample serves MCP on the standard streams. A person who started it by hand is told what it
// waits for.
func (a *app) runExample(ctx context.Context, e example) error {
	if cli.IsTerminal(a.Stdin) {
		a.Note("%s is an MCP server on its standard input and output: it waits for a host, such as\n  %s chat --mcp %s=\"molar example %[3]s\" %q\nCtrl-C ends it", e.name, cli.Program(), e.name, e.question)
	}
	err := e.serve(ctx, a.Stdin, a.Stdout)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}
