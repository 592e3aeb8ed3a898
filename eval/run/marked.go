package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"molar/agent/answer"
	"molar/eval"
	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
	"molar/schemas"
)

// MarkedFlags are the flags of eval import that select marked answers.
type MarkedFlags struct {
	Marked, Since, Assistant string
	Mask                     []string
	Yes                      bool
}

// Filter converts the flags to a filter.
func (f *MarkedFlags) Filter(now time.Time) (schemas.FeedbackFilter, error) {
	want := schemas.FeedbackFilter{Mark: f.Marked, Assistant: f.Assistant}
	if f.Marked != "" && f.Marked != schemas.MarkUp && f.Marked != schemas.MarkDown {
		return want, cli.Usage(fmt.Errorf("%q: choose up or down", f.Marked))
	}
	if f.Since == "" {
		return want, nil
	}
	ago, err := config.ParseDuration(f.Since)
	if err != nil || ago <= 0 {
		return want, cli.Usage(fmt.Errorf("--since %q: want a time such as 7d or 12h", f.Since))
	}
	want.Since = now.Add(-ago)
	return want, nil
}

// importMarked makes a case of each marked answer from what was stored of its turn. Nothing is
// written before the person has confirmed what is masked.
func (a *Commands) importMarked(ctx context.Context, f ImportFlags) error {
	want, err := f.Filter(time.Now())
	if err != nil {
		return err
	}
	h, err := a.openHost(ctx, nil)
	if err != nil {
		return err
	}
	defer h.Close()
	if err := h.Attached(ctx); err != nil { // the tapes contain the tool definitions
		return cli.With(eval.ExitInfra, err)
	}
	if err := h.DB.Audit(ctx, schemas.AuditLine{Event: schemas.EventReview, Detail: "import marked"}); err != nil {
		return err
	}
	masker := eval.NewMasker(f.Mask)
	turns, err := a.collectMarked(ctx, h, want, masker)
	switch {
	case err != nil:
		return err
	case len(turns) == 0:
		return cli.With(eval.ExitNothing, errors.New("there is no marked answer to import"))
	}
	a.printMasks(masker.Values())
	if !f.Yes && !a.confirm(fmt.Sprintf("write %d cases into %s", len(turns), f.Out)) {
		return cli.Usage(fmt.Errorf("nothing was written; to write %d cases masked in this way, repeat it with --yes", len(turns)))
	}
	if err := os.MkdirAll(f.Out, 0o750); err != nil {
		return cli.Usage(err)
	}
	for _, e := range turns {
		c := eval.Case{V: eval.CaseVersion, ID: "marked-" + eval.SafeName(e.TurnID[max(0, len(e.TurnID)-8):]), Tags: []string{"marked", e.feedback.Mark}}
		if e.feedback.By == schemas.MarkedByReviewer {
			c.Tags = append(c.Tags, e.feedback.By)
		}
		a.Say("%s: marked %s by a %s", c.ID, e.feedback.Mark, e.feedback.By)
		c.File = filepath.Join(f.Out, c.ID+".yaml")
		if _, err := os.Stat(c.File); err == nil && !f.Force {
			a.Say("%s is there already; --force replaces it", c.File)
			continue
		}
		if c.Config, err = configFrom(f.Out, h.Config); err != nil {
			return cli.Usage(err)
		}
		if err := a.writeTurn(ctx, h, c, e, masker); err != nil {
			return err
		}
	}
	return nil
}

// collectMarked loads the marked turns, and collects the personal data in them.
func (a *Commands) collectMarked(ctx context.Context, h *host.Host, want schemas.FeedbackFilter, masker *eval.Masker) ([]savedTurn, error) {
	marks, err := h.DB.ListMarks(ctx, want)
	if err != nil {
		return nil, err
	}
	var all []savedTurn
	for _, f := range marks {
		counts, _, err := h.DB.GetMark(ctx, f.TurnID)
		if err != nil {
			return nil, err
		}
		if counts.By != f.By { // a reviewer's mark counts, as at the desk
			if counts.Mark != f.Mark {
				a.Say("turn %s is left out: a reviewer marked it %s", f.TurnID, counts.Mark)
			}
			continue
		}
		kept, ok, err := h.DB.GetTrace(ctx, f.TurnID)
		if err != nil {
			return nil, err
		}
		var t answer.Trace
		switch {
		case !ok:
			a.Say("turn %s is left out: its trace is no longer kept", f.TurnID)
			continue
		case json.Unmarshal(kept.Body, &t) != nil || t.Question == "":
			a.Say("turn %s is left out: its trace holds no text, as that of a refused question", f.TurnID)
			continue
		}
		e, err := gather(ctx, h, t)
		if err != nil {
			return nil, err
		}
		e.feedback = f
		for _, text := range e.texts() {
			masker.Learn(text)
		}
		all = append(all, e)
	}
	return all, nil
}

// texts returns what people, models and tools wrote in a turn.
func (e *savedTurn) texts() []string {
	all := []string{e.feedback.Note, e.Question, e.Answer}
	for _, m := range e.earlier {
		all = append(all, m.Content)
	}
	for _, p := range e.Passes {
		all = append(all, p.Output, p.Thinking)
		for _, call := range p.Calls {
			all = append(all, call.Function.Arguments)
		}
	}
	for _, t := range e.tapes {
		for _, r := range t.Records {
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

// mask replaces all personal data.
func (e *savedTurn) mask(m *eval.Masker) error {
	raw, err := json.Marshal(e.Trace)
	if err != nil {
		return err
	}
	e.Trace = answer.Trace{}
	if err := json.Unmarshal([]byte(m.Text(string(raw))), &e.Trace); err != nil {
		return fmt.Errorf("mask the trace of a turn: %w", err)
	}
	for i := range e.earlier {
		e.earlier[i].Content = m.Text(e.earlier[i].Content)
	}
	e.feedback.Note = m.Text(e.feedback.Note)
	return nil
}

// printMasks prints the rules, and the values that are masked.
func (a *Commands) printMasks(found []eval.MaskedValue) {
	a.Say("masked are, in all cases and tapes:")
	for _, rule := range eval.MaskRules() {
		a.Say("  %s", rule)
	}
	a.Say("found: %d", len(found))
	for _, f := range found {
		a.Say("  %s → %s", eval.Clean(f.Value), eval.Clean(f.Mask))
	}
}
