package gemini

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/url"
	"time"

	"google.golang.org/genai"

	"molar/providers"
	"molar/providers/wire"
	"molar/schemas"
)

// maxVectors bounds the answer with vectors, in bytes.
const maxVectors = 8 << 20

// embeds reports whether a method of a model answers with vectors: on the Gemini API, or on Vertex AI.
func embeds(method string) bool {
	return method == "batchEmbedContents" || method == "embedContent" || method == "predict"
}

// bounded is a body of which only the first bytes are read.
type bounded struct {
	io.Reader
	io.Closer
}

// taskOf is a purpose in the service's words.
func taskOf(as providers.Purpose) string {
	if as == providers.PurposeQuestion {
		return "RETRIEVAL_QUERY"
	}
	return "RETRIEVAL_DOCUMENT"
}

// Embed returns a vector for each text, in their order; the service cuts a text that is too long for the
// model. The usage is nil where the service does not count. The error is a [*providers.Error].
func (p *Provider) Embed(ctx context.Context, model string, texts []string, as providers.Purpose) ([][]float32, *schemas.Usage, error) {
	if err := checkModel(model); err != nil {
		return nil, nil, p.faults.Fail(providers.KindInvalid, model, err)
	}
	return p.vectors.Of(model, texts, func(texts []string) (vectors [][]float32, used *schemas.Usage, err error) {
		if p.client.ClientConfig().Backend != genai.BackendVertexAI {
			return p.embedOnce(ctx, model, texts, as)
		}
		for _, text := range texts { // its newer models take one
			one, usage, err := p.embedOnce(ctx, model, []string{text}, as)
			if usage != nil {
				sum := cmp.Or(used, new(schemas.Usage)).Add(*usage)
				used = &sum
			}
			if err != nil {
				return vectors, used, err
			}
			vectors = append(vectors, one...)
		}
		return vectors, used, nil
	})
}

// embedOnce makes one request through the SDK. A panic of the SDK is an answer that cannot be read.
func (p *Provider) embedOnce(ctx context.Context, model string, texts []string, as providers.Purpose) (vectors [][]float32, used *schemas.Usage, err error) {
	ctx, x := wire.Begin(ctx, p.limits, time.Time{})
	defer x.End()
	defer func() {
		if recover() != nil {
			vectors, err = nil, p.unreadable(model)
		}
	}()
	contents := make([]*genai.Content, len(texts))
	for i, text := range texts {
		contents[i] = genai.NewContentFromText(text, genai.RoleUser)
	}
	config := &genai.EmbedContentConfig{TaskType: taskOf(as)}
	if p.client.ClientConfig().Backend == genai.BackendVertexAI {
		config.AutoTruncate = true
	}
	answer, err := p.client.Models.EmbedContent(ctx, model, contents, config)
	if err != nil {
		return nil, nil, p.notEmbedded(ctx, model, err)
	}
	tokens := 0
	for _, e := range answer.Embeddings {
		var values []float32
		if e != nil {
			values = e.Values
			if e.Statistics != nil {
				tokens += int(e.Statistics.TokenCount)
			}
		}
		vectors = append(vectors, values)
	}
	if tokens > 0 {
		used = &schemas.Usage{PromptTokens: tokens, TotalTokens: tokens}
	}
	return vectors, used, nil
}

// notEmbedded returns the error of a request that the SDK ended with err. No text of the SDK is shown.
func (p *Provider) notEmbedded(ctx context.Context, model string, err error) error {
	f := reported(err)
	if f == nil {
		if _, unanswered := errors.AsType[*url.Error](err); unanswered || ctx.Err() != nil {
			return p.faults.Transport(ctx, model, err)
		}
		return p.faults.Fail(providers.KindProtocol, model, errors.New("the answer cannot be read; check that "+p.setting+".base_url is the Gemini API"))
	}
	return wire.Suggest(ctx, p.statusError(model, f), baseName(model), p.Models)
}
