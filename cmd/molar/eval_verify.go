package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"molar/eval"
	"molar/eval/match"
	"molar/eval/report"
	"molar/eval/tape"
	"molar/internal/config"
	"molar/schemas"
)

func newEvalVerifyCmd(a *app) *cobra.Command {
	var chosen selectFlags
	all := false
	cmd := &cobra.Command{
		Use:   "verify [flags] FILE|FOLDER...",
		Short: "Send the taped tool calls to the real servers and compare the results",
		Long: `Send the taped tool calls to the real servers and compare what they give now with the
tape. Only tools that are marked as read-only are called, by the operator or by
themselves; --all calls the others too.

Exit codes: 0 all agree, 3 a result differs, 4 a server is not there, 5 nothing to call.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cases, err := a.loadCases(args, &chosen)
			if err != nil {
				return err
			}
			return a.evalVerify(cmd.Context(), cases, all)
		},
	}
	chosen.add(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "call tools that may change something, too")
	return cmd
}

func (a *app) evalVerify(ctx context.Context, cases []eval.Case, all bool) error {
	log, err := a.logger(config.Telemetry{LogLevel: a.logLevel, LogFormat: a.logFormat}, slog.LevelError+4)
	if err != nil {
		return err
	}
	var sum verified
	for i := range cases {
		if err := a.verifyCase(ctx, &cases[i], log, all, &sum); err != nil {
			return err
		}
	}
	a.say("%d calls agree, %d differ, %d were not made", sum.same, sum.differ, sum.skipped)
	switch {
	case sum.differ > 0:
		return &exitError{eval.ExitDrift, nil}
	case sum.same == 0:
		return &exitError{eval.ExitNothing, nil}
	}
	return nil
}

type verified struct{ same, differ, skipped int }

// verifyCase attaches the case's servers and repeats its calls.
func (a *app) verifyCase(ctx context.Context, c *eval.Case, log *slog.Logger, all bool, sum *verified) error {
	story, err := c.Story()
	if err != nil {
		return evalError(err)
	}
	mode := eval.Mode{LiveTools: true}
	h, err := a.openEval(mode, log)(ctx, c, story.Header, nil, nil)
	if err != nil {
		return evalError(err)
	}
	defer h.Close()
	if err := h.Ready(ctx); err != nil {
		return &exitError{eval.ExitInfra, fmt.Errorf("%s: %w", c.ID, err)}
	}
	live, ok := h.(*evalHost)
	if !ok {
		return nil
	}
	for i, t := range story.Turns {
		for _, call := range t.Calls {
			if call.Server == memoryServer || call.Tool == "" {
				continue
			}
			if err := a.verifyCall(ctx, live, fmt.Sprintf("%s, turn %d", c.ID, i+1), call, all, sum); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *app) verifyCall(ctx context.Context, h *evalHost, where string, call tape.SeenCall, all bool, sum *verified) error {
	tool, known := h.mcp.Catalogue().Lookup(call.Server + "__" + call.Tool)
	if known && !all && !readOnly(tool) {
		sum.skipped++
		a.say("%s: %s was not called: it is not marked as read-only", report.Clean(where), report.Clean(tool.Name))
		return nil
	}
	result, err := h.mcp.Call(ctx, call.Server, call.Tool, json.RawMessage(call.Call.Function.Arguments))
	if err != nil {
		return &exitError{eval.ExitInfra, fmt.Errorf("%s: %w", where, err)}
	}
	want, got := match.CanonicalJSON(call.Output), match.CanonicalJSON(result.Output)
	if want == got && result.IsError == call.IsError {
		sum.same++
		return nil
	}
	sum.differ++
	a.say("%s", report.Clean(fmt.Sprintf("%s: %s %s differs\n  tape: %s\n  now:  %s", where, call.Call.Function.Name, call.Call.Function.Arguments, want, got)))
	return nil
}

// readOnly reports whether a tool changes nothing, by the operator's word or its own.
func readOnly(t schemas.Tool) bool {
	hint := t.Annotations.ReadOnlyHint
	return t.Rules.ReadOnly || hint != nil && *hint
}
