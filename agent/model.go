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

// request returns the guardrail's one short model call.
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

// Asking returns a judge that asks the route's small model outside of any turn; nil for an offline
// route.
func Asking(route providers.Route) subject.Judge {
	if route.Offline {
		return nil
	}
	return func(ctx context.Context, ask subject.Ask) (string, error) {
		return readText(route.For(providers.PassGuardrail).Stream(ctx, request(route.SmallModel, ask)))
	}
}

// readText returns the whole text of a stream.
func readText(stream iter.Seq2[providers.Chunk, error]) (string, error) {
	var text strings.Builder
	for chunk, err := range stream {
		if err != nil {
			return "", fmt.Errorf("guardrail: %w", err)
		}
		text.WriteString(chunk.Text)
	}
	return text.String(), nil
}

// warmFor is how long a local model counts as loaded after it answered: Ollama keeps one for five
// minutes.
const warmFor = 4 * time.Minute

// smallOf names the route's small model among those of all endpoints.
func smallOf(route providers.Route) [2]string {
	return [2]string{route.For(providers.PassGuardrail).Name(), route.SmallModel}
}

// cold reports whether the route's small model may still have to be loaded. Only a provider that
// queues requests loads its models on demand.
func (j *Judge) cold(route providers.Route) bool {
	last, answered := j.answered.Load(smallOf(route))
	return route.JudgeQueues() && (!answered || j.now().Sub(last.(time.Time)) > warmFor)
}

// heardFrom notes that the route's small model has answered.
func (j *Judge) heardFrom(route providers.Route) { j.answered.Store(smallOf(route), j.now()) }

// Warm loads the route's small model, if it is loaded on demand, by a call of one token. It blocks
// until the model answers.
func (j *Judge) Warm(ctx context.Context, route providers.Route) error {
	if route.Offline || !route.JudgeQueues() {
		return nil
	}
	req := request(route.SmallModel, subject.Ask{User: "NO"})
	req.MaxTokens = 1
	if _, err := readText(route.For(req.Pass).Stream(ctx, req)); err != nil {
		return err
	}
	j.heardFrom(route)
	return nil
}
