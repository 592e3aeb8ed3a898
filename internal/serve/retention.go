package serve

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
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
	// every is how often it is looked for; zero means retentionEvery.
	every time.Duration
}

// applyRetention deletes what is older than its age, now and then again and again, until ctx ends.
func applyRetention(ctx context.Context, log *slog.Logger, all ...retention) {
	var each sync.WaitGroup
	for _, r := range all {
		if r.age > 0 {
			each.Go(func() { r.apply(ctx, log) })
		}
	}
	each.Wait()
}

func (r retention) apply(ctx context.Context, log *slog.Logger) {
	every := cmp.Or(r.every, retentionEvery)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		n, err := r.deleteOlder(ctx, time.Now().Add(-r.age))
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			log.Warn("old "+r.what+" could not be deleted; it is tried again", "in", every, "deleted", n, "error", err)
		case n > 0:
			log.Info("old "+r.what+" deleted", "deleted", n, "older_than", r.age)
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
	visitors := cfg.Public.Keep
	all := []retention{
		{what: "conversations", age: cfg.Memory.Retention, deleteOlder: func(ctx context.Context, before time.Time) (int, error) { // old when they did not change
			return db.DeleteOlder(ctx, before, own...)
		}},
		// Also when nothing is public any more. What was promised to visitors is kept to within a twenty-fourth.
		{what: "conversations of visitors", age: visitors, deleteOlder: db.DeleteVisitors, every: min(max(visitors/24, time.Second), retentionEvery)},
		{what: "counts of visitors' questions", age: time.Hour, deleteOlder: db.DropCounts},
		{what: "lines of the audit", age: cfg.Audit.Retention, deleteOlder: db.DropAudit},
		{what: "lines of usage", age: usageKept, deleteOlder: db.DropUsage},
		{what: "unused vectors of passages", age: vectorsKept, deleteOlder: db.DropVectors},
		// Those who write traces delete old ones as well. This also holds where nobody writes any.
		{what: "traces", age: cmp.Or(cfg.Telemetry.TraceRetention, store.DefaultTraceAge), deleteOlder: func(ctx context.Context, before time.Time) (int, error) {
			n, err := db.PruneTraces(ctx, time.Since(before), store.DefaultTraceBytes)
			return int(n), err
		}},
		{what: "hashes of answers", age: time.Hour, deleteOlder: db.DropAnswers}, // they say themselves how long they are kept
	}
	for _, a := range cfg.Assistants {
		if a.Value.Retention == nil {
			continue
		}
		own = append(own, a.Name)
		all = append(all, retention{what: "conversations of the assistant " + a.Name, age: *a.Value.Retention, deleteOlder: func(ctx context.Context, before time.Time) (int, error) {
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
