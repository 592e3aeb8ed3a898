package agent

import (
	"context"
	"errors"
	"sync"

	"molar/agent/subject"
	"molar/providers"
)

// isUnpaid reports whether a model was not asked because no budget pays for the call, or because
// the store could not say whether one does.
func isUnpaid(err error) bool {
	return providers.KindOf(err) == providers.KindBudget || errors.Is(err, ErrStore)
}

// stopsAtBudget returns the judge's model, and what returns the error of a call for which no budget
// paid: the question is then not answered, rather than answered without a verdict.
func stopsAtBudget(model subject.Judge) (subject.Judge, func() error) {
	if model == nil {
		return nil, func() error { return nil }
	}
	var mu sync.Mutex
	var refused error
	return func(ctx context.Context, ask subject.Ask) (string, error) {
			text, err := model(ctx, ask)
			if isUnpaid(err) {
				mu.Lock()
				defer mu.Unlock()
				refused = err
			}
			return text, err
		}, func() error {
			mu.Lock()
			defer mu.Unlock()
			return refused
		}
}
