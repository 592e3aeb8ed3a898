package host

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"molar/internal/budget"
	"molar/internal/config"
	"molar/internal/store"
	"molar/mcpservers/knowledge"
	"molar/providers"
	"molar/providers/chain"
	"molar/schemas"
)

// An embedder is a provider that computes the vectors of texts. The usage is nil if it does not report one,
// and set with an error too.
type embedder interface {
	Embed(ctx context.Context, model string, texts []string, as providers.Purpose) ([][]float32, *schemas.Usage, error)
}

// meaningOf returns how a folder is searched by meaning; nil if the settings name no provider, or there is no
// store to keep the vectors.
func meaningOf(cfg *config.Config, set config.Embeddings, db *store.DB, book *budget.Book, log *slog.Logger) (*knowledge.Meaning, error) {
	if set.Provider == "" || db == nil {
		return nil, nil
	}
	e, _ := cfg.LLM.Endpoint(set.Provider)
	client, err := Client(cfg.CAFile)
	if err != nil {
		return nil, err
	}
	open, known := openers()[e.Service.Name]
	if !known {
		return nil, fmt.Errorf("there is no endpoint %q", set.Provider)
	}
	c, err := open(opening{cfg, e, client, nil, log})
	if err != nil {
		return nil, err
	}
	service, able := c.Provider.(embedder)
	if !able {
		return nil, fmt.Errorf("%s computes no embeddings", set.Provider)
	}
	at := sha256.Sum256([]byte(e.BaseURL)) // hashed, as an address may hold a password
	key := fmt.Sprintf("%s %x %s", set.Provider, at[:4], set.Model)
	if set.Prefix != (config.Prefix{}) {
		key += fmt.Sprintf(" %q %q", set.Prefix.Document, set.Prefix.Query)
	}
	return &knowledge.Meaning{
		Provider: set.Provider, Model: set.Model, Key: key, Store: db,
		Embedder: embeddings{service, e, set, book, log},
	}, nil
}

// embeddings computes vectors with a model, and charges each call to nobody in particular if there is a book.
type embeddings struct {
	service  embedder
	endpoint config.Endpoint
	set      config.Embeddings
	book     *budget.Book
	log      *slog.Logger
}

// Embed implements [knowledge.Embedder].
func (m embeddings) Embed(ctx context.Context, texts []string, question bool) ([][]float32, error) {
	vectors, err := m.compute(ctx, texts, question)
	switch providers.KindOf(err) {
	case providers.KindModelNotFound, providers.KindAuth, providers.KindQuota, providers.KindTimeout, providers.KindBudget:
		err = awayError{err}
	}
	return vectors, err
}

// An awayError is a [knowledge.ErrAway] with its own text.
type awayError struct{ error }

// Is implements the interface of [errors.Is].
func (awayError) Is(target error) bool { return target == knowledge.ErrAway }

// Unwrap returns the cause.
func (e awayError) Unwrap() error { return e.error }

// compute computes vectors, and charges for them.
func (m embeddings) compute(ctx context.Context, texts []string, question bool) (vectors [][]float32, err error) {
	as, prefix := providers.PurposeDocument, m.set.Prefix.Document
	if question {
		as, prefix = providers.PurposeQuestion, m.set.Prefix.Query
	}
	whole := make([]string, len(texts))
	for i, t := range texts {
		whole[i] = prefix + t
	}
	compute := func(ctx context.Context) (used *schemas.Usage, err error) {
		note := func(why string) error {
			m.log.Info("embeddings: "+why, "provider", m.endpoint.Name, "model", m.set.Model)
			return nil
		}
		err = chain.Repeat(ctx, time.Now().Add(m.endpoint.Timeout), note, func(error) (err error) {
			var usage *schemas.Usage
			if vectors, usage, err = m.service.Embed(ctx, m.set.Model, whole, as); usage != nil { // by all tries
				sum := cmp.Or(used, new(schemas.Usage)).Add(*usage)
				used = &sum
			}
			return err
		})
		return used, err
	}
	if m.book == nil {
		_, err = compute(ctx)
		return vectors, err
	}
	price := m.endpoint.PriceOf
	if !price(m.set.Model).IsSet() {
		price = nil // an unknown price counts as none: vectors cost next to nothing
	}
	err = m.book.Charge(ctx, &providers.Request{Model: m.set.Model, System: strings.Join(whole, ""), MaxTokens: 1}, m.endpoint.Name, price, compute)
	return vectors, err
}
