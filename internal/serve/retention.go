package serve

import (
	"context"
	"log/slog"
	"time"
)

// retentionEvery is how often old conversations are looked for.
const retentionEvery = time.Hour

// applyRetention deletes the conversations that did not change for longer than age, now and
// then every hour, until ctx ends. An age of zero keeps them for ever.
func applyRetention(ctx context.Context, age time.Duration, deleteOlder func(ctx context.Context, before time.Time) (int, error), log *slog.Logger) {
	if age <= 0 {
		return
	}
	tick := time.NewTicker(retentionEvery)
	defer tick.Stop()
	for {
		n, err := deleteOlder(ctx, time.Now().Add(-age))
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			log.Warn("old conversations could not be deleted; it is tried again in an hour", "deleted", n, "error", err)
		case n > 0:
			log.Info("old conversations deleted", "deleted", n, "not_changed_for", age)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
