package listen

import (
	"context"
	"log/slog"
	"time"

	"molar/internal/host"
	"molar/internal/store"
	"molar/mcpclients"
)

// decisionsRefresh is how often the stored switches and pins are read anew: how long
// another replica over the same database goes on as before at most.
const decisionsRefresh = 500 * time.Millisecond

// watchDecisions takes over, until ctx ends, what other replicas decided about tools.
func watchDecisions(ctx context.Context, db *store.DB, tools *mcpclients.Manager, log *slog.Logger) {
	read := func(ctx context.Context) (mcpclients.Decisions, error) { return host.DecisionsNow(ctx, db) }
	tick := time.NewTicker(decisionsRefresh)
	defer tick.Stop()
	said := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := tools.Refresh(ctx, read)
		if err != nil && ctx.Err() == nil && !said {
			log.Warn("the switches of tools cannot be read anew; those known so far stay in force", "error", err)
		}
		said = err != nil
	}
}
