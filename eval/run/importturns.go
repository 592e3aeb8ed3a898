package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"molar/eval"
	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
	"molar/internal/text"
	"molar/schemas"
)

// TurnFlags are the flags with which eval import and turns list select turns.
type TurnFlags struct {
	host.Selection
	Ago string
}

// Selected converts the flags to a selection.
func (f *TurnFlags) Selected(now time.Time) (host.Selection, error) {
	want := f.Selection
	switch {
	case want.Marked != "" && want.Marked != schemas.MarkUp && want.Marked != schemas.MarkDown:
		return want, cli.Usage(fmt.Errorf("%q: choose up or down", want.Marked))
	case want.Limit < 0:
		return want, cli.Usage(fmt.Errorf("--limit %d: give a number from 1 on", want.Limit))
	case f.Ago == "":
		return want, nil
	}
	ago, err := config.ParseDuration(f.Ago)
	if err != nil || ago <= 0 {
		return want, cli.Usage(fmt.Errorf("--since %q: want a time such as 7d or 12h", f.Ago))
	}
	want.Since = now.Add(-ago)
	return want, nil
}

// importTurns makes a case of each selected turn from what was stored of it. Nothing is written before the
// person has confirmed what is masked.
func (a *Commands) importTurns(ctx context.Context, f ImportFlags) error {
	want, err := f.Selected(time.Now())
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
	by := strings.Join(want.Reasons(), ", ")
	if err := h.DB.Audit(ctx, schemas.AuditLine{Event: schemas.EventReview, Detail: "import " + by}); err != nil {
		return err
	}
	masker := eval.NewMasker(f.Mask)
	turns, err := a.loadSelected(ctx, h, want, masker)
	switch {
	case err != nil:
		return err
	case len(turns) == 0:
		return cli.With(eval.ExitNothing, fmt.Errorf("there is no turn to import: %s", by))
	}
	a.printMasks(masker.Values())
	if !f.Yes && !a.confirm(fmt.Sprintf("write %s into %s", text.Counted(len(turns), "case"), f.Out)) {
		return cli.Usage(fmt.Errorf("nothing was written; to write %s masked in this way, repeat it with --yes", text.Counted(len(turns), "case")))
	}
	if err := os.MkdirAll(f.Out, 0o750); err != nil {
		return cli.Usage(err)
	}
	for _, e := range turns {
		if err := a.importTurn(ctx, h, f, e, masker); err != nil {
			return err
		}
	}
	return nil
}

// importTurn writes the case of a selected turn, unless one is there.
func (a *Commands) importTurn(ctx context.Context, h *host.Host, f ImportFlags, e savedTurn, masker *eval.Masker) error {
	c := eval.Case{ID: e.why[0] + "-" + endOf(e.TurnID), Tags: slices.Clone(e.why)}
	if e.feedback.Mark != "" {
		c.Tags = append(c.Tags, e.feedback.Mark)
		a.Say("%s: marked %s by a %s", c.ID, e.feedback.Mark, e.feedback.By)
	}
	if e.feedback.By == schemas.MarkedByReviewer {
		c.Tags = append(c.Tags, e.feedback.By)
	}
	if there, _ := fs.Glob(os.DirFS(f.Out), "*-"+endOf(e.TurnID)+".yaml"); len(there) > 0 && !f.Force { // perhaps for another reason
		a.Say("%s is there already; --force replaces it", filepath.Join(f.Out, there[0]))
		return nil
	}
	c.File = filepath.Join(f.Out, c.ID+".yaml")
	return a.writeTurn(ctx, h, c, e, masker)
}

// loadSelected loads the selected turns, and collects the personal data in them. It prints which are left out.
func (a *Commands) loadSelected(ctx context.Context, h *host.Host, want host.Selection, masker *eval.Masker) (all []savedTurn, err error) {
	limit := want.Limit
	want.Limit = 0 // those that are left out do not count
	chosen, left, err := host.TraceStore{DB: h.DB}.Select(ctx, want)
	if err != nil {
		return nil, err
	}
	var why []string // no test can be made of a turn, each once
	turns := make(map[string]int)
	for _, t := range chosen {
		if limit > 0 && len(all) == limit {
			break
		}
		e, err := load(ctx, h, t.ID)
		if not, ok := errors.AsType[schemas.UntestableError](err); ok {
			if turns[string(not)]++; turns[string(not)] == 1 {
				why = append(why, string(not))
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		e.why = t.Why
		masker.Learn(e.texts()...)
		all = append(all, e)
	}
	for _, text := range why {
		left = append(left, fmt.Sprintf("left out: %d, %s", turns[text], text))
	}
	for _, line := range left {
		a.Say("%s", line)
	}
	return all, nil
}

// printMasks prints the rules, and the values that are masked.
func (a *Commands) printMasks(found []eval.MaskedValue) {
	a.Say("masked are, in all cases and tapes:")
	for _, rule := range eval.MaskRules() {
		a.Say("  %s", rule)
	}
	a.Say("found: %d", len(found))
	for _, f := range found {
		a.Say("  %s → %s", f.Value, f.Mask)
	}
}
