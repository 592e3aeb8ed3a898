package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"molar/eval"
	"molar/internal/budget"
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
	"molar/schemas"
)

// OpenModels builds the configured providers, and the chain that chooses among them. It contacts
// none of them.
func OpenModels(cfg *config.Config, log *slog.Logger) (*chain.Chain, error) {
	return OpenMetered(cfg, nil, log)
}

// OpenMetered is OpenModels with the providers of all endpoints wrapped by meter, which gets the price of
// their models; nil if they cost nothing.
func OpenMetered(cfg *config.Config, meter func(providers.Provider, func(model string) schemas.Price) providers.Provider, log *slog.Logger) (*chain.Chain, error) {
	return openOver(nil, meter, cfg, nil, log)
}

// openOver is OpenModels with two additions. If edges is not nil, its recorder or player is between the
// providers and their services. Otherwise tools that services refused earlier are left out.
func openOver(edges eval.Edges, meter meter, cfg *config.Config, refusals *wire.Refusals, log *slog.Logger) (*chain.Chain, error) {
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
	missing := make(map[string]string)
	for _, name := range cfg.LLM.EndpointNames() {
		e, _ := cfg.LLM.Endpoint(name)
		if missing[name] = cfg.LLM.MissingKey(name); missing[name] != "" {
			continue
		}
		delete(missing, name)
		c, err := openers()[e.Service.Name](opening{cfg, e, client, refusals, log})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Setting, err)
		}
		if c.Queues = e.Service.Queues; !e.IsFree() {
			c.Price = e.PriceOf
		}
		candidates[name] = c
	}
	all := chain.Config{Meter: meter, Order: cfg.LLM.Provider, Small: cfg.LLM.Small, Candidates: candidates, Missing: missing, Offline: none, Logger: log}
	if edges != nil {
		all.Candidates, all.Offline = tapeCandidates(edges, candidates), edges.Provider(none, true)
	}
	return chain.New(all)
}

// An opening is what an opener builds a candidate from.
type opening struct {
	cfg      *config.Config
	endpoint config.Endpoint
	client   *http.Client
	refusals *wire.Refusals
	log      *slog.Logger
}

// key is the key that is sent to the endpoint.
func (o opening) key() string { return o.cfg.LLM.Key(o.endpoint.Name).Reveal() }

// An opener builds the chain's candidate for an endpoint.
type opener func(opening) (chain.Candidate, error)

// openers returns the openers of all services with models, by name.
func openers() map[string]opener {
	return map[string]opener{
		providers.Gemini:    openGemini,
		providers.OpenAI:    openOpenAI,
		providers.Anthropic: openAnthropic,
		providers.Ollama:    openOllama,
	}
}

func openGemini(o opening) (chain.Candidate, error) {
	e := o.endpoint
	service, err := newGemini(o)
	if err != nil {
		return chain.Candidate{}, err
	}
	c := chain.Candidate{Provider: service, Model: e.Model, SmallModel: e.SmallModel, First: e.Timeout, List: service.Models}
	if e.BaseURL == gemini.DefaultBaseURL && e.Project == "" {
		c.Has = service.Has // the lists of gateways and of Vertex AI are seldom complete
	}
	return c, nil
}

func newGemini(o opening) (*gemini.Provider, error) {
	e := o.endpoint
	return gemini.New(gemini.Config{
		Name: e.Name, Setting: e.Setting, APIKey: o.key(), KeySetting: e.KeySetting(), BaseURL: e.BaseURL, Project: e.Project, Location: e.Location, Safety: e.Safety,
		HTTPClient: o.client, FirstByte: e.Timeout, Window: e.Window, Tuning: e.Tuning, Refusals: o.refusals, Logger: o.log,
	})
}

// googleSearch returns a function that searches Google through Gemini, or nil without a key. Each
// search is one model call, which is charged to nobody in particular if there is a book.
func googleSearch(cfg *config.Config, book *budget.Book, log *slog.Logger) (func(context.Context, string) ([]search.Result, error), error) {
	if cfg.LLM.MissingKey(providers.Gemini) != "" {
		return nil, nil
	}
	g, _ := cfg.LLM.Endpoint(providers.Gemini)
	client, err := Client(cfg.CAFile)
	if err != nil {
		return nil, err
	}
	service, err := newGemini(opening{cfg, g, client, nil, log})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, query string) ([]search.Result, error) {
		var found gemini.Found
		look := func(ctx context.Context) (*schemas.Usage, error) {
			var used *schemas.Usage // by all tries
			note := func(why string) error {
				log.Info("google search: "+why, "model", g.Model)
				return nil
			}
			err := chain.Repeat(ctx, time.Now().Add(g.Timeout), note, func(error) (err error) {
				if found, err = service.Search(ctx, g.Model, query); found.Usage != nil {
					if used != nil {
						*found.Usage = used.Add(*found.Usage)
					}
					used = found.Usage
				}
				return err
			})
			return used, err
		}
		var err error
		if book == nil {
			_, err = look(ctx)
		} else {
			err = book.Charge(ctx, &providers.Request{Model: g.Model, System: query}, g.Name, g.PriceOf, look)
		}
		if err != nil {
			return nil, err
		}
		results := make([]search.Result, len(found.Pages))
		for i, page := range found.Pages {
			results[i] = search.Result{Title: page.Title, Content: page.Said, Link: page.URL}
		}
		if len(results) > 0 && results[0].Content == "" {
			results[0].Content = found.Text // the service did not attribute parts of the answer to sources
		}
		return results, nil
	}, nil
}

// RefusedBy returns the refusal of a tool by an endpoint that speaks the API of a service.
func (h *Host) RefusedBy(service string, tool schemas.ToolInfo) (schemas.Refusal, bool) {
	for _, name := range h.Config.LLM.EndpointNames() {
		if s, _ := h.Config.LLM.ServiceOf(name); s.Name != service {
			continue
		}
		if r, refused := h.Refusals.Refused(name, tool); refused {
			return r, true
		}
	}
	return schemas.Refusal{}, false
}

// missingTools returns the bundled search tools that are missing, with the reason. It returns none
// if the tools run in another process, at memory.url, where this process does not know them.
func missingTools(cfg *config.Config) map[string]string {
	if missing := cfg.LLM.MissingKey(providers.Gemini); missing != "" && cfg.Memory.URL == "" {
		return map[string]string{config.ToolGoogle: config.ToolGoogle + " searches through Gemini and there is no key for it: " + missing + ", or choose another assistant"}
	}
	return nil
}

func openOpenAI(o opening) (chain.Candidate, error) {
	e := o.endpoint
	service, err := openai.New(openai.Config{
		Name: e.Name, Setting: e.Setting, Tuning: e.Tuning, APIKey: o.key(), KeySetting: e.KeySetting(), BaseURL: e.BaseURL, API: wireOf(e),
		HTTPClient: o.client, FirstByte: e.Timeout, Window: e.Window, Refusals: o.refusals, Logger: o.log,
	})
	if err != nil {
		return chain.Candidate{}, err
	}
	c := chain.Candidate{Provider: service, Model: e.Model, SmallModel: e.SmallModel, First: e.Timeout, List: service.Models, Has: service.Has}
	if !e.AtHome() {
		// Another server may be down, and its models differ from OpenAI's.
		named, namedSmall := o.cfg.Models(e.Name)
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

// wireOf returns the wire of an endpoint with OpenAI's API. An api that is the service's name leaves it open.
func wireOf(e config.Endpoint) openai.API {
	if e.API == e.Service.Name {
		return openai.APIAuto
	}
	return openai.API(e.API)
}

func openAnthropic(o opening) (chain.Candidate, error) {
	e := o.endpoint
	service, err := anthropic.New(anthropic.Config{
		Name: e.Name, Setting: e.Setting, Tuning: e.Tuning, APIKey: o.key(), KeySetting: e.KeySetting(), BaseURL: e.BaseURL,
		HTTPClient: o.client, FirstByte: e.Timeout, Window: e.Window, Refusals: o.refusals, Logger: o.log,
	})
	if err != nil {
		return chain.Candidate{}, err
	}
	return chain.Candidate{Provider: service, Model: e.Model, SmallModel: e.SmallModel, First: e.Timeout, List: service.Models, Has: service.Has}, nil
}

func openOllama(o opening) (chain.Candidate, error) {
	e := o.endpoint
	setting := e.Setting
	if e.IsBuiltIn() {
		setting = "" // the variable that most people set
	}
	local, err := ollama.New(ollama.Config{
		Name: e.Name, Setting: setting, BaseURL: e.BaseURL, HTTPClient: o.client, FirstByte: e.Timeout, KeepAlive: string(e.KeepAlive),
		NumCtx: e.NumCtx, MaxNumCtx: e.MaxNumCtx, Tuning: e.Tuning, Refusals: o.refusals, Logger: o.log,
	})
	if err != nil {
		return chain.Candidate{}, err
	}
	named, namedSmall := o.cfg.Models(e.Name)
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
		Provider: local, Model: e.Model, SmallModel: e.SmallModel,
		First: e.Timeout, Ready: ready, List: list, Has: local.Has,
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
