package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
	"molar/internal/setup"
	"molar/internal/terminal"
	"molar/internal/text"
)

func newConfigCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Write, check, describe or import the config file",
		Args:  onlyCommands,
		RunE:  showHelp,
	}
	cmd.AddCommand(newConfigInitCmd(a), newConfigCheckCmd(a), newConfigSchemaCmd(a), newConfigImportCmd(a))
	return cmd
}

func newConfigInitCmd(a *app) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a commented molar.yaml that holds the defaults",
		Long: "Write a commented molar.yaml that holds the defaults.\n\n" +
			"Without FILE it is written where molar looks for it by default: the file of --config or\n" +
			"MOLAR_CONFIG, else molar.yaml in the user's config folder.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			name, err := a.configName(args)
			if err != nil {
				return err
			}
			if err := writeConfig(name, config.Example(), force); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "wrote %s; after a change, check it with: molar config check %s\n", name, name)
			return err
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "overwrite the file when it exists")
	return cmd
}

func newConfigCheckCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "check [FILE]",
		Short: "Print the effective settings, or everything that is wrong with them",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				a.ConfigFile = args[0]
			}
			cfg, err := a.Load(nil)
			if err != nil {
				return err
			}
			if err := host.CheckModels(cmd.Context(), cfg); err != nil {
				return cli.Usage(err)
			}
			opened, wrong := host.OpenTopics(cfg)
			for _, u := range opened.Unconfirmed() {
				_, _ = fmt.Fprintln(a.Stdout, terminal.Clean(u.Texts))
			}
			if wrong != nil {
				return cli.Usage(wrong)
			}
			return a.summarise(cfg, opened.Describe(a.Env)...)
		},
	}
}

func newConfigSchemaCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of molar.yaml, for editors",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			schema, err := config.Schema()
			if err != nil {
				return err
			}
			_, err = a.Stdout.Write(schema)
			return err
		},
	}
}

// configName returns the file that a command works on: the argument, else the file that
// molar would read.
func (a *app) configName(args []string) (string, error) {
	if len(args) == 1 {
		return args[0], nil
	}
	name, _ := config.FindFile(a.ConfigFile, a.Env)
	if name == "" {
		return "", cli.Usage(errors.New("no home folder is known; name the file: molar config init FILE"))
	}
	return name, nil
}

// writeConfig writes a config file, readable by its owner alone since people put
// secrets into such files. Without force it never overwrites.
func writeConfig(name string, text []byte, force bool) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return fmt.Errorf("make the folder of %s: %w", name, err)
	}
	mode := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if !force {
		mode |= os.O_EXCL
	}
	f, err := os.OpenFile(name, mode, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already; name another file, or overwrite it with --force", name)
	}
	if err != nil {
		return fmt.Errorf("write the config file: %w", err)
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// summarise prints the effective settings, and lines about their topics.
func (a *app) summarise(cfg *config.Config, topics ...string) error {
	text := terminal.Clean(strings.Join(append(setup.Summary(cfg), topics...), "\n"))
	_, err := fmt.Fprintln(a.Stdout, terminal.Fit(a.Stdout, text))
	return err
}

func newConfigImportCmd(a *app) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Write the MCP servers of another host's file as mcpServers of molar.yaml",
		Long: `Write the MCP servers of another host's file as mcpServers of molar.yaml.

It reads the files of Claude Desktop, Claude Code (with the servers of its projects),
VS Code, Cursor, Gemini CLI, Codex, goose, opencode and Zed. What cannot be carried over
becomes a comment, and a value that looks secret becomes a variable. With --output, its
value goes into a second file that only you can read: servers.env for servers.yaml.`,
		Example: `  molar config import ~/.cursor/mcp.json
  molar config import ~/.codex/config.toml
  molar config import .vscode/mcp.json --output servers.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := os.ReadFile(args[0])
			if err != nil {
				return cli.Usage(fmt.Errorf("read the other host's file: %w", err))
			}
			// The folder may show which host the file belongs to when its name does not.
			name := args[0]
			if path, err := filepath.Abs(name); err == nil {
				name = path
			}
			file, err := config.ReadHostFile(name, data)
			if err != nil {
				return err
			}
			if err := a.writeImport(file, output); err != nil {
				return err
			}
			a.tellImport(file, output != "")
			return nil
		},
	}
	cmd.Flags().StringVar(&output, "output", "", "`file` to write instead of standard output; it must not exist")
	return cmd
}

// writeImport writes a new file, readable by its owner alone like every config.
func (a *app) writeImport(file *config.HostFile, output string) error {
	if output == "" {
		_, err := a.Stdout.Write(file.YAML)
		return err
	}
	f, err := os.OpenFile(output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already; name another file, and copy its servers into molar.yaml", output)
	}
	if err != nil {
		return fmt.Errorf("write the servers: %w", err)
	}
	_, err = f.Write(file.YAML)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", output, err)
	}
	a.Say("wrote %s; check it with: molar config check %[1]s", output)
	keep, err := setup.OpenSecretsFile(config.VariablesFile(output), a.Env)
	if err != nil {
		return err
	}
	return a.keepVariables(keep, file.Variables)
}

// tellImport writes on standard error what the person has to do. kept reports that the known
// values of variables are stored in a file already.
func (a *app) tellImport(file *config.HostFile, kept bool) {
	note := func(format string, args ...any) {
		_, _ = fmt.Fprintln(a.Stderr, terminal.Clean(fmt.Sprintf("note: "+format, args...)))
	}
	note("%s: %s carried over", file.Host, text.Counted(len(file.Servers), "server"))
	if len(file.LeftOut) > 0 {
		note("left out, each with its reason in a comment: %q", file.LeftOut)
	}
	var unset []string
	for _, v := range file.Variables {
		if !kept || v.Value == "" {
			unset = append(unset, v.Name)
		}
	}
	if len(unset) > 0 {
		note("put the values of these variables into molar.env next to molar.yaml, or set them in the environment: %s", strings.Join(unset, ", "))
	}
}
