package main

import (
	"context"
	"log/slog"

	"molar/internal/config"
	"molar/providers/chain"
	"molar/providers/offline"
	"molar/providers/ollama"
)

// openModels builds the providers that the config makes possible, and the chain
// that chooses among them.
func openModels(cfg *config.Config, log *slog.Logger) (*chain.Chain, error) {
	none, err := offline.New(offline.Config{Logger: log})
	if err != nil {
		return nil, err
	}
	o := cfg.LLM.Ollama
	local, err := ollama.New(ollama.Config{BaseURL: o.BaseURL, FirstByte: o.Timeout, KeepAlive: o.KeepAlive, Logger: log})
	if err != nil {
		return nil, err
	}
	ready := func(ctx context.Context) (model, small, why string, err error) {
		return ollama.Usable(ctx, local, o.Model, o.SmallModel)
	}
	return chain.New(chain.Config{
		Order: cfg.LLM.Provider,
		Candidates: map[string]chain.Candidate{
			"ollama": {Provider: local, Model: o.Model, SmallModel: o.SmallModel, Ready: ready, Queues: true},
		},
		Offline: none,
		Logger:  log,
	})
}
