package main

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/config/hostfile"
	"molar/internal/host/listen"
	"molar/internal/setup"
)

func newInitCmd(a *app) *cobra.Command {
	var yes, force, start bool
	cmd := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Ask three questions, write a first config file, and start",
		Long: `Ask three questions, write a first config file, and start.

It looks for a model (Ollama, keys in the environment) and for the MCP servers that
Claude Desktop, VS Code, Cursor and Gemini CLI have, and asks what to take. Secrets of
their files become variables. Without FILE the answers go to where molar looks for its
settings by itself.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := a.configName(args)
			if err != nil {
				return err
			}
			return a.setUp(cmd, name, yes, force, start)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&yes, "yes", false, "ask nothing: the first model that is ready, and all servers that are found")
	flags.BoolVar(&force, "force", false, "overwrite the file when it exists")
	flags.BoolVar(&start, "start", true, "offer to start the host in the end")
	return cmd
}

func (a *app) setUp(cmd *cobra.Command, name string, yes, force, start bool) error {
	if _, err := os.Stat(name); err == nil && !force {
		return errors.New(name + " exists already; name another file, or overwrite it with --force")
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	settings := a.Options(nil)
	settings.Path = os.DevNull // what the file says does not matter yet; the environment does
	before, err := config.Load(settings)
	if err != nil {
		return cli.Usage(err)
	}
	talk := setup.Dialogue{In: bufio.NewReader(a.Stdin), Out: a.Stdout, Yes: yes}
	choices, err := talk.Ask(cmd.Context(), setup.Look(cmd.Context(), before, hostfile.Here(a.Env)))
	if err != nil {
		return err
	}
	text, doubled := choices.Text()
	if err := writeConfig(name, []byte(text), force); err != nil {
		return err
	}
	a.Say("\nwrote %s", name)
	if len(doubled) > 0 {
		a.Say("left out, as the name is taken: %s", strings.Join(doubled, ", "))
	}
	a.ConfigFile = name
	cfg, err := a.Load(nil)
	if err != nil { // a key that is still to be set
		a.Say("before it starts: %v", err)
		start = false
	} else if err := a.summarise(cfg); err != nil {
		return err
	}
	if start && !yes {
		if start, err = talk.Confirm(cmd.Context(), "\nStart it now?"); err != nil {
			return err
		}
	}
	if !start || yes {
		named := " --config " + name
		if usual, _ := config.Find("", a.Env); usual == name {
			named = ""
		}
		a.Say("start it with: molar serve%s; if something is amiss: molar doctor%[1]s", named)
		return nil
	}
	return listen.Serve(cmd.Context(), listen.Config{CLI: a.CLI, Load: func() (*config.Config, error) { return a.Load(nil) }})
}
