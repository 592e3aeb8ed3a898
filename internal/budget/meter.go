package budget

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"

	"molar/providers"
	"molar/schemas"
)

// Meter returns a provider whose calls are charged. price says what a model costs; nil means that no
// model costs anything.
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
		call, warning, err := m.book.begin(ctx, &req, m.Name(), m.price)
		if err != nil {
			yield(providers.Chunk{}, err)
			return
		}
		asked, over := false, false
		defer func() {
			if asked && (!over || ctx.Err() != nil) {
				call.brokenOff()
			}
			call.end(ctx)
		}()
		if warning != "" && !yield(providers.Chunk{Warning: warning}, nil) {
			return
		}
		asked = true
		for chunk, err := range m.Provider.Stream(ctx, req) {
			call.see(chunk)
			over = err != nil
			if !yield(chunk, err) {
				return
			}
		}
		over = true
	}
}

// Charge makes a call that is no stream, if the budgets allow it. do returns what the service reports,
// with an error too; nil if it reports nothing.
func (b *Book) Charge(ctx context.Context, req *providers.Request, provider string, price func(model string) schemas.Price, do func(context.Context) (*schemas.Usage, error)) error {
	call, _, err := b.begin(ctx, req, provider, price)
	if err != nil {
		return err
	}
	defer func() { call.end(ctx) }()
	used, err := do(ctx)
	if used != nil {
		priced := *used
		priced.Cost = cmp.Or(call.price.Of(priced), priced.Cost)
		used = &priced
	}
	call.see(providers.Chunk{Usage: used})
	switch {
	case err == nil:
		call.output = true
	case ctx.Err() != nil:
		call.brokenOff()
	}
	return err
}

// pricing is the price of a model. unknown is set if it costs something that nobody knows.
type pricing struct {
	schemas.Price
	unknown bool
}

// A charged call is one that the budgets allow.
type charged struct {
	book     *Book
	req      *providers.Request
	provider string
	price    pricing
	hold     *schemas.BudgetHold
	used     schemas.Usage
	// reported is set if the service said what it used, output if it said anything of an answer.
	reported, output bool
}

// begin reserves what a call is likely to use.
func (b *Book) begin(ctx context.Context, req *providers.Request, provider string, price func(model string) schemas.Price) (c *charged, warning string, err error) {
	c = &charged{book: b, req: req, provider: provider}
	if req.Payer.Since.IsZero() {
		req.Payer.Since = b.cfg.Now()
	}
	if price != nil {
		c.price.Price = price(req.Model)
		c.price.unknown = !c.price.IsSet()
	}
	c.hold, warning, err = b.take(ctx, req, c.price)
	return c, warning, err
}

func (c *charged) see(chunk providers.Chunk) {
	if chunk.Usage != nil {
		c.used, c.reported = *chunk.Usage, true
	}
	c.output = c.output || chunk.Text != "" || chunk.Thinking != "" || chunk.Call != nil || chunk.Finish != ""
}

// brokenOff notes that nobody waits for the rest. The service has read the prompt all the same.
func (c *charged) brokenOff() {
	if !c.reported && !c.output {
		c.used, c.reported = schemas.Usage{PromptTokens: estimate(c.req).PromptTokens}, true
		c.used.Cost = c.price.Of(c.used)
	}
}

// end settles with the budgets, and counts the call.
func (c *charged) end(ctx context.Context) {
	if !c.reported && c.output { // the service does not count, or was broken off before it did
		c.used = estimate(c.req)
		c.used.Cost = c.price.Of(c.used)
	}
	if c.hold != nil {
		c.book.settle(ctx, c.hold, schemas.BudgetSum{Tokens: int64(c.used.PromptTokens + c.used.CompletionTokens), Cost: c.used.Cost})
	}
	if c.reported || c.output {
		c.book.count(c.req.Payer, c.provider, c.req.Model, c.used)
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
