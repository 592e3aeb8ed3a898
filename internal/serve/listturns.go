package serve

import (
	"context"

	"molar/internal/config"
	"molar/internal/host"
	"molar/schemas"
)

// Turns lists the turns of all people that match a filter, or, with gaps, the questions since its time
// that nobody could answer.
func Turns(ctx context.Context, cfg *config.Config, want schemas.TurnFilter, gaps bool) (turns []schemas.ListedTurn, groups []schemas.Gap, err error) {
	db, err := openStore(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	defer db.Close()
	traces := host.TraceStore{DB: db}
	if gaps {
		groups, err = traces.Gaps(ctx, want.Since)
		return nil, groups, err
	}
	turns, _, err = traces.Turns(ctx, want)
	return turns, nil, err
}
