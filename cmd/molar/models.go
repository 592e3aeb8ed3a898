package main

import (
	"context"
	"log/slog"
	"net/http"
	"slices"

	"molar/eval"
	"molar/internal/config"
	"molar/mcpservers/search"
	"molar/providers/chain"
	"molar/providers/gemini"
	"molar/providers/offline"
	"molar/providers/ollama"
	"molar/providers/openai"
)

// openModels builds the providers that the config makes possible, and the chain
// that chooses among them. It contacts none of them.
func openModels(cfg *config.Config, log *slog.Logger) (*chain.Chain, error) {
	return openModelsOver(nil, cfg, log)
}

// openModelsOver is openModels with a recorder or player between the providers and
// their services; nil for none.
func openModelsOver(edges eval.Edges, cfg *config.Config, log *slog.Logger) (*chain.Chain, error) {
	none, err := offline.New(offline.Config{Logger: log})
	if err != nil {
		return nil, err
	}
	candidates := make(map[string]chain.Candidate)
	client, err := trustingClient(cfg.CAFile)
	if err != nil {
		return nil, err
	}
	client = overEdges(edges, client)
	for name, open := range map[string]func(config.LLM, *http.Client, *slog.Logger) (chain.Candidate, error){
		"gemini": openGemini,
		"openai": openOpenAI,
		"ollama": openOllama,
	} {
		if cfg.LLM.Missing(name) != "" {
			continue
		}
		if candidates[name], err = open(cfg.LLM, client, log); err != nil {
			return nil, err
		}
	}
	if edges != nil {
		return chain.New(chain.Config{Order: cfg.LLM.Provider, Candidates: taped(edges, candidates), Offline: edges.Provider(none, true), Logger: log})
	}
	return chain.New(chain.Config{Order: cfg.LLM.Provider, Candidates: candidates, Offline: none, Logger: log})
}

func openGemini(llm config.LLM, client *http.Client, log *slog.Logger) (chain.Candidate, error) {
	g := llm.Gemini
	service, err := gemini.New(gemini.Config{APIKey: llm.GeminiKey.Reveal(), BaseURL: g.BaseURL, HTTPClient: client, FirstByte: g.Timeout, Logger: log})
	return chain.Candidate{Provider: service, Model: g.Model, SmallModel: g.SmallModel}, err
}

// googleSearch is Google Search over Gemini, or nil without a key. Each search is one
// model call.
func googleSearch(cfg *config.Config, log *slog.Logger) (func(context.Context, string) ([]search.Result, error), error) {
	if cfg.LLM.Missing("gemini") != "" {
		return nil, nil
	}
	g := cfg.LLM.Gemini
	service, err := gemini.New(gemini.Config{APIKey: cfg.LLM.GeminiKey.Reveal(), BaseURL: g.BaseURL, FirstByte: g.Timeout, Logger: log})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, query string) ([]search.Result, error) {
		answer, pages, err := service.Search(ctx, g.Model, query)
		if err != nil {
			return nil, err
		}
		results := make([]search.Result, len(pages))
		for i, page := range pages {
			results[i] = search.Result{Title: page.Title, Content: page.Said, Link: page.URL}
		}
		if len(results) > 0 && results[0].Content == "" {
			results[0].Content = answer // the service did not tell what it took from where
		}
		return results, nil
	}, nil
}

// lacking says why a bundled search tool is not there. Those of a molar mcp elsewhere
// are not known here.
func lacking(cfg *config.Config) map[string]string {
	if missing := cfg.LLM.Missing("gemini"); missing != "" && cfg.Memory.URL == "" {
		return map[string]string{config.ToolGoogle: config.ToolGoogle + " searches through Gemini and there is no key for it: " + missing + ", or choose another assistant"}
	}
	return nil
}

func openOpenAI(llm config.LLM, client *http.Client, log *slog.Logger) (chain.Candidate, error) {
	o := llm.OpenAI
	service, err := openai.New(openai.Config{APIKey: llm.OpenAIKey.Reveal(), BaseURL: o.BaseURL, HTTPClient: client, FirstByte: o.Timeout, Logger: log})
	if err != nil {
		return chain.Candidate{}, err
	}
	c := chain.Candidate{Provider: service, Model: o.Model, SmallModel: o.SmallModel, List: service.Models}
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

func openOllama(llm config.LLM, client *http.Client, log *slog.Logger) (chain.Candidate, error) {
	o := llm.Ollama
	local, err := ollama.New(ollama.Config{BaseURL: o.BaseURL, HTTPClient: client, FirstByte: o.Timeout, KeepAlive: o.KeepAlive, Logger: log})
	if err != nil {
		return chain.Candidate{}, err
	}
	ready := func(ctx context.Context) (model, small, why string, err error) {
		return ollama.Usable(ctx, local, o.Model, o.SmallModel)
	}
	list := func(ctx context.Context) ([]string, error) {
		models, err := local.Models(ctx)
		var names []string
		for _, m := range models {
			names = append(names, m.Name)
		}
		return names, err
	}
	return chain.Candidate{Provider: local, Model: o.Model, SmallModel: o.SmallModel, Ready: ready, List: list, Queues: true}, nil
}
