package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	yaml "github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"molar/agent"
	"molar/eval"
	"molar/eval/tape"
	"molar/internal/config"
	"molar/schemas"
)

// recordFlags are the flags of eval record.
type recordFlags struct {
	out, id, assistant, provider, model, turn string
	tags                                      []string
	mcp                                       []string
	noSummary                                 bool
}

func newEvalRecordCmd(a *app) *cobra.Command {
	var f recordFlags
	cmd := &cobra.Command{
		Use:   "record --out CASE.yaml [flags] PROMPT...",
		Short: "Run a conversation for real and keep it as a case and its tape",
		Long: `Run a conversation for real, one turn for each PROMPT, and write a case with what
happened as its expectations, and the tape beside it. With --turn, a turn that was
saved becomes a case, and nothing is asked of a model.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.out == "" || (len(args) == 0) == (f.turn == "") {
				return &exitError{exitUsage, errors.New("give --out CASE.yaml, and either prompts or --turn ID")}
			}
			if f.turn != "" {
				return a.recordTurn(cmd.Context(), f)
			}
			return a.evalRecord(cmd.Context(), f, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.out, "out", "", "the case's `file`; the tape goes beside it")
	flags.StringVar(&f.id, "id", "", "the case's `id` (default: the file's name)")
	flags.StringVar(&f.turn, "turn", "", "`id` of a saved turn to make a case of")
	flags.StringVar(&f.assistant, "assistant", "", "`name` of the assistant that answers")
	flags.StringVar(&f.provider, "provider", "", "`name` of the provider")
	flags.StringVar(&f.model, "model", "", "`name` of the model")
	flags.StringArrayVar(&f.tags, "tag", nil, "`tag` of the case; may be repeated")
	flags.StringArrayVar(&f.mcp, "mcp", nil, "attach an MCP server: `NAME=\"command line\"` or NAME=https://address; may be repeated")
	flags.BoolVar(&f.noSummary, "no-summary", false, "do not summarise after the turns")
	return cmd
}

// draft begins a case from the flags.
func (f *recordFlags) draft(a *app) (eval.Case, error) {
	c := eval.Case{V: eval.CaseVersion, ID: f.id, Tags: f.tags, Assistant: f.assistant, File: f.out}
	if c.ID == "" {
		c.ID = strings.TrimSuffix(filepath.Base(f.out), filepath.Ext(f.out))
	}
	var err error
	if c.Config, err = a.configFrom(filepath.Dir(f.out)); err != nil {
		return c, err
	}
	if _, err := os.Stat(f.out); err == nil {
		return c, &exitError{exitUsage, fmt.Errorf("%s exists; choose another name, or see: molar eval accept", f.out)}
	}
	return c, nil
}

// evalRecord runs the conversation on a fresh store.
func (a *app) evalRecord(ctx context.Context, f recordFlags, prompts []string) (err error) {
	c, err := f.draft(a)
	if err != nil {
		return err
	}
	cfg, err := a.loadWithServers(map[string]string{"llm.provider": f.provider}, f.mcp)
	if err != nil {
		return err
	}
	if c.Assistant == "" {
		c.Assistant = cfg.Default
	}
	log, err := a.logger(cfg.Telemetry, slog.LevelWarn)
	if err != nil {
		return err
	}
	rec, done, err := openRecorder(c.TapeFile(), c.ID, cfg, f.provider, f.model)
	if err != nil {
		return err
	}
	seen, err := a.recordTurns(ctx, cfg, log, rec, c, f, prompts)
	if err = errors.Join(err, done()); err != nil {
		return errors.Join(err, os.Remove(c.TapeFile()))
	}
	for i, s := range seen {
		c.Turns = append(c.Turns, eval.Turn{User: prompts[i], Expect: eval.Observed(s)})
	}
	return a.saveCase(c, redactorOf(cfg))
}

// recordTurns answers the prompts on a store that is thrown away.
func (a *app) recordTurns(ctx context.Context, cfg *config.Config, log *slog.Logger, rec *tape.Recorder, c eval.Case, f recordFlags, prompts []string) ([]tape.Seen, error) {
	dir, err := os.MkdirTemp("", "molar-eval-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	fresh := *cfg
	fresh.Memory.Store, fresh.Memory.URL, fresh.Telemetry.Trace = filepath.Join(dir, "molar.db"), "", "off"
	h, err := openHost(ctx, &fresh, log, hostOptions{attachWait: chatAttachWait, env: a.env, edges: rec})
	if err != nil {
		return nil, err
	}
	defer h.Close()
	wait, cancel := context.WithTimeout(ctx, chatAttachWait)
	defer cancel()
	if err := h.mcp.Wait(wait, nil); err != nil {
		return nil, err
	}
	var all []tape.Seen
	for i, prompt := range prompts {
		seen := tape.Seen{User: prompt}
		turn := agent.Turn{
			Assistant: c.Assistant, ConversationID: "chat_eval", Provider: f.provider, Model: f.model,
			Messages: []schemas.Message{schemas.Text(schemas.RoleUser, prompt)},
		}
		for event, err := range rec.Turn(ctx, turn, h.agent.Run) {
			seen.Event(event, err)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !f.noSummary && seen.Sum.Error == "" && !seen.Sum.Refused {
			if err := h.worker.Drain(tape.InTurn(ctx, i+1)); err != nil {
				return nil, fmt.Errorf("summary: %w", err)
			}
		}
		all = append(all, seen)
	}
	return all, nil
}

// saveCase writes the case's file, without the secrets that are not on its tape either,
// and says what to do with it.
func (a *app) saveCase(c eval.Case, redactor *tape.Redactor) error {
	data, err := yaml.MarshalWithOptions(c, yaml.UseLiteralStyleIfMultiline(true), yaml.IndentSequence(true))
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.File, []byte(redactor.Text(string(data))), 0o600); err != nil {
		return &exitError{exitUsage, err}
	}
	a.say("case %s: %s", c.ID, c.File)
	a.say("tape: %s", c.TapeFile())
	a.say("look at its expectations, then: molar eval run %s", c.File)
	return nil
}
