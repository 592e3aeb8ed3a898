package ollama

import (
	"context"
	"time"

	"github.com/ollama/ollama/api"
)

// Unloading a model takes milliseconds unless the server waits for another
// request on it.
const (
	unloadTime = 2 * time.Second
	unloadTick = 20 * time.Millisecond
)

// unload makes the server reload the model for the next request, and returns when it is unloaded.
//
// It is needed because the server (seen with 0.17.4) may wait forever for a reader of the rest of
// an answer, while every later request on the model waits for it: often after it could not parse
// a tool call, and sometimes when a client leaves between two tokens.
func (p *Provider) unload(ctx context.Context, model string) {
	ctx, cancel := context.WithTimeout(ctx, unloadTime)
	defer cancel()
	p.log.Warn("ollama may hang after an answer that it could not deliver; the model is reloaded", "model", model)
	none := &api.ChatRequest{Model: model, KeepAlive: &api.Duration{}}
	if p.client.Chat(ctx, none, func(api.ChatResponse) error { return nil }) != nil {
		return
	}
	tick := time.NewTicker(unloadTick)
	defer tick.Stop()
	for p.loaded(ctx, model) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// loaded reports whether the model is known to be in the server's memory.
func (p *Provider) loaded(ctx context.Context, model string) bool {
	models, err := p.Loaded(ctx)
	if err != nil {
		return false
	}
	for _, m := range models {
		if fullName(m.Name) == fullName(model) {
			return true
		}
	}
	return false
}
