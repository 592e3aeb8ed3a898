package serve

import (
	"cmp"
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

// vectorsKept is how long a vector is kept that no folder of knowledge uses.
const vectorsKept = 30 * 24 * time.Hour

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
	var own []string
	all := []retention{
		{"conversations", cfg.Memory.Retention, func(ctx context.Context, before time.Time) (int, error) { // old when they did not change
			return db.DeleteOlder(ctx, before, own...)
		}},
		{"lines of the audit", cfg.Audit.Retention, db.DropAudit},
		{"lines of usage", usageKept, db.DropUsage},
		{"unused vectors of passages", vectorsKept, db.DropVectors},
		// Those who write traces delete old ones as well. This also holds where nobody writes any.
		{"traces", cmp.Or(cfg.Telemetry.TraceRetention, store.DefaultTraceAge), func(ctx context.Context, before time.Time) (int, error) {
			n, err := db.PruneTraces(ctx, time.Since(before), store.DefaultTraceBytes)
			return int(n), err
		}},
		{"hashes of answers", time.Hour, db.DropAnswers}, // they say themselves how long they are kept
	}
	for _, a := range cfg.Assistants {
		if a.Value.Retention == nil {
			continue
		}
		own = append(own, a.Name)
		all = append(all, retention{"conversations of the assistant " + a.Name, *a.Value.Retention, func(ctx context.Context, before time.Time) (int, error) {
			return db.DeleteOlderOf(ctx, before, a.Name)
		}})
	}
	return all
}

// retain applies the retentions of the config file, and anew after each reload of it, until ctx ends.
func (p *port) retain(ctx context.Context) {
	for ctx.Err() == nil {
		stop := background(ctx, func(ctx context.Context) { applyRetention(ctx, p.Log, retentions(p.files.last(), p.DB)...) })
		select {
		case <-p.files.applied:
		case <-ctx.Done():
		}
		stop()
	}
}
