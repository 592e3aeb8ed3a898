package serve

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"molar/internal/config"
	"molar/internal/store"
)

// retentionEvery is how often old data is looked for.
const retentionEvery = time.Hour

// usageKept is how long usage is kept: 13 months.
const usageKept = 396 * 24 * time.Hour

// A retention deletes what is too old.
type retention struct {
	// what is deleted, for the log.
	what string
	// age is how old it may be; zero keeps it for ever.
	age         time.Duration
	deleteOlder func(ctx context.Context, before time.Time) (int, error)
}

// applyRetention deletes what is older than its age, now and then every hour, until ctx ends.
func applyRetention(ctx context.Context, log *slog.Logger, all ...retention) {
	all = slices.DeleteFunc(all, func(r retention) bool { return r.age <= 0 })
	if len(all) == 0 {
		return
	}
	tick := time.NewTicker(retentionEvery)
	defer tick.Stop()
	for {
		for _, r := range all {
			n, err := r.deleteOlder(ctx, time.Now().Add(-r.age))
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				log.Warn("old "+r.what+" could not be deleted; it is tried again in an hour", "deleted", n, "error", err)
			case n > 0:
				log.Info("old "+r.what+" deleted", "deleted", n, "older_than", r.age)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// retentions are what a store keeps for a time only.
func retentions(cfg *config.Config, db *store.DB) []retention {
	return []retention{
		{"conversations", cfg.Memory.Retention, db.DeleteOlder}, // old when they did not change
		{"lines of the audit", cfg.Audit.Retention, db.DropAudit},
		{"lines of usage", usageKept, db.DropUsage},
		{"hashes of answers", time.Hour, db.DropAnswers}, // they say themselves how long they are kept
	}
}
