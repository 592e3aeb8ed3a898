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
	"molar/providers/anthropic"
	"molar/providers/chain"
	"molar/providers/gemini"
	"molar/providers/offline"
	"molar/providers/ollama"
	"molar/providers/openai"
	"molar/providers/wire"
)

// OpenModels builds the configured providers, and the chain that chooses among them. It contacts
// none of them.
func OpenModels(cfg *config.Config, log *slog.Logger) (*chain.Chain, error) {
	return openOver(nil, cfg, nil, log)
}

// openOver is OpenModels with two additions. If edges is not nil, its recorder or player is between the
// providers and their services. Otherwise tools that services refused earlier are left out.
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
		return chain.New(chain.Config{Order: cfg.LLM.Provider, Candidates: tapeCandidates(edges, candidates), Offline: edges.Provider(none, true), Logger: log})
	}
	return chain.New(chain.Config{Order: cfg.LLM.Provider, Candidates: candidates, Offline: none, Logger: log})
}

// An opener builds the chain's candidate for a service from the settings.
type opener func(*config.Config, *http.Client, *wire.Refusals, *slog.Logger) (chain.Candidate, error)

// openers returns the openers of all services with models, by name.
func openers() map[string]opener {
	return map[string]opener{
		providers.Gemini:    openGemini,
		providers.OpenAI:    openOpenAI,
		providers.Anthropic: openAnthropic,
		providers.Ollama:    openOllama,
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
		c.Has = service.Has // the lists of gateways and of Vertex AI are seldom complete
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

// googleSearch returns a function that searches Google through Gemini, or nil without a key. Each
// search is one model call.
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
			results[0].Content = answer // the service did not attribute parts of the answer to sources
		}
		return results, nil
	}, nil
}

// missingTools returns the bundled search tools that are missing, with the reason. It returns none
// if the tools run in another process, at memory.url, where this process does not know them.
func missingTools(cfg *config.Config) map[string]string {
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
		Tuning: o.Tuning, APIKey: llm.Key(providers.OpenAI).Reveal(), KeySetting: keySetting, BaseURL: o.BaseURL, API: openai.API(o.API),
		HTTPClient: client, FirstByte: o.Timeout, Window: o.Window, Refusals: refusals, Logger: log,
	})
	if err != nil {
		return chain.Candidate{}, err
	}
	c := chain.Candidate{Provider: service, Model: o.Model, SmallModel: o.SmallModel, First: o.Timeout, List: service.Models, Has: service.Has}
	if !llm.AtOpenAI() {
		// Another server may be down, and its models differ from OpenAI's.
		named, namedSmall := cfg.Models(providers.OpenAI)
		c.Wait = otherServerWait
		c.Ready = func(ctx context.Context) (model, small, why string, err error) {
			return service.Usable(ctx, named, namedSmall)
		}
	}
	return c, nil
}

// otherServerWait is the time limit for listing the models of another server with OpenAI's API,
// which may be far away and list hundreds of models.
const otherServerWait = 3 * time.Second

func openAnthropic(cfg *config.Config, client *http.Client, refusals *wire.Refusals, log *slog.Logger) (chain.Candidate, error) {
	a := cfg.LLM.Anthropic
	keySetting := "ANTHROPIC_API_KEY"
	if a.Key != "" {
		keySetting = "llm.anthropic.key"
	}
	service, err := anthropic.New(anthropic.Config{
		Tuning: a.Tuning, APIKey: cfg.LLM.Key(providers.Anthropic).Reveal(), KeySetting: keySetting, BaseURL: a.BaseURL,
		HTTPClient: client, FirstByte: a.Timeout, Window: a.Window, Refusals: refusals, Logger: log,
	})
	if err != nil {
		return chain.Candidate{}, err
	}
	return chain.Candidate{Provider: service, Model: a.Model, SmallModel: a.SmallModel, First: a.Timeout, List: service.Models, Has: service.Has}, nil
}

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

// WantsKey reports whether a service refused to list its models because the key is missing or
// invalid.
func WantsKey(err error) bool { return providers.KindOf(err) == providers.KindAuth }

// modelCheckTime is the time limit of CheckModels.
const modelCheckTime = 3 * time.Second

// CheckModels checks that the services have the models that the settings name, and returns an error
// that lists the missing ones.
func CheckModels(ctx context.Context, cfg *config.Config) error {
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
