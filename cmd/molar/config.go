package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"molar/internal/config"
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
			"Without FILE it goes where molar looks for it by itself: the file of --config or\n" +
			"MOLAR_CONFIG, else molar.yaml in the user's config folder.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			name, err := a.configName(args)
			if err != nil {
				return err
			}
			if err := writeExample(name, force); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.stdout, "wrote %s; after a change, check it with: molar config check %s\n", name, name)
			return err
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "overwrite the file when it exists")
	return cmd
}

func newConfigCheckCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "check [FILE]",
		Short: "Say what the settings come to, or all that is wrong with them",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				a.configFile = args[0]
			}
			cfg, err := a.loadConfig(nil)
			if err != nil {
				return err
			}
			return summarise(a.stdout, cfg)
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
			_, err = a.stdout.Write(schema)
			return err
		},
	}
}

// configName is the file that a command is about: the argument, else the one that
// molar would read.
func (a *app) configName(args []string) (string, error) {
	if len(args) == 1 {
		return args[0], nil
	}
	name, _ := config.Find(a.configFile, a.env)
	if name == "" {
		return "", &exitError{exitUsage, errors.New("no home folder is known; name the file: molar config init FILE")}
	}
	return name, nil
}

// writeExample writes the commented example, readable by its owner alone since
// people put secrets into such files. Without force it never overwrites.
func writeExample(name string, force bool) error {
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
	_, err = f.Write(config.Example())
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// summarise prints what the settings come to. Secrets are not part of it.
func summarise(w io.Writer, cfg *config.Config) error {
	source := "no config file: the built-in settings are valid"
	if cfg.File != "" {
		source = cfg.File + " is valid"
	}
	servers := make([]string, 0, len(cfg.MCPServers))
	for _, e := range cfg.MCPServers {
		label := e.Value.Label()
		if e.Value.Disabled {
			label = "disabled"
		}
		servers = append(servers, fmt.Sprintf("%s (%s)", e.Name, label))
	}
	lines := []string{
		source,
		"listen:     " + cfg.Listen,
		"provider:   " + strings.Join(cfg.LLM.Provider, ", "),
		"assistants: " + strings.Join(cfg.Assistants.Names(), ", ") + " (default " + cfg.Default + ")",
		"servers:    " + orNone(servers),
		"store:      " + cfg.Database(),
	}
	if cfg.Memory.URL != "" {
		lines = append(lines, "memory:     "+cfg.Memory.URL)
	}
	lines = append(lines, openPorts(cfg)...)
	lines = append(lines, missingKeys(cfg.LLM)...)
	lines = append(lines, missingPrograms(cfg)...)
	_, err := fmt.Fprintln(w, strings.Join(lines, "\n"))
	return err
}

// openPorts notes the ports that others can reach, which need a key before them.
func openPorts(cfg *config.Config) []string {
	var notes []string
	for key, address := range map[string]string{"listen": cfg.Listen, "mcp.listen": cfg.MCP.Listen} {
		if !config.Loopback(address) && len(cfg.APIKeys) == 0 {
			notes = append(notes, fmt.Sprintf("note: %s %s is off loopback: it is refused until there is an API key (molar keys create NAME)", key, address))
		}
	}
	slices.Sort(notes)
	return notes
}

// missingKeys notes the listed providers that are passed over for want of a key.
func missingKeys(llm config.LLM) []string {
	var notes []string
	for _, name := range llm.Provider {
		if missing := llm.Missing(name); missing != "" {
			notes = append(notes, fmt.Sprintf("note: provider %q is passed over without an API key: %s", name, missing))
		}
	}
	return notes
}

// missingPrograms notes the servers whose program this machine does not have. The
// file may be meant for another one, so that is no fault of it.
func missingPrograms(cfg *config.Config) []string {
	var notes []string
	for _, e := range cfg.MCPServers {
		if e.Value.Disabled || e.Value.Command == "" {
			continue
		}
		if _, err := exec.LookPath(e.Value.Command); err != nil {
			notes = append(notes, fmt.Sprintf("note: server %q: the program %q is not found on this machine", e.Name, e.Value.Command))
		}
	}
	return notes
}

func orNone(items []string) string {
	if len(items) == 0 {
		return "none"
	}
	return strings.Join(items, ", ")
}
