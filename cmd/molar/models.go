package main

import (
	"context"
	"log/slog"
	"slices"

	"molar/internal/config"
	"molar/providers/chain"
	"molar/providers/gemini"
	"molar/providers/offline"
	"molar/providers/ollama"
	"molar/providers/openai"
)

// openModels builds the providers that the config makes possible, and the chain
// that chooses among them. It contacts none of them.
func openModels(cfg *config.Config, log *slog.Logger) (*chain.Chain, error) {
	none, err := offline.New(offline.Config{Logger: log})
	if err != nil {
		return nil, err
	}
	candidates := make(map[string]chain.Candidate)
	for name, open := range map[string]func(config.LLM, *slog.Logger) (chain.Candidate, error){
		"gemini": openGemini,
		"openai": openOpenAI,
		"ollama": openOllama,
	} {
		if cfg.LLM.Missing(name) != "" {
			continue
		}
		if candidates[name], err = open(cfg.LLM, log); err != nil {
			return nil, err
		}
	}
	return chain.New(chain.Config{Order: cfg.LLM.Provider, Candidates: candidates, Offline: none, Logger: log})
}

func openGemini(llm config.LLM, log *slog.Logger) (chain.Candidate, error) {
	g := llm.Gemini
	service, err := gemini.New(gemini.Config{APIKey: llm.GeminiKey.Reveal(), BaseURL: g.BaseURL, FirstByte: g.Timeout, Logger: log})
	return chain.Candidate{Provider: service, Model: g.Model, SmallModel: g.SmallModel}, err
}

func openOpenAI(llm config.LLM, log *slog.Logger) (chain.Candidate, error) {
	o := llm.OpenAI
	service, err := openai.New(openai.Config{APIKey: llm.OpenAIKey.Reveal(), BaseURL: o.BaseURL, FirstByte: o.Timeout, Logger: log})
	if err != nil {
		return chain.Candidate{}, err
	}
	c := chain.Candidate{Provider: service, Model: o.Model, SmallModel: o.SmallModel}
	if llm.OpenAIKey == "" {
		// A server of one's own may be down, and has models of its own.
		c.Ready = func(ctx context.Context) (model, small, why string, err error) {
			ids, err := service.Models(ctx)
			if err != nil {
				return "", "", "", err
			}
			model, small, why = fit(ids, o.Model, o.SmallModel)
			return model, small, why, nil
		}
	}
	return c, nil
}

// fit chooses among the models that a server lists: the configured one, else its
// first. A server that lists none is asked for the configured one.
func fit(ids []string, model, small string) (fitModel, fitSmall, why string) {
	why = "it answers"
	if len(ids) > 0 && !slices.Contains(ids, model) {
		why += ", and has no " + model
		model = ids[0]
	}
	if len(ids) > 0 && !slices.Contains(ids, small) {
		small = model
	}
	return model, small, why
}

func openOllama(llm config.LLM, log *slog.Logger) (chain.Candidate, error) {
	o := llm.Ollama
	local, err := ollama.New(ollama.Config{BaseURL: o.BaseURL, FirstByte: o.Timeout, KeepAlive: o.KeepAlive, Logger: log})
	if err != nil {
		return chain.Candidate{}, err
	}
	ready := func(ctx context.Context) (model, small, why string, err error) {
		return ollama.Usable(ctx, local, o.Model, o.SmallModel)
	}
	return chain.Candidate{Provider: local, Model: o.Model, SmallModel: o.SmallModel, Ready: ready, Queues: true}, nil
}
