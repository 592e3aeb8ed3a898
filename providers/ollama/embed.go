package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/ollama/ollama/api"

	"molar/providers"
	"molar/providers/wire"
	"molar/schemas"
)

// Embed returns a vector for each text, in their order; the server cuts a text that is too long for the model.
// The usage is what the server counts, with an error too. The error is a [*providers.Error]. The API has no
// purposes: where a model tells documents from questions, the texts begin with its prefixes.
func (p *Provider) Embed(ctx context.Context, model string, texts []string, _ providers.Purpose) ([][]float32, *schemas.Usage, error) {
	return p.vectors.Of(model, texts, func(texts []string) ([][]float32, *schemas.Usage, error) { return p.embedOnce(ctx, model, texts) })
}

// embedOnce makes one request.
func (p *Provider) embedOnce(ctx context.Context, model string, texts []string) ([][]float32, *schemas.Usage, error) {
	ctx, x := wire.Begin(ctx, p.limits, time.Time{})
	defer x.End()
	data, err := json.Marshal(api.EmbedRequest{Model: model, Input: texts, Truncate: new(true), KeepAlive: p.keepAlive})
	if err != nil {
		return nil, nil, p.faults.Fail(providers.KindInvalid, model, err)
	}
	req, forget, err := wire.NewPost(ctx, p.embed, data)
	if err != nil {
		return nil, nil, p.faults.Fail(providers.KindInvalid, model, err)
	}
	defer forget()
	resp, err := p.do(req, schemas.RevealAll(p.tuning.Headers))
	if err != nil {
		return nil, nil, p.faults.Transport(ctx, model, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, nil, p.answerError(model, resp)
	}
	x.Output()
	var answer struct {
		api.EmbedResponse
		Error string `json:"error"`
	}
	body, err := wire.All(x.Watch(resp.Body))
	if err != nil {
		return nil, nil, p.faults.Broken(ctx, model, err)
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, nil, p.faults.Fail(providers.KindProtocol, model, errors.New("the server does not answer like Ollama: "+p.faults.Clean(err.Error())))
	}
	if answer.Error != "" {
		return nil, nil, p.streamError(model, answer.Error)
	}
	return answer.Embeddings, &schemas.Usage{PromptTokens: answer.PromptEvalCount, TotalTokens: answer.PromptEvalCount}, nil
}
