package run

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"molar/eval"
	"molar/eval/drift"
	"molar/eval/match"
	"molar/eval/report"
	"molar/eval/tape"
	"molar/internal/cli"
	"molar/internal/host"
	"molar/schemas"
)

// VerifyFlags are the flags of eval verify.
type VerifyFlags struct {
	SelectFlags
	All, NoCalls bool
}

// Verify compares the real servers with the tapes of cases.
func (a *Commands) Verify(ctx context.Context, f VerifyFlags, paths []string) error {
	if err := a.mayRecord(); err != nil {
		return err
	}
	cases, err := a.loadCases(paths, &f.SelectFlags)
	if err != nil {
		return err
	}
	runner, err := a.runner(eval.Mode{LiveTools: true}, Flags{Quiet: true})
	if err != nil {
		return err
	}
	sum := verified{told: make(map[string]bool)}
	for i := range cases {
		if err := a.verifyCase(ctx, runner, &cases[i], f, &sum); err != nil {
			return err
		}
	}
	a.Say("%d servers as taped, %d tools differ; %d calls agree, %d differ, %d were not made", len(sum.servers)-len(sum.changed), len(sum.told), sum.same, sum.differ, sum.skipped)
	switch {
	case sum.differ+len(sum.told) > 0:
		return cli.Exit(eval.ExitDrift)
	case sum.same+len(sum.servers) == 0:
		return cli.Exit(eval.ExitNothing)
	}
	return nil
}

// verified counts what agrees. told are the differences of tools, each told once.
type verified struct {
	same, differ, skipped int
	told                  map[string]bool
	servers, changed      map[string]bool
}

// verifyCase attaches the case's servers, compares their tools and repeats its calls.
func (a *Commands) verifyCase(ctx context.Context, runner *eval.Runner, c *eval.Case, f VerifyFlags, sum *verified) error {
	story, err := c.Story()
	if err != nil {
		return evalError(err)
	}
	h, player, done, err := runner.Open(ctx, c)
	if err != nil {
		return evalError(err)
	}
	defer done()
	if err := h.Ready(ctx); err != nil {
		return cli.With(eval.ExitInfra, fmt.Errorf("%s: %w", c.ID, err))
	}
	for _, server := range player.Servers() {
		if server != host.MemoryServer && server != host.ToolServer {
			a.verifyTools(c.ConfigFile()+" "+server, player.Contract(server), sum)
		}
	}
	live, ok := h.(*evalHost)
	if !ok || f.NoCalls {
		return nil
	}
	for i, t := range story.Turns {
		for _, call := range t.Calls {
			if call.Server == host.MemoryServer || call.Tool == "" {
				continue
			}
			if err := a.verifyCall(ctx, live, fmt.Sprintf("%s, turn %d", c.ID, i+1), call, f.All, sum); err != nil {
				return err
			}
		}
	}
	return nil
}

// verifyTools tells how the tools of a server differ from the tape, each difference once.
func (a *Commands) verifyTools(server string, drifts []drift.Drift, sum *verified) {
	if sum.servers == nil {
		sum.servers, sum.changed = make(map[string]bool), make(map[string]bool)
	}
	sum.servers[server] = true
	for _, d := range drifts {
		sum.changed[server] = true
		was, now := d.Full()
		if key := d.Where + d.Rule + was + now; !sum.told[key] {
			sum.told[key] = true
			a.Say("%s", strings.TrimRight(report.Clean(report.Change(d)), "\n"))
		}
	}
}

func (a *Commands) verifyCall(ctx context.Context, h *evalHost, where string, call tape.SeenCall, all bool, sum *verified) error {
	tool, known := h.MCP.Catalogue().Lookup(call.Server + "__" + call.Tool)
	if known && !all && !readOnly(tool) {
		sum.skipped++
		a.Say("%s: %s was not called: it is not marked as read-only", report.Clean(where), report.Clean(tool.Name))
		return nil
	}
	result, err := h.MCP.Call(ctx, call.Server, call.Tool, json.RawMessage(call.Call.Function.Arguments))
	if err != nil {
		return cli.With(eval.ExitInfra, fmt.Errorf("%s: %w", where, err))
	}
	want, got := match.CanonicalJSON(call.Output), match.CanonicalJSON(result.Output)
	if want == got && result.IsError == call.IsError {
		sum.same++
		return nil
	}
	sum.differ++
	a.Say("%s", report.Clean(fmt.Sprintf("%s: %s %s differs\n  tape: %s\n  now:  %s", where, call.Call.Function.Name, call.Call.Function.Arguments, want, got)))
	return nil
}

// readOnly reports whether a tool changes nothing, by the operator's word or its own.
func readOnly(t schemas.Tool) bool {
	hint := t.Annotations.ReadOnlyHint
	return t.Rules.ReadOnly || hint != nil && *hint
}
