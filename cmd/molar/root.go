package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"molar/internal/terminal"
)

// The exit codes of every command. Some commands have further ones of their own.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// An exitError ends the program with a code of its own. A nil err prints nothing.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// commands returns the constructors of the subcommands, in the order of the help.
func commands() []func(*app) *cobra.Command {
	return []func(*app) *cobra.Command{
		newServeCmd,
		newMCPCmd,
		newChatCmd,
		newToolsCmd,
		newServersCmd,
		newGuardrailCmd,
		newTurnsCmd,
		newEvalCmd,
		newConversationsCmd,
		newBackupCmd,
		newKeysCmd,
		newConfigCmd,
		newVersionCmd,
	}
}

// run is the program: it reads args, does what they say and returns the exit code.
func run(ctx context.Context, args []string, env func(string) (string, bool), stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{env: env, stdin: stdin, stdout: stdout, stderr: stderr}
	root := newRootCmd(a)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !a.started {
		err = &exitError{exitUsage, fmt.Errorf("%w; see: %s --help", err, cmd.CommandPath())}
	}
	return a.report(ctx, err)
}

// newRootCmd builds the command tree. No subcommand may set a PersistentPreRun of
// its own: the one here tells a usage error from a failure.
func newRootCmd(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:              "molar",
		Short:            "A host for assistants that keep to a subject and act through tools",
		Version:          versionLine(),
		Args:             onlyCommands,
		SilenceUsage:     true,
		SilenceErrors:    true,
		PersistentPreRun: func(*cobra.Command, []string) { a.started = true },
		RunE:             showHelp,
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetVersionTemplate("{{.Version}}\n")
	flags := root.PersistentFlags()
	flags.StringVar(&a.configFile, "config", "", "config `file` (default molar.yaml in the user's config folder)")
	flags.StringVar(&a.envFile, "env-file", "", "`file` of KEY=VALUE lines, below the environment")
	flags.StringVar(&a.logLevel, "log-level", "", "debug, info, warn or error")
	flags.StringVar(&a.logFormat, "log-format", "", "text or json")
	for _, construct := range commands() {
		root.AddCommand(construct(a))
	}
	return root
}

// showHelp is what a command does that only groups others.
func showHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// report prints err as sentences on standard error and returns the exit code.
func (a *app) report(ctx context.Context, err error) int {
	if err == nil {
		return exitOK
	}
	code := exitFailure
	exit, ok := errors.AsType[*exitError](err)
	switch {
	case ok:
		code = exit.code
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		code, err = exitInterrupted, errors.New("interrupted")
	}
	if !ok || exit.err != nil {
		for line := range strings.Lines(err.Error()) {
			_, _ = fmt.Fprintf(a.stderr, "molar: %s\n", terminal.Clean(strings.TrimSuffix(line, "\n")))
		}
	}
	return code
}

// onlyCommands refuses arguments of a command that only groups others, and names
// the command that was probably meant.
func onlyCommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	hint := ""
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf(", did you mean %q?", near[0])
	}
	return fmt.Errorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), hint)
}
