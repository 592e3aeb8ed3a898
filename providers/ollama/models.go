package ollama

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"molar/internal/text"
	"molar/providers"
)

// A Model is a model on the server.
type Model struct {
	Name     string
	Modified time.Time
	// Remote models run on another machine.
	Remote bool
}

// A LoadedModel is a model in the server's memory.
type LoadedModel struct {
	Name string
	// ContextLength is its context window, in tokens.
	ContextLength int
}

// Models returns the server's models, in its order (newest first). Errors are a
// [*providers.Error].
func (p *Provider) Models(ctx context.Context) ([]Model, error) {
	list, err := p.client.List(ctx)
	if err != nil {
		return nil, p.apiError(ctx, "", err)
	}
	models := make([]Model, 0, len(list.Models))
	for _, m := range list.Models {
		models = append(models, Model{Name: m.Name, Modified: m.ModifiedAt, Remote: m.RemoteModel != ""})
	}
	return models, nil
}

// Loaded returns the models that are in the server's memory now. Errors are a [*providers.Error].
func (p *Provider) Loaded(ctx context.Context) ([]LoadedModel, error) {
	list, err := p.client.ListRunning(ctx)
	if err != nil {
		return nil, p.apiError(ctx, "", err)
	}
	models := make([]LoadedModel, 0, len(list.Models))
	for _, m := range list.Models {
		models = append(models, LoadedModel{Name: m.Name, ContextLength: m.ContextLength})
	}
	return models, nil
}

// SupportsTools reports whether the model supports tools. The answer is cached. Errors are a
// [*providers.Error].
func (p *Provider) SupportsTools(ctx context.Context, model string) (bool, error) {
	info, err := p.info(ctx, model)
	return info.tools, err
}

// Usable chooses the models for a route. A named model must be pulled; instead of a missing
// default it picks the newest local model with tool support, or for judging the answering model.
// Empty names mean the defaults. The error is a [*providers.Error] and names what to pull; its
// kind is [providers.KindModelNotFound] only for a named model.
func (p *Provider) Usable(ctx context.Context, model, small string) (chosen, chosenSmall, why string, err error) {
	models, err := p.Models(ctx)
	if err != nil {
		return "", "", "", fmt.Errorf("%w; then run: ollama pull %s", err, cmp.Or(model, DefaultModel))
	}
	for _, named := range []string{model, small} {
		if named != "" && !has(models, named) {
			return "", "", "", p.notPulled(named, models)
		}
	}
	chosen, why = cmp.Or(model, DefaultModel), "it answers and has the configured model"
	if !has(models, chosen) {
		chosen = p.newestWithTools(ctx, models)
		why = fmt.Sprintf("it answers; %s is not pulled, %s is the newest local model that takes tools", DefaultModel, chosen)
	}
	if chosen == "" {
		return "", "", "", p.faults.Fail(providers.KindUnavailable, DefaultModel,
			errors.New("not pulled, and no other local model takes tools: run: ollama pull "+DefaultModel))
	}
	if model == "" && chosen != DefaultModel {
		p.log.Warn("another model stands in for the default; to have the default, run: ollama pull "+DefaultModel, "model", chosen)
	}
	if small = cmp.Or(small, DefaultSmallModel); !has(models, small) {
		small = chosen
	}
	return chosen, small, why, nil
}

// Has returns nil if the model is pulled, else an error with the nearest name that is. The error
// is a [*providers.Error].
func (p *Provider) Has(ctx context.Context, model string) error {
	models, err := p.Models(ctx)
	if err != nil || has(models, model) {
		return err
	}
	return p.notPulled(model, models)
}

// notPulled returns the error of a model that the server does not have.
func (p *Provider) notPulled(model string, models []Model) *providers.Error {
	message := "not pulled: run: ollama pull " + model
	names := make([]string, 0, len(models))
	for _, m := range models {
		names = append(names, m.Name)
	}
	if near := nearest(model, names); near != "" {
		message += " (did you mean " + near + "?)"
	}
	return p.faults.Fail(providers.KindModelNotFound, model, errors.New(message))
}

// nearest returns the local name that is nearest to a model's. Tags count only if the model has one.
func nearest(model string, names []string) string {
	tagged := model == fullName(model)
	byName := make(map[string]string, len(names))
	for _, name := range names {
		short := name
		if i := strings.LastIndexByte(name, ':'); !tagged && i > strings.LastIndexByte(name, '/') {
			short = name[:i]
		}
		byName[short] = name
	}
	return byName[text.Nearest(model, slices.Sorted(maps.Keys(byName)))]
}

// newestWithTools returns the name of the newest local model with tool support, or "".
func (p *Provider) newestWithTools(ctx context.Context, models []Model) string {
	models = slices.DeleteFunc(slices.Clone(models), func(m Model) bool { return m.Remote })
	slices.SortStableFunc(models, func(a, b Model) int { return b.Modified.Compare(a.Modified) })
	for _, m := range models {
		if ok, err := p.SupportsTools(ctx, m.Name); err == nil && ok {
			return m.Name
		}
	}
	return ""
}

func has(models []Model, name string) bool {
	return slices.ContainsFunc(models, func(m Model) bool { return fullName(m.Name) == fullName(name) })
}

// fullName adds the server's default tag to a name without one.
func fullName(model string) string {
	if strings.LastIndexByte(model, ':') <= strings.LastIndexByte(model, '/') {
		return model + ":latest"
	}
	return model
}

// modelInfo holds a model's relevant properties.
type modelInfo struct {
	tools, thinking, vision bool
	// thoughts are the values of think that the model accepts, least first; empty if the server
	// does not report them.
	thoughts []any
	// leveled is set for models with levels of thinking that cannot be switched off.
	leveled bool
	// context is the model's longest context, numCtx the one of its Modelfile, in tokens; 0 if
	// unknown.
	context, numCtx int
}

// modelCache caches the properties of models. Of concurrent callers for one model only one asks
// the server, and the others wait.
type modelCache struct {
	mu      sync.Mutex
	entries map[string]*modelEntry
}

type modelEntry struct {
	turn  chan struct{} // holds one token: its holder may ask the server
	known bool
	info  modelInfo
}

func (c *modelCache) entry(model string) *modelEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries == nil {
		c.entries = map[string]*modelEntry{}
	}
	e := c.entries[model]
	if e == nil {
		e = &modelEntry{turn: make(chan struct{}, 1)}
		c.entries[model] = e
	}
	return e
}

// forget makes the next call ask the server again.
func (c *modelCache) forget(model string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, model)
}

// info returns a model's properties; it asks the server the first time.
func (p *Provider) info(ctx context.Context, model string) (modelInfo, error) {
	e := p.models.entry(fullName(model))
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return modelInfo{}, p.apiError(ctx, model, ctx.Err())
	}
	if e.known {
		return e.info, nil
	}
	show, err := p.show(ctx, model)
	if err != nil {
		p.models.forget(fullName(model))
		fault, ok := errors.AsType[*providers.Error](err)
		if !ok {
			fault = p.faults.Transport(ctx, model, err)
		}
		if fault.Kind != providers.KindModelNotFound {
			return modelInfo{}, fault
		}
		if missing := p.Has(ctx, model); providers.KindOf(missing) == providers.KindModelNotFound {
			return modelInfo{}, missing // it has the nearest name
		}
		return modelInfo{}, fault
	}
	e.info, e.known = readInfo(show), true
	return e.info, nil
}
