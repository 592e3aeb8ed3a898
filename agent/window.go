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
	// toolTokens is what the offered tools may take, and toolShare the part of a model's window
	// that they may take where that is less.
	toolTokens, toolShare = 8000, 4
	// schemaBytes is what a token of a tool's schema takes. It is not learnt, so that the
	// room stays the same through a conversation.
	schemaBytes = 4
	// answerTokens is the room that is left for an answer that nobody bounded.
	answerTokens = 1024
	// resultShare is the part of a window that is left for the results of tools.
	resultShare = 8
)

// toolBytes is the room for tools in the prompt: [Limits.ToolTokens], else as much as the model
// can have, within bounds. A window that grows follows the tools, as it does the rest of a prompt.
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

// windowBytes is what the window of the model leaves to tools beside a prompt of so many bytes,
// an answer and some results. Where the window is not known, tools that were called or found may
// take as much beyond their room as the conversation.
func (a *Agent) windowBytes(ctx context.Context, w task, beside int) int {
	most := providers.MaxWindow(ctx, w.route.Provider, w.route.Model)
	if most == 0 {
		return a.toolBytes(ctx, w) + a.cfg.Limits.ContextTokens*BytesPerToken
	}
	tokens := most - w.answerRoom() - min(a.cfg.Limits.ResultTokens, most/resultShare)
	return max(int(float64(tokens)*min(a.tokens.BytesOf(w.route.Model), schemaBytes))-beside, 1)
}

// historyBytes is the room for verbatim exchanges: [Limits.ContextTokens], but at most half of
// what the model's window leaves beside the rest of the prompt and the answer. For tools beyond
// their part of the window it grows, as far as it can.
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

// answerRoom is how many tokens are left for the answer.
func (w task) answerRoom() int {
	if w.turn.MaxTokens > 0 {
		return w.turn.MaxTokens
	}
	return answerTokens
}

// beside is about how many bytes of the prompt stand beside the tools and the conversation.
// earlier are the rounds of the turn before its client's tools ran.
func (a *Agent) beside(w task, q question, past recalled, found findings, earlier []schemas.Round) int {
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

// unfit notes the tools that were found last and have no room, and warns where that is so even of
// the one that fits best, as tools take the most of the window.
func (a *Agent) unfit(ctx context.Context, w task, o *offer.Offer) error {
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
			tool.Name, all, most, moreWindow)
		if err := w.out.Warn(text); err != nil {
			return err
		}
	}
	return nil
}

// moreWindow is what helps where tools take too much of a window.
const moreWindow = "raise llm.ollama.max_num_ctx (or num_ctx, where that is set), choose a model with a longer context, or leave tools out with mcpServers.*.excludeTools"

// tooLong says what to do about a prompt that the model's window does not hold: it depends on
// what takes the most of it. talk is set when the conversation is part of it.
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
		return fmt.Errorf("%w: the tools take about %d of %s: %s", err, tools/schemaBytes, of, moreWindow)
	case talk:
		return fmt.Errorf("%w: the conversation is too long for this model; start a new one or shorten it", err)
	}
	return fmt.Errorf("%w: the question, with what belongs to it and what tools gave, is too long for this model; shorten it, or choose a model with a longer context", err)
}
