package running

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
)

// Trace asks a running host first, whose newest traces may not be on disk yet,
// then reads the store.
func Trace(ctx context.Context, c *cli.CLI, cfg *config.Config, id string) (json.RawMessage, error) {
	if far, err := Of(c, cfg.Door()); err == nil {
		if trace, err := far.Ask(ctx, "/v1/turns/"+url.PathEscape(id)); err == nil {
			return trace, nil
		}
	}
	db, err := openStore(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	trace, ok, err := host.TraceStore{DB: db}.Trace(ctx, "", id)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("there is no trace of turn %q; traces are kept 7 days, and telemetry.trace must be on", id)
	}
	return trace, nil
}
