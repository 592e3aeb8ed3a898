package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	yaml "github.com/goccy/go-yaml"

	"molar/agent"
	"molar/agent/answer"
	"molar/eval"
	"molar/eval/tape"
	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
	"molar/internal/text"
)

// RecordFlags are the flags of eval record.
type RecordFlags struct {
	Out, ID, Assistant, Provider, Model, Turn string
	Tags                                      []string
	MCP                                       []string
	NoSummary, AllowFailure                   bool
	// Judge is a rule that a judge checks the last answer by. Grounded checks its claims.
	Judge    string
	Grounded bool
	// Take chooses among the checks that are proposed: all, none, or numbers such as 1,3-4. If empty, a
	// person is asked, or they become comments.
	Take string
}

// draft creates a case from the flags.
func (f *RecordFlags) draft() (eval.Case, error) {
	c := eval.Case{V: eval.CaseVersion, ID: f.ID, Tags: f.Tags, Assistant: f.Assistant, File: f.Out}
	if c.ID == "" {
		c.ID = strings.TrimSuffix(filepath.Base(f.Out), filepath.Ext(f.Out))
	}
	if _, err := os.Stat(f.Out); err == nil {
		return c, cli.Usage(fmt.Errorf("%s exists; choose another name, or see: molar eval accept", f.Out))
	}
	if err := os.MkdirAll(filepath.Dir(f.Out), 0o750); err != nil {
		return c, cli.Usage(err)
	}
	return c, nil
}

// Record makes a case from prompts, or from a saved turn.
func (a *Commands) Record(ctx context.Context, f RecordFlags, prompts []string) error {
	if f.Out == "" || (len(prompts) == 0) == (f.Turn == "") {
		return cli.Usage(errors.New("give --out CASE.yaml, and either prompts or --turn ID"))
	}
	if f.Turn != "" && (f.Judge != "" || f.Grounded) {
		return cli.Usage(errors.New("--judge and --grounded go with prompts: write judge or grounded under expect.answer of the turn's case, and then molar eval accept --judge live"))
	}
	if f.Take != "" {
		if _, err := parseChoices(f.Take, mostChoices); err != nil {
			return cli.Usage(fmt.Errorf("--take: %w", err))
		}
	}
	if err := a.mayRecord(); err != nil {
		return err
	}
	if f.Turn != "" {
		return a.recordTurn(ctx, f)
	}
	return a.recordPrompts(ctx, f, prompts)
}

// recordPrompts runs the prompts as one conversation on an empty store.
func (a *Commands) recordPrompts(ctx context.Context, f RecordFlags, prompts []string) (err error) {
	c, err := f.draft()
	if err != nil {
		return err
	}
	cfg, err := a.LoadWithServers(map[string]string{"llm.provider": f.Provider}, f.MCP)
	if err != nil {
		return err
	}
	if c.Config, err = configFrom(filepath.Dir(f.Out), cfg.File); err != nil {
		return err
	}
	c.Assistant = cmp.Or(c.Assistant, cfg.Default)
	for _, prompt := range prompts {
		c.Turns = append(c.Turns, eval.Turn{User: prompt})
	}
	log, err := a.Logger(cfg.Telemetry, slog.LevelWarn)
	if err != nil {
		return err
	}
	rec, done, err := a.openRecorder(c.TapeFile(), c.ID, cfg, choice{Assistant: c.Assistant, Provider: f.Provider, Model: f.Model})
	if err != nil {
		return err
	}
	seen, err := a.recordTurns(ctx, cfg, log, rec, &c, f)
	if err == nil && !f.AllowFailure {
		err = a.requireComplete(c.ID, append(c.UnexpectedFailures(seen), rec.Failures()...))
	}
	var unjudged error
	if err == nil {
		c.ExpectObserved(seen)
		unjudged = a.judgeRecording(ctx, cfg, log, rec, &c, seen, f)
	}
	if err = errors.Join(err, done()); err != nil {
		return errors.Join(err, os.Remove(c.TapeFile()))
	}
	a.printTurns(seen)
	if err := writeCase(c, host.Redactor(cfg)); err != nil {
		return err
	}
	if err := a.proposeChecks(c.File, f.Take, host.Redactor(cfg)); err != nil {
		return err
	}
	a.printWritten(c)
	return unjudged
}

// requireComplete returns an error, and prints the reasons, if anything failed in a recording.
func (a *Commands) requireComplete(id string, why []string) error {
	if len(why) == 0 {
		return nil
	}
	a.printRejected(id, why)
	return cli.With(eval.ExitInfra, errors.New("nothing was kept: repair what failed, or keep it with --allow-failure"))
}

// recordTurns runs the prompts on a temporary store.
func (a *Commands) recordTurns(ctx context.Context, cfg *config.Config, log *slog.Logger, rec *tape.Recorder, c *eval.Case, f RecordFlags) ([]tape.Turn, error) {
	dir, err := os.MkdirTemp("", "molar-eval-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	fresh := *cfg
	fresh.Memory.Store, fresh.Memory.URL, fresh.Telemetry.Trace = filepath.Join(dir, "molar.db"), "", "off"
	h, err := host.Open(ctx, &fresh, log, host.Options{AttachWait: host.AttachWait, Env: a.Env, Edges: rec})
	if err != nil {
		return nil, err
	}
	defer h.Close()
	if err := h.Attached(ctx); err != nil && !f.AllowFailure {
		return nil, a.requireComplete(c.ID, []string{err.Error()})
	}
	run := func(ctx context.Context, t agent.Turn) iter.Seq2[answer.Event, error] {
		t.ModelChoice = agent.ModelChoice{Provider: f.Provider, Model: f.Model}
		return h.Agent.Run(ctx, t)
	}
	turn := 0
	return c.Converse(ctx, func(ctx context.Context, t agent.Turn) iter.Seq2[answer.Event, error] { return rec.Turn(ctx, t, run) }, func(s *tape.Turn) error {
		turn++
		if f.NoSummary || s.Sum.Error != "" || s.Sum.Refused {
			return nil
		}
		if err := h.Worker.Drain(tape.InTurn(ctx, turn)); err != nil {
			return fmt.Errorf("summary: %w", err)
		}
		return nil
	})
}

// longestLine is the maximum length of a line about a recording, in bytes.
const longestLine = 300

// printTurns prints what happened in turns.
func (a *Commands) printTurns(seen []tape.Turn) {
	for _, line := range eval.Describe(seen) {
		a.Say("%s", text.Clip(line, longestLine, "…"))
	}
}

// writeCase writes the case's file, with secrets redacted as on the tape.
func writeCase(c eval.Case, redactor *tape.Redactor, more ...yaml.EncodeOption) error {
	data, err := caseText(c, more...)
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.File, []byte(redactor.Text(string(data))), 0o600); err != nil {
		return cli.Usage(err)
	}
	return nil
}

// caseText returns a case as YAML.
func caseText(c eval.Case, more ...yaml.EncodeOption) ([]byte, error) {
	return yaml.MarshalWithOptions(c, append(more, yaml.UseLiteralStyleIfMultiline(true), yaml.IndentSequence(true))...)
}

// printWritten prints where a case was written, and the next step.
func (a *Commands) printWritten(c eval.Case) {
	a.Say("case %s: %s", c.ID, c.File)
	a.Say("tape: %s", c.TapeFile())
	a.Say("look at its expectations, then: molar eval run %s", c.File)
}
