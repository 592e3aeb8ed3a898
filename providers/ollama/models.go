package ollama

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ollama/ollama/api"

	"molar/providers"
)

// A Model is a model that the server has.
type Model struct {
	Name string
	// Size is in bytes, on disk.
	Size     int64
	Modified time.Time
	// Remote models run on a machine elsewhere.
	Remote bool
}

// A LoadedModel is a model in the server's memory.
type LoadedModel struct {
	Name string
	// ContextLength is its context window, in tokens.
	ContextLength int
	Expires       time.Time
}

// Models lists the models that the server has, in its order (newest first).
// Errors are a [*providers.Error].
func (p *Provider) Models(ctx context.Context) ([]Model, error) {
	list, err := p.client.List(ctx)
	if err != nil {
		return nil, p.apiError(ctx, "", err)
	}
	models := make([]Model, 0, len(list.Models))
	for _, m := range list.Models {
		models = append(models, Model{Name: m.Name, Size: m.Size, Modified: m.ModifiedAt, Remote: m.RemoteModel != ""})
	}
	return models, nil
}

// Loaded lists the models that are in the server's memory now.
// Errors are a [*providers.Error].
func (p *Provider) Loaded(ctx context.Context) ([]LoadedModel, error) {
	list, err := p.client.ListRunning(ctx)
	if err != nil {
		return nil, p.apiError(ctx, "", err)
	}
	models := make([]LoadedModel, 0, len(list.Models))
	for _, m := range list.Models {
		models = append(models, LoadedModel{Name: m.Name, ContextLength: m.ContextLength, Expires: m.ExpiresAt})
	}
	return models, nil
}

// SupportsTools says whether the model takes tools. The answer is cached.
// Errors are a [*providers.Error].
func (p *Provider) SupportsTools(ctx context.Context, model string) (bool, error) {
	info, err := p.info(ctx, model)
	return info.tools, err
}

// Usable chooses the models for a route: the configured one if it is pulled, else
// the newest local one that takes tools; the small one if it is pulled, else the
// same. It fails when the server does not answer or has no such model, and the
// error names what to pull. Empty names mean the defaults.
func Usable(ctx context.Context, p *Provider, model, small string) (chosen, chosenSmall, why string, err error) {
	model, small = cmp.Or(model, DefaultModel), cmp.Or(small, DefaultSmallModel)
	models, err := p.Models(ctx)
	if err != nil {
		return "", "", "", fmt.Errorf("%w; then run: ollama pull %s", err, model)
	}
	chosen, why = model, "it answers and has the configured model"
	if !has(models, model) {
		chosen = p.newestWithTools(ctx, models)
		why = fmt.Sprintf("it answers; %s is not pulled, %s is the newest local model that takes tools", model, chosen)
	}
	if chosen == "" {
		return "", "", "", &providers.Error{
			Kind: providers.KindModelNotFound, Provider: name, Model: model,
			Err: fmt.Errorf("not pulled, and no other local model takes tools: run: ollama pull %s", model),
		}
	}
	if !has(models, small) {
		small = chosen
	}
	return chosen, small, why, nil
}

// newestWithTools returns the name of the newest local model that takes tools,
// or "".
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

// fullName adds the tag that the server adds to a name without one.
func fullName(model string) string {
	if strings.LastIndexByte(model, ':') <= strings.LastIndexByte(model, '/') {
		return model + ":latest"
	}
	return model
}

// modelInfo is what matters of a model.
type modelInfo struct {
	tools, thinking, vision bool
	// context is the model's longest context, in tokens; 0 when it is not told.
	context int
}

// modelCache remembers what the server told of its models. Of several who ask
// for the same model one asks the server and the others wait.
type modelCache struct {
	mu      sync.Mutex
	entries map[string]*modelEntry
}

type modelEntry struct {
	turn  chan struct{} // holds one token: who has it may ask the server
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

// info returns what is known of a model, asking the server the first time.
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
	show, err := p.client.Show(ctx, &api.ShowRequest{Model: model})
	if err != nil {
		p.models.forget(fullName(model))
		return modelInfo{}, p.apiError(ctx, model, err)
	}
	e.info, e.known = readInfo(show), true
	return e.info, nil
}

func readInfo(show *api.ShowResponse) modelInfo {
	var info modelInfo
	for _, c := range show.Capabilities {
		switch c {
		case "tools":
			info.tools = true
		case "thinking":
			info.thinking = true
		case "vision":
			info.vision = true
		}
	}
	if len(show.Capabilities) == 0 {
		// Servers before 0.6.4 tell no capabilities; tools show in the template.
		info.tools = strings.Contains(show.Template, ".Tools")
		info.vision = len(show.ProjectorInfo) > 0
	}
	arch, _ := show.ModelInfo["general.architecture"].(string)
	if length, ok := show.ModelInfo[arch+".context_length"].(float64); ok && length >= 1 && length < 1<<30 {
		info.context = int(length)
	}
	return info
}
