package agent

import (
	"context"
	"iter"

	"molar/agent/answer"
	"molar/providers"
	"molar/schemas"
)

// stream makes one model call of a turn; the caller reads it at once. It counts and traces the
// call, and learns the model's bytes per token from the usage. lang is the language in which the
// payer is told of budgets.
func (a *Agent) stream(ctx context.Context, w *task, lang string, req *providers.Request) iter.Seq2[providers.Chunk, error] {
	provider := w.route.For(req.Pass)
	req.Payer = providers.Payer{Owner: w.turn.Owner, Groups: w.turn.Rights.Names(), Assistant: w.assistant.Name, Since: w.turn.Began, Language: lang}
	pass := w.out.Trace.Pass(req, provider.Name())
	logPrompt(ctx, w.out, req)
	chunks := provider.Stream(ctx, *req)
	return func(yield func(providers.Chunk, error) bool) {
		var usage schemas.Usage
		defer func() {
			w.out.Count(usage)
			a.tokens.Learn(req.Model, promptSize(req), usage.PromptTokens)
			pass.End(usage)
		}()
		for chunk, err := range chunks {
			if err != nil {
				pass.Fail(err)
				yield(chunk, err)
				return
			}
			if chunk.Usage != nil {
				usage = *chunk.Usage
			}
			pass.Chunk(chunk)
			if chunk.Warning != "" && !req.Pass.IsSmall() {
				if err := w.out.WarnOfHost(answer.CodeBudgetLow, "", chunk.Warning); err != nil {
					yield(providers.Chunk{}, err)
					return
				}
			}
			if !yield(chunk, nil) {
				return
			}
		}
	}
}

// logPrompt logs a model call's prompt, at debug only.
func logPrompt(ctx context.Context, out *answer.Speaker, req *providers.Request) {
	if !out.Verbose(ctx) {
		return
	}
	text := answer.PromptText(req)
	out.Mark("7.4", "Prompt built", "pass", req.Pass, "length", len([]rune(text)))
	out.Between(ctx, "PROMPT", text)
}
