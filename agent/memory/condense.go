package memory

import (
	"context"
	"strings"

	"molar/agent/prompts"
)

const (
	// summaryBudget is how long a summary may grow before it is condensed, in bytes: some twenty
	// exchanges, and a quarter of the window of the smallest usual model.
	summaryBudget = 6 << 10
	// condenseStep is how far a summary that could not be condensed grows before a retry, in bytes.
	condenseStep = summaryBudget / 4
)

// condense shortens the summary so far if it has outgrown its budget; before is its length without the last
// exchange. Important facts that the model left out are added again in the old text's sentences. If
// the shorter text invents a number or ends up no shorter, the old one stays, as on a failure.
func (w *Worker) condense(ctx context.Context, x prompts.SummaryInput, before int) string {
	summary := x.SoFar
	if w.cfg.Condense == nil || len(summary) <= summaryBudget ||
		(before > summaryBudget && before/condenseStep == len(summary)/condenseStep) {
		return summary
	}
	ctx, cancel := context.WithTimeout(ctx, summaryTimeout)
	defer cancel()
	short, err := w.cfg.Condense(ctx, x)
	if err != nil {
		w.cfg.Logger.Warn("the summary could not be condensed and stays long", "length", len(summary), "error", err)
		return summary
	}
	short = strings.TrimSpace(short)
	if short == "" || invents(summary, short) {
		w.cfg.Logger.Warn("the condensed summary is empty or says what the long one does not, so the long one stays", "length", len(summary))
		return summary
	}
	if lost := lostSentences(summary, short); len(lost) > 0 {
		short += "\n\n" + strings.Join(lost, "\n")
	}
	if len(short) >= len(summary) {
		return summary
	}
	w.cfg.Logger.Info("Summary condensed", "from", len(summary), "to", len(short))
	return short
}
