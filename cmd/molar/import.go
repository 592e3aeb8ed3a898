package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"molar/internal/config/hostfile"
	"molar/internal/terminal"
)

func newConfigImportCmd(a *app) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Write the MCP servers of another host's file as mcpServers of molar.yaml",
		Long: `Write the MCP servers of another host's file as mcpServers of molar.yaml.

It reads the JSON of Claude Desktop, VS Code, Cursor and Gemini CLI. What cannot be
carried over becomes a comment, and what looks secret a variable that is to be set.`,
		Example: `  molar config import ~/.cursor/mcp.json
  molar config import .vscode/mcp.json --output servers.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := os.ReadFile(args[0])
			if err != nil {
				return &exitError{exitUsage, fmt.Errorf("read the other host's file: %w", err)}
			}
			// The folder tells whose file it is, also when it is not in the name.
			name := args[0]
			if path, err := filepath.Abs(name); err == nil {
				name = path
			}
			file, err := hostfile.Read(name, data)
			if err != nil {
				return err
			}
			if err := a.writeImport(file, output); err != nil {
				return err
			}
			a.tellImport(file)
			return nil
		},
	}
	cmd.Flags().StringVar(&output, "output", "", "`file` to write instead of standard output; it must not exist")
	return cmd
}

// writeImport writes a new file, readable by its owner alone like every config.
func (a *app) writeImport(file *hostfile.File, output string) error {
	if output == "" {
		_, err := a.stdout.Write(file.YAML)
		return err
	}
	f, err := os.OpenFile(output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already; name another file, and copy what it gets into molar.yaml", output)
	}
	if err != nil {
		return fmt.Errorf("write the servers: %w", err)
	}
	_, err = f.Write(file.YAML)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", output, err)
	}
	a.say("wrote %s; after setting its variables, check it with: molar config check %s", output, output)
	return nil
}

// tellImport says on standard error what a person has to do.
func (a *app) tellImport(file *hostfile.File) {
	tell := func(format string, args ...any) {
		_, _ = fmt.Fprintln(a.stderr, terminal.Clean(fmt.Sprintf("note: "+format, args...)))
	}
	tell("%s: %d servers carried over", file.Host, len(file.Servers))
	if len(file.LeftOut) > 0 {
		tell("left out, each with its reason in a comment: %q", file.LeftOut)
	}
	names := make([]string, len(file.Variables))
	for i, v := range file.Variables {
		names[i] = v.Name
	}
	if len(names) > 0 {
		tell("set these variables in the environment or in the file of --env-file: %s", strings.Join(names, ", "))
	}
}
