package agent

import (
	"context"
	"fmt"
	"slices"

	"molar/agent/offer"
	"molar/providers"
	"molar/schemas"
)

const (
	// The offered tools may take toolTokens, or 1/toolShare of the model's window if that is less.
	toolTokens, toolShare = 8000, 4
	// schemaBytes is the bytes per token of a tool's schema. It is fixed, so that the room stays
	// the same through a conversation.
	schemaBytes = 4
	// answerTokens is the room reserved for an answer without a limit.
	answerTokens = 1024
	// 1/resultShare of a window is reserved for tool results.
	resultShare = 8
)

// toolBytes returns the room for tools in the prompt: [Limits.ToolTokens], else toolTokens within
// the share of the largest window that the model can have. A window that can grow does so for
// tools, as for the rest of a prompt.
func (a *Agent) toolBytes(ctx context.Context, w task) int {
	tokens := a.cfg.Limits.ToolTokens
	if tokens == 0 {
		tokens = toolTokens
		if most := providers.MaxWindow(ctx, w.route.Provider, w.route.Model); most > 0 {
			tokens = min(tokens, most/toolShare)
		}
	}
	return tokens * schemaBytes
}

// windowBytes returns the room that the model's window leaves for tools after the fixed bytes of
// the prompt, an answer and some results. If the window is unknown, called or found tools may
// exceed their room by the room of the conversation.
func (a *Agent) windowBytes(ctx context.Context, w task, fixedBytes int) int {
	most := providers.MaxWindow(ctx, w.route.Provider, w.route.Model)
	if most == 0 {
		return a.toolBytes(ctx, w) + a.cfg.Limits.ContextTokens*BytesPerToken
	}
	tokens := most - w.answerRoom() - min(a.cfg.Limits.ResultTokens, most/resultShare)
	return max(int(float64(tokens)*min(a.tokens.BytesOf(w.route.Model), schemaBytes))-fixedBytes, 1)
}

// historyBytes returns the room for verbatim exchanges: [Limits.ContextTokens], but at most half of
// what the rest of the prompt and the answer leave of the model's window. For tools beyond their
// share the window grows, as far as it can.
func (a *Agent) historyBytes(ctx context.Context, w task, system, tools int) int {
	perToken := a.tokens.BytesOf(w.route.Model)
	tokens := a.cfg.Limits.ContextTokens
	if window := providers.Window(ctx, w.route.Provider, w.route.Model); window > 0 {
		most := max(window, providers.MaxWindow(ctx, w.route.Provider, w.route.Model))
		free := min(
			window-int(float64(system+min(tools, window/toolShare*schemaBytes))/perToken),
			most-int(float64(system+tools)/perToken),
		) - w.answerRoom()
		tokens = max(min(tokens, free/2), 0)
	}
	return int(float64(tokens) * perToken)
}

// answerRoom returns the tokens reserved for the answer.
func (w task) answerRoom() int {
	if w.turn.MaxTokens > 0 {
		return w.turn.MaxTokens
	}
	return answerTokens
}

// fixedBytes estimates the bytes of the prompt without the tools and the conversation. earlier are
// the rounds of the turn before its client's tools ran.
func (a *Agent) fixedBytes(w task, q question, past recalled, found findings, earlier []schemas.Round) int {
	n := len(a.system(w, conversationLanguage(past, q), true, nil)) + Size([]schemas.Message{q.message})
	results := slices.Clone(found.results)
	for _, r := range earlier {
		n += Size([]schemas.Message{r.Said})
		results = append(results, r.Results...)
	}
	for _, r := range results {
		n += min(len(r.Output), a.resultBytes())
	}
	return n
}

// reportUnfit traces the tools found last that have no room, and warns if one is the best match and
// the tools take at least half of the window.
func (a *Agent) reportUnfit(ctx context.Context, w task, o *offer.Offer) error {
	if len(o.Unfit) == 0 {
		return nil
	}
	most := providers.MaxWindow(ctx, w.route.Provider, w.route.Model)
	for _, tool := range o.Unfit {
		w.out.Trace.Withheld(tool.Name, "it was found, but there is no room to offer it; it can be called by its name")
		all := offer.Size(append(slices.Clone(o.Tools), tool.ToolInfo)) / schemaBytes
		if !tool.Large || all < most/2 || most == 0 {
			continue
		}
		text := fmt.Sprintf("there is no room to offer the tool %s, as with it the tools take about %d of %d tokens; the model may call it without having seen all of its arguments: %s",
			tool.Name, all, most, windowAdvice)
		if err := w.out.Warn(text); err != nil {
			return err
		}
	}
	return nil
}

// windowAdvice is the remedy for tools that take too much of a window.
const windowAdvice = "raise llm.ollama.max_num_ctx (or num_ctx, where that is set), choose a model with a longer context, or leave tools out with mcpServers.*.excludeTools"

// tooLong adds the remedy to a context-length error: it depends on what takes the most of the
// prompt. talk is set when the conversation is part of it.
func (a *Agent) tooLong(ctx context.Context, w task, req *providers.Request, talk bool, err error) error {
	if providers.KindOf(err) != providers.KindContextLength {
		return err
	}
	tools, messages := offer.Size(req.Tools), Size(req.Messages)
	switch {
	case tools > messages && tools > len(req.System):
		of := "a window that is not known"
		if most := providers.MaxWindow(ctx, w.route.Provider, w.route.Model); most > 0 {
			of = fmt.Sprintf("%d tokens", most)
		}
		return fmt.Errorf("%w: the tools take about %d of %s: %s", err, tools/schemaBytes, of, windowAdvice)
	case talk:
		return fmt.Errorf("%w: the conversation is too long for this model; start a new one or shorten it", err)
	}
	return fmt.Errorf("%w: the question, with what belongs to it and what tools gave, is too long for this model; shorten it, or choose a model with a longer context", err)
}
