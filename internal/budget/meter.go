package budget

import (
	"context"
	"encoding/json"
	"iter"

	"molar/providers"
	"molar/schemas"
)

// Meter returns a provider whose calls are charged. Price may be nil.
func (b *Book) Meter(p providers.Provider, price func(model string) schemas.Price) providers.Provider {
	return metered{p, b, price}
}

type metered struct {
	providers.Provider
	book  *Book
	price func(model string) schemas.Price
}

// Unwrap returns the wrapped provider.
func (m metered) Unwrap() providers.Provider { return m.Provider }

// Stream runs one model call, if the budgets allow it.
func (m metered) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		m.book.remember(req.Payer)
		var price schemas.Price
		if m.price != nil {
			price = m.price(req.Model)
		}
		hold, warning, err := m.book.take(ctx, &req, price)
		if err != nil {
			yield(providers.Chunk{}, err)
			return
		}
		used, reported, output := schemas.Usage{}, false, false
		defer func() {
			if !reported && output { // the service does not count, or was broken off before it did
				used = estimate(&req)
				used.Cost = price.Of(used)
			}
			if hold != nil {
				m.book.settle(ctx, hold, schemas.BudgetSum{Tokens: int64(used.PromptTokens + used.CompletionTokens), Cost: used.Cost})
			}
			if reported || output {
				m.book.count(req.Payer, m.Name(), req.Model, used)
			}
		}()
		if warning != "" && !yield(providers.Chunk{Warning: warning}, nil) {
			return
		}
		for chunk, err := range m.Provider.Stream(ctx, req) {
			if chunk.Usage != nil {
				used, reported = *chunk.Usage, true
			}
			output = output || chunk.Text != "" || chunk.Thinking != "" || chunk.Call != nil || chunk.Finish != ""
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// promptBytes is the fewest bytes that are reckoned with for a token of a prompt, and answerTokens
// the tokens of an answer without a limit.
const promptBytes, answerTokens = 3, 4096

// estimate returns the most that a call is likely to use.
func estimate(req *providers.Request) schemas.Usage {
	bytes := len(req.System) + len(req.Schema)
	for _, part := range []any{req.Messages, req.Tools} {
		if encoded, err := json.Marshal(part); err == nil {
			bytes += len(encoded)
		}
	}
	answer := req.MaxTokens
	if answer <= 0 {
		answer = answerTokens
	}
	return schemas.Usage{PromptTokens: bytes/promptBytes + 1, CompletionTokens: answer}
}

func sumOf(used schemas.Usage, price schemas.Price) schemas.BudgetSum {
	return schemas.BudgetSum{Tokens: int64(used.PromptTokens + used.CompletionTokens), Cost: price.Of(used)}
}
