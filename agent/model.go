package agent

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"molar/agent/subject"
	"molar/providers"
	"molar/schemas"
)

// verdictTokens bounds the judge's answer: two short fields of JSON.
const verdictTokens = 24

// request is the guardrail's one short model call.
func request(model string, ask subject.Ask) providers.Request {
	return providers.Request{
		Pass:        providers.PassGuardrail,
		Model:       model,
		System:      ask.System,
		Messages:    []schemas.Message{schemas.Text(schemas.RoleUser, ask.User)},
		Schema:      ask.Schema,
		Temperature: new(0.0),
		MaxTokens:   verdictTokens,
	}
}

// Asking returns a judge that asks the route's small model, outside of any turn. It
// is nil for a route without a model.
func Asking(route providers.Route) subject.Judge {
	if route.Offline {
		return nil
	}
	return func(ctx context.Context, ask subject.Ask) (string, error) {
		return heard(route.Provider.Stream(ctx, request(route.SmallModel, ask)))
	}
}

// heard is the whole text of a stream.
func heard(stream iter.Seq2[providers.Chunk, error]) (string, error) {
	var text strings.Builder
	for chunk, err := range stream {
		if err != nil {
			return "", fmt.Errorf("guardrail: %w", err)
		}
		text.WriteString(chunk.Text)
	}
	return text.String(), nil
}

// warmFor is how long a local model is taken to stay loaded after it answered:
// Ollama keeps one for five minutes.
const warmFor = 4 * time.Minute

// cold reports whether the route's small model may still have to be loaded. Only a
// provider that runs one request after the other loads its models on demand.
func (j *Judge) cold(route providers.Route) bool {
	last, answered := j.answered.Load(route.SmallModel)
	return route.Queues && (!answered || j.now().Sub(last.(time.Time)) > warmFor)
}

// Warm loads the route's small model, where it is loaded on demand, by a call of one token. It
// takes as long as the model does.
func (j *Judge) Warm(ctx context.Context, route providers.Route) error {
	if route.Offline || !route.Queues {
		return nil
	}
	req := request(route.SmallModel, subject.Ask{User: "NO"})
	req.MaxTokens = 1
	if _, err := heard(route.Provider.Stream(ctx, req)); err != nil {
		return err
	}
	j.answered.Store(route.SmallModel, j.now())
	return nil
}
