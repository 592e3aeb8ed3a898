package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"molar/agent"
	"molar/eval"
	"molar/eval/mask"
	"molar/eval/report"
	"molar/eval/tape"
	"molar/internal/cli"
	"molar/internal/config/decode"
	"molar/internal/host"
	"molar/internal/host/observe"
	"molar/internal/store"
	"molar/schemas"
)

// MarkedFlags are the flags of eval import that choose answers that were marked.
type MarkedFlags struct {
	Marked, Since, Assistant string
	Mask                     []string
	Yes                      bool
}

// Filter reads the flags.
func (f *MarkedFlags) Filter(now time.Time) (schemas.FeedbackFilter, error) {
	want := schemas.FeedbackFilter{Mark: f.Marked, Assistant: f.Assistant}
	if f.Marked != "" && f.Marked != schemas.MarkUp && f.Marked != schemas.MarkDown {
		return want, cli.Usage(fmt.Errorf("%q: choose up or down", f.Marked))
	}
	if f.Since == "" {
		return want, nil
	}
	ago, err := decode.ParseDuration(f.Since)
	if err != nil || ago <= 0 {
		return want, cli.Usage(fmt.Errorf("--since %q: want a time such as 7d or 12h", f.Since))
	}
	want.Since = now.Add(-ago)
	return want, nil
}

// importMarked makes a case of each answer that was marked, from what is kept of its turn.
// Nothing is written before the person saw what is masked.
func (a *Commands) importMarked(ctx context.Context, f ImportFlags) error {
	want, err := f.Filter(time.Now())
	if err != nil {
		return err
	}
	cfg, err := a.Load(nil)
	if err != nil {
		return err
	}
	log, err := a.Logger(cfg.Telemetry, slog.LevelWarn)
	if err != nil {
		return err
	}
	h, err := host.Open(ctx, cfg, log, host.Options{AttachWait: host.AttachWait, Env: a.Env})
	if err != nil {
		return err
	}
	defer h.Close()
	if err := h.Attached(ctx); err != nil { // the cases hold what the tools look like
		return cli.With(eval.ExitInfra, err)
	}
	masker := mask.New(f.Mask)
	turns, err := a.marked(ctx, h, want, masker)
	switch {
	case err != nil:
		return err
	case len(turns) == 0:
		return cli.With(eval.ExitNothing, errors.New("there is no marked answer to import"))
	}
	a.sayMasks(masker.Found())
	if !f.Yes && !a.agrees(fmt.Sprintf("write %d cases into %s", len(turns), f.Out)) {
		return cli.Usage(fmt.Errorf("nothing was written; to write %d cases masked in this way, repeat it with --yes", len(turns)))
	}
	if err := os.MkdirAll(f.Out, 0o750); err != nil {
		return cli.Usage(err)
	}
	for _, e := range turns {
		if err := a.writeMarked(ctx, h, f, e, masker); err != nil {
			return err
		}
	}
	return nil
}

// writeMarked writes a case of a marked answer and its tape: from the wire traffic of its
// conversation, where that was kept and replays as it was, else from the trace of the turn.
func (a *Commands) writeMarked(ctx context.Context, h *host.Host, f ImportFlags, e evidence, masker *mask.Masker) error {
	c := eval.Case{V: eval.CaseVersion, ID: "marked-" + eval.SafeName(e.TurnID[:min(8, len(e.TurnID))]), Tags: []string{"marked", e.said.Mark}}
	c.File = filepath.Join(f.Out, c.ID+".yaml")
	if _, err := os.Stat(c.File); err == nil && !f.Force {
		a.Say("%s is there already; --force replaces it", c.File)
		return nil
	}
	var err error
	if c.Config, err = a.configFrom(f.Out); err != nil {
		return cli.Usage(err)
	}
	if err := e.mask(masker); err != nil {
		return err
	}
	c.Note, c.Assistant = e.said.Note, e.Assistant
	redactor := observe.Redactor(h.Config)
	if len(e.wires) > 0 {
		replayed, err := a.writeWired(ctx, c, e, masker, redactor)
		if err == nil && replayed.Status != eval.StatusDrift {
			a.sayReplayed(replayed)
			return nil
		}
		a.Say("%s: the kept wire traffic does not replay as it was, so the tape is made from the trace: %s", c.ID, report.Clean(errorOr(err, replayed.Why)))
	}
	seen, err := e.write(h, &c)
	if err != nil {
		return err
	}
	c.Turns = []eval.Turn{{User: e.Question, Expect: e.expect(seen)}}
	if e.missing != "" {
		a.Say("turn %s: not in the case: %s", e.TurnID, e.missing)
	}
	if err := a.saveCase(c, redactor); err != nil {
		return err
	}
	replayed, err := a.tryCase(ctx, c.File)
	if err != nil {
		return err
	}
	a.sayReplayed(replayed)
	return nil
}

// writeWired writes the case of a conversation whose wire traffic was kept, up to the marked
// answer, and replays it.
func (a *Commands) writeWired(ctx context.Context, c eval.Case, e evidence, masker *mask.Masker, redactor *tape.Redactor) (eval.CaseResult, error) {
	joined, err := tape.Join(c.ID, e.wires, masker.Text)
	if err == nil {
		err = os.WriteFile(c.TapeFile(), joined, 0o600)
	}
	if err != nil {
		return eval.CaseResult{}, err
	}
	story, err := c.Story()
	if err != nil {
		return eval.CaseResult{}, err
	}
	for _, seen := range story.Turns {
		c.Turns = append(c.Turns, eval.Turn{User: seen.User})
	}
	last := len(story.Turns) - 1
	c.Turns[last].Expect = e.expect(story.Turns[last])
	if err := a.saveCase(c, redactor); err != nil {
		return eval.CaseResult{}, err
	}
	return a.tryCase(ctx, c.File)
}

func (a *Commands) sayReplayed(r eval.CaseResult) {
	a.Say("replayed: %s %s", r.Status, report.Clean(r.Why))
}

func errorOr(err error, text string) string {
	if err != nil {
		return err.Error()
	}
	return text
}

// expect is what a case wants of the marked answer: what happened, or, where it was bad,
// another answer.
func (e *evidence) expect(seen tape.Seen) eval.Expect {
	if e.said.Mark == schemas.MarkDown {
		return eval.Unlike(seen)
	}
	return eval.Observed(seen)
}

// marked collects what is kept of marked turns, and what of it is personal.
func (a *Commands) marked(ctx context.Context, h *host.Host, want schemas.FeedbackFilter, masker *mask.Masker) ([]evidence, error) {
	said, err := h.DB.ListFeedback(ctx, "", want)
	if err != nil {
		return nil, err
	}
	var all []evidence
	for _, f := range said {
		kept, ok, err := h.DB.GetTrace(ctx, f.TurnID)
		if err != nil {
			return nil, err
		}
		e := evidence{said: f}
		switch {
		case !ok:
			a.Say("turn %s is left out: its trace is no longer kept", f.TurnID)
			continue
		case json.Unmarshal(kept.Body, &e.Trace) != nil || e.Question == "":
			a.Say("turn %s is left out: its trace holds no text, as that of a refused question", f.TurnID)
			continue
		}
		if e.earlier, e.missing, err = before(ctx, h, e.Trace); err != nil {
			return nil, err
		}
		if e.wires, err = wires(ctx, h, e.Trace); err != nil {
			return nil, err
		}
		for _, text := range e.texts() {
			masker.Look(text)
		}
		all = append(all, e)
	}
	return all, nil
}

// wires are the tapes of the turns of a conversation up to this one; none where one of them
// was not kept, or a judge's verdict was known from before, which no tape has.
func wires(ctx context.Context, h *host.Host, t agent.Trace) (all [][]tape.Record, err error) {
	if t.Memory == "stateless" {
		return nil, nil
	}
	var turns []string
	if t.ConversationID != "" {
		messages, _, err := h.DB.Messages(ctx, "", t.ConversationID, store.MessageRange{})
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			if m.TurnID == t.TurnID {
				break
			}
			turns = append(turns, m.TurnID)
		}
	}
	for _, id := range append(slices.Compact(turns), t.TurnID) {
		lines, ok, err := h.DB.GetWire(ctx, id)
		if err != nil || !ok {
			return nil, err
		}
		records, err := tape.Records(lines)
		if err != nil {
			return nil, err
		}
		kept, ok, err := h.DB.GetTrace(ctx, id)
		var known struct{ Verdict struct{ Cached bool } }
		if err != nil || ok && json.Unmarshal(kept.Body, &known) == nil && known.Verdict.Cached {
			return nil, err
		}
		all = append(all, records)
	}
	return all, nil
}

// texts are what people, models and tools wrote in a turn.
func (e *evidence) texts() []string {
	all := []string{e.said.Note, e.Question, e.Answer}
	for _, m := range e.earlier {
		all = append(all, m.Content)
	}
	for _, p := range e.Passes {
		all = append(all, p.Output, p.Thinking)
		for _, call := range p.Calls {
			all = append(all, call.Function.Arguments)
		}
	}
	for _, records := range e.wires {
		for _, r := range records {
			all = append(all, r.Text, string(r.Content))
			if r.Call != nil {
				all = append(all, r.Call.Function.Arguments)
			}
		}
	}
	for _, tool := range e.Tools {
		for _, call := range tool.Calls {
			all = append(all, call.Arguments, call.Output)
		}
	}
	return all
}

// mask replaces what is personal wherever it stands.
func (e *evidence) mask(m *mask.Masker) error {
	raw, err := json.Marshal(e.Trace)
	if err != nil {
		return err
	}
	e.Trace = agent.Trace{}
	if err := json.Unmarshal([]byte(m.Text(string(raw))), &e.Trace); err != nil {
		return fmt.Errorf("mask the trace of a turn: %w", err)
	}
	for i := range e.earlier {
		e.earlier[i].Content = m.Text(e.earlier[i].Content)
	}
	e.said.Note = m.Text(e.said.Note)
	return nil
}

// sayMasks shows the rules, and what they found.
func (a *Commands) sayMasks(found []mask.Found) {
	a.Say("masked are, in all cases and tapes:")
	for _, rule := range mask.Rules() {
		a.Say("  %s", rule)
	}
	a.Say("found: %d", len(found))
	for _, f := range found {
		a.Say("  %s → %s", report.Clean(f.Value), report.Clean(f.Mask))
	}
}
