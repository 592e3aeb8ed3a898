package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
	"molar/internal/store"
	"molar/schemas"
)

// Mark stores feedback on an answer: through a running host, whose newest turns may not be on disk
// yet, else directly in the store. Feedback without a mark removes the previous one.
func Mark(ctx context.Context, c *cli.CLI, cfg *config.Config, said schemas.Feedback) (schemas.Feedback, error) {
	if far, err := clientOf(c, cfg.HostAddress()); err == nil {
		if stored, err := far.mark(ctx, said); err == nil {
			return stored, nil
		}
	}
	db, err := openStore(ctx, cfg)
	if err != nil {
		return said, err
	}
	defer db.Close()
	stored, ok, err := host.TraceStore{DB: db}.PutFeedback(ctx, said)
	if err == nil && !ok {
		err = fmt.Errorf("there is no turn %q", said.TurnID)
	}
	return stored, err
}

func (h *Host) mark(ctx context.Context, said schemas.Feedback) (stored schemas.Feedback, err error) {
	body := map[string]string{"mark": cmp.Or(said.Mark, "none"), "note": said.Note}
	res, err := h.call(ctx, http.MethodPost, "/v1/turns/"+url.PathEscape(said.TurnID)+"/feedback", body, queryTimeout)
	if err == nil && res.code != http.StatusOK {
		err = fmt.Errorf("the host at %s answered %s", h.address, res.status)
	}
	if err != nil {
		return stored, err
	}
	return stored, res.decode(&stored)
}

func openStore(ctx context.Context, cfg *config.Config) (*store.DB, error) {
	return store.Open(ctx, store.Config{Path: cfg.Database()})
}

// Trace asks a running host first, whose newest traces may not be on disk yet, then reads the
// store.
func Trace(ctx context.Context, c *cli.CLI, cfg *config.Config, id string) (json.RawMessage, error) {
	refused := ""
	if far, err := clientOf(c, cfg.HostAddress()); err == nil {
		trace, err := far.ask(ctx, "/v1/turns/"+url.PathEscape(id))
		if err == nil {
			return trace, nil
		}
		if errors.Is(err, ErrRefused) {
			refused = "; " + err.Error() + ", to be asked for turns that still run"
		}
	}
	var trace json.RawMessage
	var ok bool
	err := review(ctx, cfg, id, "read", func(db *store.DB) (err error) {
		trace, ok, err = host.TraceStore{DB: db}.Trace(ctx, "", id)
		return err
	})
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("no turn %q is known: neither a trace nor a conversation holds it; it may have been refused more than 7 days ago, or deleted%s", id, refused)
	}
	return trace, nil
}
