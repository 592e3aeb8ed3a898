package running

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/host"
	"molar/internal/store"
	"molar/schemas"
)

// Mark marks an answer: by a running host, whose newest turns may not be on disk yet, else
// in the store. Without a mark the old one is taken back.
func Mark(ctx context.Context, c *cli.CLI, cfg *config.Config, said schemas.Feedback) (schemas.Feedback, error) {
	if far, err := Of(c, cfg.Door()); err == nil {
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
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	word := said.Mark
	if word == "" {
		word = "none"
	}
	body, err := json.Marshal(map[string]string{"mark": word, "note": said.Note})
	if err != nil {
		return stored, err
	}
	req, err := h.request(ctx, http.MethodPost, "/v1/turns/"+url.PathEscape(said.TurnID)+"/feedback")
	if err != nil {
		return stored, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	res, err := h.client.Do(req)
	if err != nil {
		return stored, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return stored, fmt.Errorf("the host at %s answered %s", h.address, res.Status)
	}
	return stored, json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&stored)
}

// Marked lists marked answers, the newest first.
func Marked(ctx context.Context, cfg *config.Config, want schemas.FeedbackFilter) ([]schemas.Feedback, error) {
	db, err := openStore(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	return db.ListFeedback(ctx, "", want)
}

func openStore(ctx context.Context, cfg *config.Config) (*store.DB, error) {
	return store.Open(ctx, store.Config{Path: cfg.Database(), Logger: slog.New(slog.DiscardHandler)})
}
