package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"molar/internal/cli"
	"molar/internal/terminal"
)

// commands returns the constructors of the subcommands, in the order of the help.
func commands() []func(*app) *cobra.Command {
	return []func(*app) *cobra.Command{
		newInitCmd,
		newDoctorCmd,
		newServeCmd,
		newMCPCmd,
		newChatCmd,
		newExampleCmd,
		newToolsCmd,
		newServersCmd,
		newKnowledgeCmd,
		newTopicCmd,
		newGuardrailCmd,
		newTurnsCmd,
		newEvalCmd,
		newConversationsCmd,
		newPeopleCmd,
		newAuditCmd,
		newUsageCmd,
		newBackupCmd,
		newMigrateCmd,
		newKeysCmd,
		newConfigCmd,
		newVersionCmd,
		newManCmd,
	}
}

// An app is the command line that every command works with. started is true once the
// arguments have been parsed. args are those arguments.
type app struct {
	*cli.CLI
	args    []string
	started bool
}

// execute runs the command that args name, and returns the exit code.
func execute(ctx context.Context, args []string, env func(string) (string, bool), stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{args: args, CLI: &cli.CLI{Env: env, Stdin: stdin, Stdout: stdout, Stderr: stderr}}
	root := newRootCmd(a)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !a.started {
		err = cli.Usage(fmt.Errorf("%w; see: %s --help", err, cmd.CommandPath()))
	}
	return a.report(ctx, err)
}

// newRootCmd builds the command tree. No subcommand may set a PersistentPreRun, because it
// would replace the one here, which distinguishes a usage error from a failure.
func newRootCmd(a *app) *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:              "molar",
		Short:            "A host for assistants that keep to a subject and act through tools",
		Args:             onlyCommands,
		SilenceUsage:     true,
		SilenceErrors:    true,
		PersistentPreRun: func(*cobra.Command, []string) { a.started = true },
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return a.version()
			}
			return a.welcome(cmd.Context())
		},
	}
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	// The flag that cobra adds prints through a template, which internal/imports confines.
	root.Flags().BoolVarP(&version, "version", "v", false, "version for molar")
	flags := root.PersistentFlags()
	flags.StringVar(&a.ConfigFile, "config", "", "config `file` (default molar.yaml in the user's config folder)")
	flags.StringVar(&a.EnvFile, "env-file", "", "`file` of KEY=VALUE lines, below the environment")
	flags.StringVar(&a.LogLevel, "log-level", "", "debug, info, warn or error")
	flags.StringVar(&a.LogFormat, "log-format", "", "text or json")
	for _, construct := range commands() {
		root.AddCommand(construct(a))
	}
	return root
}

// showHelp runs a command that only groups others.
func showHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// report prints err as sentences on standard error and returns the exit code.
func (a *app) report(ctx context.Context, err error) int {
	if err == nil {
		return cli.OK
	}
	code := cli.Failure
	fault, ok := errors.AsType[*cli.Error](err)
	switch {
	case ok:
		code = fault.Code
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		code, err = cli.Interrupted, errors.New("interrupted")
	}
	if !ok || fault.Err != nil {
		for line := range strings.Lines(err.Error()) {
			_, _ = fmt.Fprintf(a.Stderr, "molar: %s\n", terminal.Clean(cli.Typed(strings.TrimSuffix(line, "\n"))))
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
