package serve

import (
	"context"
	"strings"
	"time"

	"molar/internal/config"
	"molar/internal/host"
	"molar/internal/store"
	"molar/schemas"
)

// maxGapTurns bounds the turns whose questions are grouped.
const maxGapTurns = 2000

// Turns lists the turns of all people that match a filter, as the operator of this machine.
func Turns(ctx context.Context, cfg *config.Config, want schemas.TurnFilter) (turns []schemas.ListedTurn, err error) {
	err = review(ctx, cfg, "", "list", func(db *store.DB) error {
		turns, _, err = host.TraceStore{DB: db}.Turns(ctx, want)
		return err
	})
	return turns, err
}

// Gaps groups the questions since a time that nobody could answer, as the operator of this machine.
func Gaps(ctx context.Context, cfg *config.Config, since time.Time) (groups []schemas.Gap, err error) {
	err = review(ctx, cfg, "", "gaps", func(db *store.DB) error {
		turns, _, err := host.TraceStore{DB: db}.Turns(ctx, schemas.TurnFilter{
			Outcomes: []schemas.Outcome{schemas.OutcomeRefused, schemas.OutcomeNotFound}, Limit: maxGapTurns,
		})
		groups = host.GapsOf(turns, since)
		return err
	})
	return groups, err
}

// Selected lists the turns of all people that a selection selects, as the operator of this machine.
func Selected(ctx context.Context, cfg *config.Config, want host.Selection) (turns []host.SelectedTurn, err error) {
	err = review(ctx, cfg, "", "list "+strings.Join(want.Reasons(), ", "), func(db *store.DB) error {
		turns, _, err = host.TraceStore{DB: db}.Select(ctx, want)
		return err
	})
	return turns, err
}

// Marked lists the marks of people and of reviewers, the newest first, as the operator of this machine.
func Marked(ctx context.Context, cfg *config.Config, want schemas.FeedbackFilter) (marks []schemas.Feedback, err error) {
	err = review(ctx, cfg, "", "list marks", func(db *store.DB) error {
		marks, err = db.ListMarks(ctx, want)
		return err
	})
	return marks, err
}

// review opens the store and reads turns of people, once that is recorded.
func review(ctx context.Context, cfg *config.Config, turnID, what string, read func(*store.DB) error) error {
	db, err := openStore(ctx, cfg)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.Audit(ctx, schemas.AuditLine{Event: schemas.EventReview, TurnID: turnID, Detail: what}); err != nil {
		return err
	}
	return read(db)
}
