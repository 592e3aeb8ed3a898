package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"molar/agent/answer"
	"molar/agent/offer"
	"molar/providers"
	"molar/schemas"
)

const (
	// The lines of skills may take skillTokens, or 1/skillShare of the window if that is less.
	skillTokens, skillShare = 2000, 16
	schemaBytes             = offer.TokenBytes
	// answerTokens is the room reserved for an answer without a limit.
	answerTokens = 1024
	// 1/toolResultShare of a window is reserved for tool results when tools are chosen.
	toolResultShare = 8
	// 1/resultShare of a window is what one result may take; 1/roundShare what the results of one
	// round may take together.
	resultShare, roundShare = 4, 2
	// safeBytes is the fewest bytes per token that are reckoned with where a prompt must fit:
	// English has about 4, JSON and Vietnamese about 3. It also converts the shares of a known window, so
	// that they stay the same through a conversation.
	safeBytes = 3
)

// windows holds the windows that were learnt from refusals, by provider and model. The zero value is
// ready.
type windows struct {
	mu     sync.Mutex
	learnt map[[2]string]learntWindow
}

// A learntWindow is a window in tokens. A guess holds until the window is known.
type learntWindow struct {
	tokens int
	guess  bool
}

// learn records a window that a refusal names, guess one that fits what was refused.
func (s *windows) learn(provider, model string, tokens int) {
	s.set(provider, model, learntWindow{tokens: tokens})
}

func (s *windows) guess(provider, model string, tokens int) {
	s.set(provider, model, learntWindow{tokens, true})
}

func (s *windows) set(provider, model string, window learntWindow) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.learnt == nil {
		s.learnt = make(map[[2]string]learntWindow)
	}
	s.learnt[[2]string{provider, model}] = window
}

// of returns what was learnt of the window of a turn's model.
func (s *windows) of(w *task) learntWindow {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.learnt[[2]string{w.route.Provider.Name(), w.route.Model}]
}

// guessed reports whether the window of a turn's model is a guess.
func (s *windows) guessed(w *task) bool { return s.of(w).guess }

// bound returns a window, 0 if it is unknown, with what was learnt of it.
func (s *windows) bound(w *task, window int) int {
	learnt := s.of(w)
	if window == 0 || learnt.tokens > 0 && learnt.tokens < window && !learnt.guess {
		return learnt.tokens
	}
	return window
}

// window returns the window that prompts should fit, in tokens; 0 if it is not known.
func (a *Agent) window(ctx context.Context, w *task) int {
	return a.windows.bound(w, providers.Window(ctx, w.route.Provider, w.route.Model))
}

// maxWindow returns the largest window that the model can have, in tokens; 0 if it is not known.
func (a *Agent) maxWindow(ctx context.Context, w *task) int {
	return a.windows.bound(w, providers.MaxWindow(ctx, w.route.Provider, w.route.Model))
}

// messageBytes returns the room for the messages of a prompt beside its system text, its tools and the
// answer; known is false if the window is not known.
func (a *Agent) messageBytes(ctx context.Context, w *task, system, tools int) (room int, known bool) {
	most := a.maxWindow(ctx, w)
	if most == 0 {
		return 0, false
	}
	tokens := most - min(w.answerRoom(), most/2) - tools/schemaBytes
	return int(float64(tokens)*min(a.tokens.BytesOf(w.route.Model), safeBytes)) - system, true
}

// resultBytes returns how much the model is shown of each of n results that arrive together.
func (a *Agent) resultBytes(ctx context.Context, w *task, n int) int {
	bytes := a.cfg.Limits.ResultTokens * BytesPerToken
	if most := a.maxWindow(ctx, w); most > 0 {
		bytes = min(bytes, most/resultShare*safeBytes, most/roundShare*safeBytes/max(n, 1))
	}
	return bytes
}

// attachedBytes returns how much the model is shown of each of a question's n attachments.
func (a *Agent) attachedBytes(ctx context.Context, w *task, n int) int {
	bytes := a.resultBytes(ctx, w, 1)
	if most := a.maxWindow(ctx, w); most > 0 {
		bytes = min(bytes, most/resultShare*safeBytes/max(n, 1))
	}
	return bytes
}

// toolBytes returns the room for tools in the prompt: [Limits.ToolTokens], else what they take of the
// largest window that the model can have. A window that can grow does so for tools, as for the rest of a
// prompt.
func (a *Agent) toolBytes(ctx context.Context, w *task) int {
	tokens := a.cfg.Limits.ToolTokens
	if tokens == 0 {
		tokens = offer.DefaultTokens(a.maxWindow(ctx, w))
	}
	return tokens * schemaBytes
}

// windowBytes returns the room that the model's window leaves for tools after the fixed bytes of
// the prompt, an answer and some results. If the window is unknown, called or found tools may
// exceed their room by the room of the conversation.
func (a *Agent) windowBytes(ctx context.Context, w *task, fixedBytes int) int {
	most := a.maxWindow(ctx, w)
	if most == 0 {
		return a.toolBytes(ctx, w) + a.cfg.Limits.ContextTokens*BytesPerToken
	}
	tokens := most - w.answerRoom() - min(a.cfg.Limits.ResultTokens, most/toolResultShare)
	return max(int(float64(tokens)*min(a.tokens.BytesOf(w.route.Model), schemaBytes))-fixedBytes, 1)
}

// A pastRoom is the room for the verbatim exchanges of a conversation, in bytes.
type pastRoom struct {
	// all bounds them together. last is what the last one may take alone.
	all, last int
}

// pastRoom returns the room for verbatim exchanges: [Limits.ContextTokens], but at most half of what
// the rest of the prompt and the answer leave of the model's window, and no more than is left beside
// the question and, with tools, some results. For tools beyond their share, and for the last exchange, the
// window grows, as far as it can.
func (a *Agent) pastRoom(ctx context.Context, w *task, system, tools, question int) pastRoom {
	perToken := a.tokens.BytesOf(w.route.Model)
	tokens := a.cfg.Limits.ContextTokens
	window := a.window(ctx, w)
	if window == 0 {
		all := int(float64(tokens) * perToken)
		return pastRoom{all: all, last: all}
	}
	most := max(window, a.maxWindow(ctx, w))
	free := min(
		window-int(float64(system+min(tools, window/offer.WindowShare*schemaBytes))/perToken),
		most-int(float64(system+tools)/perToken),
	) - w.answerRoom()
	soft := int(float64(max(min(tokens, free/2), 0)) * perToken)
	hard, _ := a.messageBytes(ctx, w, system, tools)
	hard -= question
	if tools > 0 {
		hard -= a.resultBytes(ctx, w, 1) / 2
	}
	hard = max(hard, 0) * summaryShare / (summaryShare + 1) // the summary comes on top
	return pastRoom{all: min(soft, hard), last: hard}
}

// answerRoom returns the tokens reserved for the answer.
func (w *task) answerRoom() int {
	if w.turn.MaxTokens > 0 {
		return w.turn.MaxTokens
	}
	return answerTokens
}

// fixedBytes estimates the bytes of the prompt without the tools and the conversation. earlier are
// the rounds of the turn before its client's tools ran.
func (a *Agent) fixedBytes(ctx context.Context, w *task, q question, past recalled, found findings, skills *offer.Skills, earlier []schemas.Round) int {
	n := len(a.system(w, cmp.Or(past.lang, q.lang), true, skills, nil)) + Size([]schemas.Message{q.message})
	results := slices.Clone(found.results)
	for _, r := range earlier {
		n += Size([]schemas.Message{r.Said})
		results = append(results, r.Results...)
	}
	for _, r := range results {
		n += min(len(r.Output), a.resultBytes(ctx, w, 1))
	}
	return n
}

// reportUnfit traces the tools found last that have no room, and warns if one is the best match and
// the tools take at least half of the window.
func (a *Agent) reportUnfit(ctx context.Context, w *task, o *offer.Offer) error {
	if len(o.Unfit) == 0 {
		return nil
	}
	most := a.maxWindow(ctx, w)
	for _, tool := range o.Unfit {
		w.out.Trace.Withheld(tool.Name, "it was found, but there is no room to offer it; it can be called by its name")
		all := offer.Size(append(slices.Clone(o.Tools), tool.ToolInfo)) / schemaBytes
		if !tool.Large || all < most/2 || most == 0 {
			continue
		}
		why := fmt.Sprintf("there is no room to offer the tool %s, as with it the tools take about %d of %d tokens; the model may call it without having seen all of its arguments: %s",
			tool.Name, all, most, windowAdvice)
		if err := w.out.WarnOfHost(answer.CodeNoRoom, "", why); err != nil {
			return err
		}
	}
	return nil
}

// windowAdvice is the remedy for tools that take too much of a window.
const windowAdvice = "raise llm.ollama.max_num_ctx (or num_ctx, where that is set), choose a model with a longer context, or leave tools out with mcpServers.*.excludeTools"

// tooLong adds the remedy to a context-length error: it depends on what takes the most of the
// prompt. talk is set when the conversation is part of it.
func (a *Agent) tooLong(ctx context.Context, w *task, req *providers.Request, talk bool, err error) error {
	if providers.KindOf(err) != providers.KindContextLength {
		return err
	}
	tools, messages := offer.Size(req.Tools), Size(req.Messages)
	switch {
	case tools > messages && tools > len(req.System):
		of := "a window that is not known"
		if most := a.maxWindow(ctx, w); most > 0 {
			of = fmt.Sprintf("%d tokens", most)
		}
		return fmt.Errorf("%w: the tools take about %d of %s: %s", err, tools/schemaBytes, of, windowAdvice)
	case talk:
		return fmt.Errorf("%w: the conversation is too long for this model; start a new one or shorten it", err)
	}
	return fmt.Errorf("%w: the question, with what belongs to it and what tools gave, is too long for this model; shorten it, or choose a model with a longer context", err)
}
