package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"molar/agent"
	"molar/internal/config"
	"molar/internal/store"
	"molar/internal/terminal"
)

func newTurnsCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "turns", Short: "Look at what happened in a turn", Args: onlyCommands, RunE: showHelp}
	var format string
	show := &cobra.Command{
		Use:   "show ID",
		Short: "Show the trace of a turn: why each tool was called, or not",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if format != formatText && format != formatJSON {
				return &exitError{exitUsage, fmt.Errorf("--output-format %q: choose text or json", format)}
			}
			cfg, err := a.loadConfig(nil)
			if err != nil {
				return err
			}
			trace, err := a.findTrace(cmd.Context(), cfg, args[0])
			if err != nil {
				return err
			}
			if format == formatJSON {
				_, err = fmt.Fprintln(a.stdout, string(trace))
				return err
			}
			return printTrace(a.stdout, trace)
		},
	}
	show.Flags().StringVar(&format, "output-format", formatText, "text or json")
	cmd.AddCommand(show)
	return cmd
}

// findTrace asks a running host first, whose newest traces may not be on disk yet,
// then reads the store.
func (a *app) findTrace(ctx context.Context, cfg *config.Config, id string) (json.RawMessage, error) {
	if far, err := a.reach(cfg.Door()); err == nil {
		if trace, err := a.askHost(ctx, far, "/v1/turns/"+url.PathEscape(id)); err == nil {
			return trace, nil
		}
	}
	db, err := store.Open(ctx, store.Config{Path: cfg.Database(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	trace, ok, err := traceStore{db: db}.Trace(ctx, "", id)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("there is no trace of turn %q; traces are kept 7 days, and telemetry.trace must be on", id)
	}
	return trace, nil
}

// turnRuns is the status of a turn that has not ended.
const turnRuns = "running"

// printTrace writes a trace for a person.
func printTrace(w io.Writer, raw json.RawMessage) error {
	var t agent.Trace
	if err := json.Unmarshal(raw, &t); err != nil {
		return fmt.Errorf("read the trace: %w", err)
	}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("turn %s, %s, %.0f ms", t.TurnID, t.Status, t.TookMS)
	if t.Status == turnRuns {
		line("assistant %s, conversation %s\nit still runs: what it did is recorded at its end", t.Assistant, t.ConversationID)
		_, err := io.WriteString(w, terminal.Clean(b.String()))
		return err
	}
	line("assistant %s, provider %s (%s)", t.Assistant, t.Provider, t.Route)
	line("conversation %s, memory %s, language %s", t.ConversationID, t.Memory, t.Language)
	if t.Question != "" {
		line("question: %s", preview(t.Question))
	}
	if v := t.Verdict; v != nil {
		line("guardrail: pass %v by %s: %s", v.Pass, v.By, v.Reason)
	}
	if t.Error != "" {
		line("error: %s", t.Error)
	}
	printTools(line, t.Tools)
	for i, p := range t.Passes {
		line("\nmodel call %d: %s pass, %d tools offered, %.0f ms, first output after %.0f ms, %s", i+1, p.Pass, p.Offered, p.TookMS, p.FirstMS, p.Finish)
		for _, part := range []struct{ name, text string }{{"prompt", p.Prompt}, {"note", p.Note}, {"output", p.Output}, {"error", p.Error}} {
			if part.text != "" {
				line("--- %s ---\n%s", part.name, part.text)
			}
		}
	}
	_, err := io.WriteString(w, terminal.Clean(b.String()))
	return err
}

func printTools(line func(string, ...any), tools []agent.ToolTrace) {
	line("\ntools:")
	if len(tools) == 0 {
		line("  none was offered or withheld: the assistant has no tools in this turn")
	}
	for _, tool := range tools {
		line("  %s: %s", tool.Name, tool.Reason)
		for _, c := range tool.Calls {
			line("    %s %s -> %s in %.1f ms: %s", c.ID, c.Arguments, c.Status, c.TookMS, preview(c.Output))
		}
	}
}
