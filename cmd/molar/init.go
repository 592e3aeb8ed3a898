package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"molar/agent/subject"
	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
	"molar/internal/serve"
	"molar/internal/session"
	"molar/internal/setup"
	"molar/internal/terminal"
	"molar/mcpclients/transport"
	"molar/schemas"
)

func newInitCmd(a *app) *cobra.Command {
	var yes, force, start bool
	cmd := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Ask three questions, write a first config file, get a first answer, and start",
		Long: `Ask three questions, write a first config file, get a first answer, and start.

It looks for a model (Ollama, keys in the environment, a server of your own) and for the
MCP servers of other hosts (those of molar config import), and asks which to use.
Secrets in their files become variables, whose values go into a file next to FILE that
only you can read: molar.env for molar.yaml. Without FILE the settings are written where
molar looks for them by default.

At a terminal it also starts the servers once, if you like, shows which of their tools read,
which only add and which arguments are free text, and asks for each server whether that is
so. Enter leaves a server unconfirmed: molar servers approve NAME asks again. Then it offers a
first question that suits the servers, or takes yours, and shows the call and the answer.`,
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
	flags.BoolVar(&yes, "yes", false, "ask nothing: use the first model that is ready, and all servers")
	flags.BoolVar(&force, "force", false, "overwrite the file when it exists")
	flags.BoolVar(&start, "start", true, "offer to start the host at the end")
	return cmd
}

func (a *app) setUp(cmd *cobra.Command, name string, yes, force, start bool) error {
	if _, err := os.Stat(name); err == nil && !force {
		return errors.New(name + " exists already: molar servers add adds a server to it, and its llm.provider names the model; begin anew in another file, or with --force in this one")
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	settings := a.Options(nil)
	settings.Path = os.DevNull // only the environment counts: the file is about to be written
	before, err := config.Load(settings)
	if err != nil {
		return cli.Usage(err)
	}
	secrets, err := setup.OpenSecretsFile(config.VariablesFile(name), a.Env)
	if err != nil {
		return err
	}
	talk := setup.Dialogue{In: bufio.NewReader(a.Stdin), Out: a.Stdout, Yes: yes}
	if keyboard, ok := a.Stdin.(*os.File); ok && cli.IsTerminal(keyboard) {
		talk.Hidden = func(ctx context.Context) (string, error) { return cli.ReadHidden(ctx, keyboard) }
	}
	choices, err := talk.Ask(cmd.Context(), setup.Detect(cmd.Context(), before, config.HostFilePaths(a.Env)))
	if err != nil {
		return err
	}
	draft := choices.Draft(secrets)
	if err := writeConfig(name, []byte(draft.Text), force); err != nil {
		return err
	}
	a.Say("\nwrote %s", name)
	a.ConfigFile = name
	if note := setup.UnreadFile(a.CLI); note != "" {
		a.Say("note: %s", note)
	}
	if err := a.keepVariables(secrets, draft.Variables); err != nil {
		return err
	}
	if len(draft.Duplicates) > 0 {
		a.Say("left out, as the name is taken: %s", strings.Join(draft.Duplicates, ", "))
	}
	cfg, err := a.Load(nil)
	if err != nil { // such as a missing key
		a.Say("before it starts: %v", err)
		start = false
	} else if err := a.summarise(cfg); err != nil {
		return err
	}
	named := " --config " + name
	if usual, _ := config.FindFile("", a.Env); usual == name {
		named = ""
	}
	if cfg != nil {
		left, err := a.tryOut(cmd.Context(), &talk, cfg.MCPServers.Names(), named)
		if err != nil {
			return err
		}
		if len(left) > 0 {
			a.sayText(fmt.Sprintf("nobody has confirmed yet what the tools of %s do; confirm it once they run, at /tools or with: %s", strings.Join(left, ", "), cli.Typed("molar servers approve NAME"+named)))
		}
	}
	if start && !yes {
		if start, err = talk.Confirm(cmd.Context(), "\nStart the chat page now?", true); err != nil {
			return err
		}
	}
	if !start || yes {
		a.Say("%s", cli.Typed("start it with: molar serve"+named+"; if something is wrong: molar doctor"+named))
		return nil
	}
	if cfg.Telemetry.LogLevel == "" {
		a.LogLevel = "warn" // the page is ready: nobody asked how it came to be
	}
	return serve.Serve(cmd.Context(), serve.Config{CLI: a.CLI, Load: func() (*config.Config, error) { return a.Load(nil) }})
}

// tryOut starts the servers once for the person at a terminal, who confirms what their tools do and
// asks a first question. It returns the servers for which the confirmation is left. What keeps a
// server or the model from working is theirs to mend later. named is the --config of commands that are
// hinted at, if they need one.
func (a *app) tryOut(ctx context.Context, talk *setup.Dialogue, servers []string, named string) (left []string, err error) {
	if talk.Yes || !cli.IsTerminal(a.Stdin) {
		return servers, nil
	}
	if len(servers) > 0 {
		yes, err := talk.Confirm(ctx, "\nConfirm what the tools of its servers do? They are started once to see it.", true)
		if err != nil || !yes {
			return servers, err
		}
		a.Say("starting %s", strings.Join(servers, ", "))
	}
	var done []string
	err = a.withServers(ctx, toolsFlags{}, func(ctx context.Context, h *host.Host) error {
		if done, err = a.confirmServers(ctx, talk, h); err != nil {
			return err
		}
		return a.askFirst(ctx, talk, h, named)
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		a.Note("%s", terminal.Clean(err.Error()))
	}
	return slices.DeleteFunc(slices.Clone(servers), func(name string) bool { return slices.Contains(done, name) }), nil
}

// confirmServers lets the person confirm what the tools of each server do, and returns the servers
// for which that is done.
func (a *app) confirmServers(ctx context.Context, talk *setup.Dialogue, h *host.Host) (done []string, err error) {
	for _, s := range proposed(h) {
		if s.State == schemas.StateReady && !s.Unconfirmed {
			done = append(done, s.Name) // the config says it
		}
		a.sayProposal(s.Proposal)
		confirmed, err := confirmMarks(ctx, talk, s.Proposal, ownHost{h})
		if err != nil {
			return done, err
		}
		if confirmed {
			done = append(done, s.Name)
		}
		a.sayConfirmed(s.Name, confirmed)
	}
	return done, nil
}

// askFirst lets the person ask a first question, and shows the answer. A failure is told with the way
// out, and init goes on.
func (a *app) askFirst(ctx context.Context, talk *setup.Dialogue, h *host.Host, named string) error {
	var ready []string
	for _, s := range h.MCP.Status() {
		if s.State == schemas.StateReady && s.Transport != transport.TypeInProcess {
			ready = append(ready, s.Name)
		}
	}
	question, err := talk.FirstQuestion(ctx, offeredQuestion(h, ready))
	if err != nil || question == "" {
		return err
	}
	err = session.Answer(ctx, a.CLI, h, talk.In, question)
	if fault, ok := errors.AsType[*cli.Error](err); err == nil || ok && fault.Err == nil || ctx.Err() != nil {
		return ctx.Err() // a refusal by the guardrail is an answer
	}
	a.Note("%s", terminal.Fit(a.Stderr, terminal.Clean(cli.Typed("molar: no answer: "+err.Error()))))
	a.Say("the settings are kept in %s; %s", a.ConfigFile, cli.Typed("molar doctor"+named+" looks for the fault"))
	return nil
}

// offeredQuestion returns a question for the default assistant: for a tool of the servers, unless it
// keeps to a subject, else one that the page offers too.
func offeredQuestion(h *host.Host, servers []string) string {
	all := h.Agent.Assistants()
	i := slices.IndexFunc(all, func(a schemas.AssistantInfo) bool { return a.Name == h.Config.Default })
	if i < 0 || all[i].Topic == "" {
		if question := setup.FirstQuestion(servers, h.MCP.Catalogue().Tools()); question != "" {
			return question
		}
	}
	if i >= 0 && len(all[i].FirstQuestions[subject.English]) > 0 {
		return all[i].FirstQuestions[subject.English][0]
	}
	return "What can you help me with?"
}

// keepVariables writes the imported secrets into a file next to the config, and names that file.
func (a *app) keepVariables(keep *setup.SecretsFile, variables []config.Variable) error {
	has, other, err := keep.Add(variables)
	if err == nil {
		a.sayVariables(keep, has, other)
	}
	return err
}

// sayVariables tells which variables the file next to the config now has, and which have other values.
func (a *app) sayVariables(keep *setup.SecretsFile, has, other []string) {
	mode, exposed := config.Exposed(keep.File)
	if len(has) > 0 {
		private := " and which only you can read"
		if exposed {
			private = ""
		}
		a.sayText(fmt.Sprintf("wrote %s, which is read together with it%s: %s", keep.File, private, strings.Join(has, ", ")))
	}
	if len(other) > 0 {
		a.Say("unchanged, because %s or the environment has other values: %s", keep.File, strings.Join(other, ", "))
	}
	if exposed {
		a.Say("others on this machine can reach %s (%s): chmod 600 %[1]s", keep.File, mode)
	}
	if len(has) > 0 && setup.Tracked(keep.File) {
		a.Say("it is in a git repository: add %s to .gitignore", filepath.Base(keep.File))
	}
}
