package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"molar/providers"
	"molar/providers/wire"
	"molar/schemas"
)

// Embed returns a vector for each text, in their order. The usage is what the service reports, with an error
// too, and nil if it reports nothing. The error is a [*providers.Error]. The API has no purposes: where a
// model tells documents from questions, the texts begin with its prefixes.
func (p *Provider) Embed(ctx context.Context, model string, texts []string, _ providers.Purpose) ([][]float32, *schemas.Usage, error) {
	return p.vectors.Of(model, texts, func(texts []string) ([][]float32, *schemas.Usage, error) { return p.embedOnce(ctx, model, texts) })
}

// embedOnce makes one request.
func (p *Provider) embedOnce(ctx context.Context, model string, texts []string) ([][]float32, *schemas.Usage, error) {
	ctx, x := wire.Begin(ctx, p.limits, time.Time{})
	defer x.End()
	data, err := json.Marshal(struct {
		Model  string   `json:"model"`
		Input  []string `json:"input"`
		Format string   `json:"encoding_format"`
	}{model, texts, "float"})
	if err != nil {
		return nil, nil, p.faults.Fail(providers.KindInvalid, model, err)
	}
	req, forget, err := wire.NewPost(ctx, p.embed, data)
	if err != nil {
		return nil, nil, p.faults.Fail(providers.KindInvalid, model, err)
	}
	defer forget()
	req.Header.Set("Content-Type", "application/json")
	resp, err := p.do(req, schemas.RevealAll(p.tuning.Headers))
	if err != nil {
		return nil, nil, p.faults.Transport(ctx, model, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return nil, nil, p.notEmbedded(ctx, model, resp)
	}
	x.Output()
	body, err := wire.All(x.Watch(resp.Body))
	if err != nil {
		return nil, nil, p.faults.Broken(ctx, model, err)
	}
	return p.readVectors(model, body)
}

// An indexedVector is that of a text by its place in the request.
type indexedVector struct {
	Index  int       `json:"index"`
	Vector []float32 `json:"embedding"`
}

// readVectors reads an answer, whose vectors may come in any order.
func (p *Provider) readVectors(model string, body []byte) ([][]float32, *schemas.Usage, error) {
	var answer struct {
		Error json.RawMessage `json:"error"`
		Data  []indexedVector `json:"data"`
		Usage *struct {
			Prompt int `json:"prompt_tokens"`
			Total  int `json:"total_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, nil, p.faults.Fail(providers.KindProtocol, model, fmt.Errorf("the answer cannot be read: %w", err))
	}
	if isError(answer.Error) {
		return nil, nil, p.streamError(model, readFault(body))
	}
	slices.SortStableFunc(answer.Data, func(a, b indexedVector) int { return cmp.Compare(a.Index, b.Index) })
	vectors := make([][]float32, len(answer.Data))
	for i, d := range answer.Data {
		vectors[i] = d.Vector
	}
	var used *schemas.Usage
	if u := answer.Usage; u != nil {
		used = &schemas.Usage{PromptTokens: cmp.Or(u.Prompt, u.Total), TotalTokens: max(u.Total, u.Prompt)}
	}
	return vectors, used, nil
}

// notEmbedded returns the error of a refused request.
func (p *Provider) notEmbedded(ctx context.Context, model string, resp *http.Response) error {
	e, f, missing := p.readRefusal(model, resp)
	if e.Kind != providers.KindModelNotFound || missing {
		return e
	}
	e.Err = errors.New(p.faults.Said(resp.StatusCode, f.message) + ": name a model for embeddings that the service has")
	return wire.Suggest(ctx, e, model, p.Models)
}
