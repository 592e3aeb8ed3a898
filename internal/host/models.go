package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"molar/eval"
	"molar/internal/config"
	"molar/mcpservers/search"
	"molar/providers"
	"molar/providers/chain"
	"molar/providers/gemini"
	"molar/providers/offline"
	"molar/providers/ollama"
	"molar/providers/openai"
	"molar/providers/wire"
)

// OpenModels builds the providers that the config makes possible, and the chain
// that chooses among them. It contacts none of them.
func OpenModels(cfg *config.Config, log *slog.Logger) (*chain.Chain, error) {
	return openOver(nil, cfg, nil, log)
}

// openOver is Open with a recorder or player between the providers and their services, nil
// for none, and with what services refused before, which a player does without.
func openOver(edges eval.Edges, cfg *config.Config, refusals *wire.Refusals, log *slog.Logger) (*chain.Chain, error) {
	none, err := offline.New(offline.Config{Logger: log})
	if err != nil {
		return nil, err
	}
	candidates := make(map[string]chain.Candidate)
	client, err := Client(cfg.CAFile)
	if err != nil {
		return nil, err
	}
	client = overEdges(edges, client)
	if edges != nil {
		refusals = nil
	}
	for _, s := range providers.Services() {
		open, hasModels := openers()[s.Name]
		if !hasModels || cfg.LLM.MissingKey(s.Name) != "" {
			continue
		}
		c, err := open(cfg, client, refusals, log)
		if err != nil {
			return nil, err
		}
		c.Queues = s.Queues
		candidates[s.Name] = c
	}
	if edges != nil {
		return chain.New(chain.Config{Order: cfg.LLM.Provider, Candidates: taped(edges, candidates), Offline: edges.Provider(none, true), Logger: log})
	}
	return chain.New(chain.Config{Order: cfg.LLM.Provider, Candidates: candidates, Offline: none, Logger: log})
}

// An opener builds the adapter of a service from the settings, and what the chain asks of it.
type opener func(*config.Config, *http.Client, *wire.Refusals, *slog.Logger) (chain.Candidate, error)

// openers are those of all services with models, by name.
func openers() map[string]opener {
	return map[string]opener{
		providers.Gemini: openGemini,
		providers.OpenAI: openOpenAI,
		providers.Ollama: openOllama,
	}
}

func openGemini(cfg *config.Config, client *http.Client, refusals *wire.Refusals, log *slog.Logger) (chain.Candidate, error) {
	g := cfg.LLM.Gemini
	service, err := newGemini(cfg, client, refusals, log)
	if err != nil {
		return chain.Candidate{}, err
	}
	c := chain.Candidate{Provider: service, Model: g.Model, SmallModel: g.SmallModel, First: g.Timeout, List: service.Models}
	if g.BaseURL == gemini.DefaultBaseURL && g.Project == "" {
		c.Has = service.Has // the lists of gateways and of Vertex AI are seldom whole
	}
	return c, nil
}

func newGemini(cfg *config.Config, client *http.Client, refusals *wire.Refusals, log *slog.Logger) (*gemini.Provider, error) {
	g := cfg.LLM.Gemini
	return gemini.New(gemini.Config{
		APIKey: cfg.LLM.Key(providers.Gemini).Reveal(), BaseURL: g.BaseURL, Project: g.Project, Location: g.Location, Safety: g.Safety,
		HTTPClient: client, FirstByte: g.Timeout, Window: g.Window, Tuning: g.Tuning, Refusals: refusals, Logger: log,
	})
}

// googleSearch is Google Search over Gemini, or nil without a key. Each search is one
// model call.
func googleSearch(cfg *config.Config, log *slog.Logger) (func(context.Context, string) ([]search.Result, error), error) {
	if cfg.LLM.MissingKey(providers.Gemini) != "" {
		return nil, nil
	}
	g := cfg.LLM.Gemini
	client, err := Client(cfg.CAFile)
	if err != nil {
		return nil, err
	}
	service, err := newGemini(cfg, client, nil, log)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, query string) ([]search.Result, error) {
		var answer string
		var pages []gemini.Page
		again := func(why string) error {
			log.Info("google search: "+why, "model", g.Model)
			return nil
		}
		err := chain.Repeat(ctx, time.Now().Add(g.Timeout), again, func(error) (err error) {
			answer, pages, err = service.Search(ctx, g.Model, query)
			return err
		})
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

// lacking returns why a bundled search tool is not there. Those of a molar mcp elsewhere
// are not known here.
func lacking(cfg *config.Config) map[string]string {
	if missing := cfg.LLM.MissingKey(providers.Gemini); missing != "" && cfg.Memory.URL == "" {
		return map[string]string{config.ToolGoogle: config.ToolGoogle + " searches through Gemini and there is no key for it: " + missing + ", or choose another assistant"}
	}
	return nil
}

func openOpenAI(cfg *config.Config, client *http.Client, refusals *wire.Refusals, log *slog.Logger) (chain.Candidate, error) {
	llm, o := cfg.LLM, cfg.LLM.OpenAI
	keySetting := "OPENAI_API_KEY"
	if o.Key != "" || !llm.AtOpenAI() {
		keySetting = "llm.openai.key"
	}
	service, err := openai.New(openai.Config{
		Tuning: o.Tuning, APIKey: llm.Key(providers.OpenAI).Reveal(), KeySetting: keySetting, BaseURL: o.BaseURL,
		HTTPClient: client, FirstByte: o.Timeout, Window: o.Window, Refusals: refusals, Logger: log,
	})
	if err != nil {
		return chain.Candidate{}, err
	}
	c := chain.Candidate{Provider: service, Model: o.Model, SmallModel: o.SmallModel, First: o.Timeout, List: service.Models, Has: service.Has}
	if !llm.AtOpenAI() {
		// Another server may be down, and has models of its own.
		named, namedSmall := cfg.Models(providers.OpenAI)
		c.Wait = otherServerWait
		c.Ready = func(ctx context.Context) (model, small, why string, err error) {
			return service.Usable(ctx, named, namedSmall)
		}
	}
	return c, nil
}

// otherServerWait bounds the question for the models of another server with OpenAI's API:
// it may be far away and list hundreds.
const otherServerWait = 3 * time.Second

func openOllama(cfg *config.Config, client *http.Client, refusals *wire.Refusals, log *slog.Logger) (chain.Candidate, error) {
	o := cfg.LLM.Ollama
	local, err := ollama.New(ollama.Config{BaseURL: o.BaseURL, HTTPClient: client, FirstByte: o.Timeout, KeepAlive: string(o.KeepAlive), NumCtx: o.NumCtx, MaxNumCtx: o.MaxNumCtx, Tuning: o.Tuning, Refusals: refusals, Logger: log})
	if err != nil {
		return chain.Candidate{}, err
	}
	named, namedSmall := cfg.Models(providers.Ollama)
	ready := func(ctx context.Context) (model, small, why string, err error) {
		return local.Usable(ctx, named, namedSmall)
	}
	list := func(ctx context.Context) ([]string, error) {
		models, err := local.Models(ctx)
		var names []string
		for _, m := range models {
			names = append(names, m.Name)
		}
		return names, err
	}
	return chain.Candidate{
		Provider: local, Model: o.Model, SmallModel: o.SmallModel,
		First: o.Timeout, Ready: ready, List: list, Has: local.Has,
	}, nil
}

// WantsKey reports whether a service refused to list its models for want of a key, or of
// another one.
func WantsKey(err error) bool { return providers.KindOf(err) == providers.KindAuth }

// modelCheckTime bounds the questions of checkModels to one service.
const modelCheckTime = 3 * time.Second

// Check asks the local services that answer for the models that the file names
// there, and returns what is missing.
func Check(ctx context.Context, cfg *config.Config) error {
	c, err := OpenModels(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, modelCheckTime)
	defer cancel()
	var missing []error
	for _, m := range cfg.NamedModels() {
		if err := c.CheckModel(ctx, m.Provider, m.Model); err != nil {
			missing = append(missing, fmt.Errorf("%s: %w", m.Where, err))
		}
	}
	return errors.Join(missing...)
}
