package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"molar/agent"
	"molar/agent/answer"
	"molar/eval"
	"molar/eval/tape"
	"molar/internal/host"
	"molar/providers"
	"molar/schemas"
	"molar/toolhandler"
)

// RunTestOf asks the questions of a turn's test again, of a running host and as somebody, and returns the
// trace of the last turn. A test that lies in the folder of review.tests is run as it is there, with what
// people changed in it. Only tools that read are called: nobody asked for anything.
func (a *Commands) RunTestOf(ctx context.Context, h *host.Host, turnID string, as agent.Turn) (run schemas.TestRun, last answer.Trace, err error) {
	dir, err := os.MkdirTemp("", "molar-test-*")
	if err != nil {
		return run, last, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(h.Config.Review.Tests, caseOf(turnID)+".yaml")
	if _, err := os.Stat(file); h.Config.Review.Tests == "" || errors.Is(err, fs.ErrNotExist) {
		if _, err := a.testIn(ctx, h, dir, turnID); err != nil {
			return run, last, err
		}
		file = filepath.Join(dir, caseOf(turnID)+".yaml")
	}
	cases, err := eval.Load(file)
	if err == nil {
		err = cases[0].Err
	}
	if err != nil {
		return run, last, schemas.UntestableError("the test cannot be read: " + eval.Clean(err.Error()))
	}
	c := &cases[0]
	asked := &askedHost{Host: h, as: as}
	asked.as.Rights = as.Rights.Within(readers(h))
	asked.as.Traced = func(t answer.Trace) { last = t }
	runner, err := eval.New(eval.Config{
		Open: func(context.Context, *eval.Case, *tape.Player, eval.Edges) (eval.Host, error) { return asked, nil },
		Mode: eval.Mode{LiveModel: true, LiveTools: true}, Skip: []string{schemas.MemoryServer},
		Judge: func(ctx context.Context, c *eval.Case) (providers.Route, error) {
			return h.Chain.Pick(ctx, wantJudge(h.Config, c))
		},
	})
	if err != nil {
		return run, last, err
	}
	defer runner.Close()
	result, err := runner.Case(ctx, c)
	switch {
	case err == nil && providers.KindOf(asked.broke) == providers.KindBudget:
		return run, last, asked.broke
	case err != nil:
		return run, last, fmt.Errorf("run the test of turn %q: %w", turnID, err)
	case result.Status == eval.StatusInfra:
		return run, last, schemas.UntestableError("the assistant cannot answer now: " + eval.Clean(result.Why))
	}
	run = schemas.TestRun{Case: c.ID, Answer: last.Answer, Reasons: []schemas.TestReason{}}
	for _, check := range result.Checks {
		switch {
		case check.OK:
		case strings.HasPrefix(check.Text, "expected no "): // what [eval.ExpectOtherAnswer] expects
			run.Reasons = append(run.Reasons, schemas.TestReason{Code: schemas.ReasonSameAnswer, Text: "the answer has again what it must not have"})
		default:
			run.Reasons = append(run.Reasons, schemas.TestReason{Code: schemas.ReasonCheck, Text: eval.Clean(check.Text)})
		}
	}
	same, err := endsAgain(ctx, h, turnID, last)
	if err == nil && same {
		run.Reasons = append(run.Reasons, schemas.TestReason{Code: schemas.ReasonSameEnd, Text: "it ended in the same way again: " + string(answer.OutcomeOf(last))})
	}
	run.Passed = len(run.Reasons) == 0
	return run, last, err
}

// endsAgain reports whether a turn ended as one did that was marked down because it had no answer. A model
// says so in other words each time, so the words of the answer do not tell.
func endsAgain(ctx context.Context, h *host.Host, turnID string, now answer.Trace) (bool, error) {
	mark, _, err := h.DB.GetMark(ctx, turnID)
	if err != nil || mark.Mark != schemas.MarkDown {
		return false, err
	}
	kept, _, err := h.DB.GetTrace(ctx, turnID)
	if err != nil {
		return false, err
	}
	var then answer.Trace
	if err := json.Unmarshal(kept.Body, &then); err != nil {
		return false, fmt.Errorf("read the trace of turn %q: %w", turnID, err)
	}
	end := answer.OutcomeOf(then)
	return end != schemas.OutcomeDone && end == answer.OutcomeOf(now), nil
}

// readers returns the tools of a host that only read.
func readers(h *host.Host) (tools []schemas.ToolInfo) {
	for _, t := range (host.Catalogue{Manager: h.MCP}).Tools() {
		if class, _ := toolhandler.Classify(t); class == toolhandler.Reads {
			tools = append(tools, t.ToolInfo)
		}
	}
	return tools
}

// An askedHost is a running host that answers the turns of a case. Nothing of them is stored, so each brings
// those before it.
type askedHost struct {
	*host.Host
	as     agent.Turn
	before []schemas.Message
	broke  error // what ended the last turn early
}

func (h *askedHost) Run(ctx context.Context, t agent.Turn) iter.Seq2[answer.Event, error] {
	turn := h.as
	turn.Assistant, turn.System = t.Assistant, t.System
	h.before = append(h.before, t.Messages...)
	turn.Messages = h.before
	return func(yield func(answer.Event, error) bool) {
		var said strings.Builder
		for event, err := range h.Runner().Run(ctx, turn) {
			if h.broke = err; event.Kind == answer.KindText {
				said.WriteString(event.Text)
			}
			if !yield(event, err) {
				return
			}
		}
		h.before = append(h.before, schemas.Text(schemas.RoleAssistant, said.String()))
	}
}

// Settle does nothing: no turn is stored, and none summarised.
func (h *askedHost) Settle(context.Context) error { return nil }

// Ready waits for the servers.
func (h *askedHost) Ready(ctx context.Context) error { return h.Attached(ctx) }

// Close leaves the host open: it answers others.
func (h *askedHost) Close() {}
