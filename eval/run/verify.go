package run

import (
	"context"
	"fmt"
	"strings"

	"molar/eval"
	"molar/eval/tape"
	"molar/internal/cli"
	"molar/schemas"
)

// Verify compares the tools of the real servers with the tapes of cases. It only reads, so
// MOLAR_EVAL_RECORD=never allows it.
func (a *Commands) Verify(ctx context.Context, f SelectFlags, paths []string) error {
	cases, err := a.loadCases(paths, &f)
	if err != nil {
		return err
	}
	runner, err := a.runner(eval.Mode{LiveTools: true}, Flags{Quiet: true}, cases)
	if err != nil {
		return err
	}
	defer runner.Close()
	sum := verified{reported: make(map[string]bool), servers: make(map[string]bool), changed: make(map[string]bool)}
	invalid := 0
	for i := range cases {
		err := a.verifyCase(ctx, runner, &cases[i], &sum)
		switch {
		case a.noteInvalid(err):
			invalid++
		case err != nil:
			return withInvalid(invalid, err)
		}
	}
	a.Say("%d servers as taped, %d tools differ", len(sum.servers)-len(sum.changed), len(sum.reported))
	switch {
	case invalid > 0:
		return withInvalid(invalid, nil)
	case len(sum.reported) > 0:
		return cli.Exit(eval.ExitDrift)
	case len(sum.servers) == 0:
		return cli.Exit(eval.ExitNothing)
	}
	return nil
}

// verified collects the servers that were compared, those that changed, and the differences that
// were already reported.
type verified struct {
	reported, servers, changed map[string]bool
}

// verifyCase attaches the case's servers and compares their tools with the tape.
func (a *Commands) verifyCase(ctx context.Context, runner *eval.Runner, c *eval.Case, sum *verified) error {
	h, player, err := runner.Open(ctx, c)
	if err != nil {
		return evalError(err)
	}
	defer h.Close()
	if err := h.Ready(ctx); err != nil {
		return cli.With(eval.ExitInfra, fmt.Errorf("%s: %w", c.ID, err))
	}
	for _, server := range player.Servers() {
		if server != schemas.MemoryServer && server != schemas.ToolServer {
			a.verifyTools(c.ConfigFile()+" "+server, player.Contract(server), sum)
		}
	}
	return nil
}

// verifyTools prints how the tools of a server differ from the tape, each difference once.
func (a *Commands) verifyTools(server string, drifts []tape.Drift, sum *verified) {
	sum.servers[server] = true
	for _, d := range drifts {
		sum.changed[server] = true
		was, now := d.Full()
		if key := d.Where + d.Rule + was + now; !sum.reported[key] {
			sum.reported[key] = true
			a.Say("%s", strings.TrimRight(eval.ReportedChange(d), "\n"))
		}
	}
}
