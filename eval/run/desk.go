package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"molar/agent"
	"molar/agent/answer"
	"molar/eval"
	"molar/eval/tape"
	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
	"molar/providers"
	"molar/schemas"
	"molar/toolhandler"
)

// TestOf makes a case and its tape from a turn of a running host, with personal data masked. If the answer was
// marked as bad, the case is red until another answer comes. The files are written into the folder of review.tests; without one they are returned.
func (a *Commands) TestOf(ctx context.Context, h *host.Host, turnID string) (made schemas.TurnTest, err error) {
	dir := h.Config.Review.Tests
	if dir == "" {
		if dir, err = os.MkdirTemp("", "molar-test-*"); err != nil {
			return made, err
		}
		defer os.RemoveAll(dir)
	} else if err := os.MkdirAll(dir, 0o750); err != nil {
		return made, err
	}
	return a.testIn(ctx, h, dir, turnID)
}

// testIn is TestOf for a folder.
func (a *Commands) testIn(ctx context.Context, h *host.Host, dir, turnID string) (made schemas.TurnTest, err error) {
	if err := h.Traces.Flush(ctx); err != nil {
		return made, err
	}
	e, err := load(ctx, h, turnID)
	if err != nil {
		return made, err
	}
	_, names, err := host.TraceStore{DB: h.DB}.Names(ctx, e.Owner)
	if err != nil {
		return made, err
	}
	masker := eval.NewMasker(names)
	masker.Learn(e.texts()...)
	quiet := *a.CLI
	quiet.Stdout, quiet.Stderr = io.Discard, io.Discard
	return (&Commands{&quiet}).writeTest(ctx, h, dir, e, masker)
}

// caseOf returns the id of the test of a turn.
func caseOf(turnID string) string { return "desk-" + endOf(turnID) }

// writeTest writes a case and its tape into a folder.
func (a *Commands) writeTest(ctx context.Context, h *host.Host, dir string, e savedTurn, masker *eval.Masker) (made schemas.TurnTest, err error) {
	c := eval.Case{ID: caseOf(e.TurnID), Tags: []string{"desk"}}
	if e.feedback.Mark != "" {
		c.Tags = append(c.Tags, e.feedback.Mark)
	}
	c.File = filepath.Join(dir, c.ID+".yaml")
	if err := a.writeTurn(ctx, h, c, e, masker); err != nil {
		return made, fmt.Errorf("make a test of turn %q: %w", e.TurnID, err)
	}
	made.Case, made.Command = c.ID, "molar eval run --live "+shownTest(h.Config, c.File)
	for _, path := range []string{c.File, c.TapeFile()} {
		f := schemas.TestFile{Path: path}
		if h.Config.Review.Tests == "" { // to be downloaded
			text, err := os.ReadFile(path)
			if err != nil {
				return made, cli.Usage(err)
			}
			f = schemas.TestFile{Path: filepath.Base(path), Content: string(text)}
		}
		made.Files = append(made.Files, f)
	}
	return made, nil
}

// shownTest returns the path of a case as whoever runs the host names it: relative to the folder of the
// config file, and by its name alone if it was downloaded.
func shownTest(cfg *config.Config, file string) string {
	if cfg.Review.Tests == "" {
		return filepath.Base(file)
	}
	short, err := filepath.Rel(filepath.Dir(cfg.File), file)
	if cfg.File == "" || err != nil {
		return file
	}
	return short
}

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
		Mode: eval.Mode{LiveModel: true, LiveTools: true}, Skip: []string{schemas.MemoryServer}, Redactor: host.Redactor(h.Config),
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
	recorded, err := c.ReadTape()
	if err != nil {
		return run, last, err
	}
	var was tape.Turn
	if n := len(recorded.Turns); n > 0 {
		was = recorded.Turns[n-1]
	}
	sameEnd := map[string]bool{"guardrail": was.Guardrail == "refuse", "found": !was.Found()}
	run = schemas.TestRun{Case: c.ID, Answer: last.Answer, Reasons: []schemas.TestReason{}}
	for _, check := range result.Checks {
		switch {
		case check.OK:
		case strings.HasPrefix(check.Text, "expected no "): // what [eval.ExpectOtherAnswer] expects
			run.Reasons = append(run.Reasons, schemas.TestReason{Code: schemas.ReasonSameAnswer, Text: "the answer has again what it must not have"})
		case sameEnd[check.Name]:
			run.Reasons = append(run.Reasons, schemas.TestReason{Code: schemas.ReasonSameEnd, Text: "it ended in the same way again: " + eval.Clean(check.Text)})
		default:
			run.Reasons = append(run.Reasons, schemas.TestReason{Code: schemas.ReasonCheck, Text: eval.Clean(check.Text)})
		}
	}
	run.Passed = len(run.Reasons) == 0
	return run, last, nil
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
