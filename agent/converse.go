package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"molar/agent/prompts"
	"molar/providers"
	"molar/schemas"
	"molar/toolhandler"
)

// converse is steps 5 and 6: rounds of tool calls until the model answers in text.
func (r *run) converse(ctx context.Context) error {
	if err := r.settleMemory(ctx); err != nil {
		return err
	}
	r.mark("5.1", "Context built", "summary_length", len(r.opening.Summary), "messages", len(r.opening.Messages), "results", len(r.found))
	if r.opening.Summary != "" {
		r.mark("7.2", "Using existing summary as context", "length", len(r.opening.Summary))
	}
	if err := r.offerTools(ctx); err != nil {
		return err
	}
	if r.route.Queues || !r.langSure { // a judge may have to tell the language first
		if err := r.admit(ctx); err != nil { // a queued model gains nothing by overlap
			return err
		}
	}
	if err := r.converseInRounds(ctx, r.messages()); err != nil {
		return err
	}
	if r.silent() {
		return r.endSilently()
	}
	return nil
}

// messages is what the model sees first: the question and what belongs to it, or the
// turn that goes on.
func (r *run) messages() []schemas.Message {
	if r.paused != nil {
		return r.paused.Messages
	}
	messages := prompts.Messages(prompts.QuestionInput{
		Language: r.lang,
		Nonce:    r.nonce,
		Topic:    r.assistant.Topic != "",
		Notice:   r.notice,
		Summary:  r.opening.Summary,
		Earlier:  r.opening.Messages,
		Question: r.question,
		Searched: r.searched,
		Search:   r.found,
		MaxBytes: r.resultBytes(),
	})
	return append(messages, r.afterQuestion()...)
}

// silent says whether the answer holds no text of the model's.
func (r *run) silent() bool { return !r.spoke }

// endSilently judges a turn without text. An answer that was withheld or cut as a
// whole ends with that reason: asking again would give the same. It leaves nothing
// to store.
func (r *run) endSilently() error {
	switch r.finish {
	case providers.FinishContentFilter:
		r.remember = false
		return r.warn("the model's service withheld the whole answer, so nothing is saved; ask in another way")
	case providers.FinishLength:
		r.remember = false
		return r.warn("the answer was cut before its first word, so nothing is saved; allow more tokens")
	}
	return &providers.Error{
		Kind: providers.KindIncomplete, Provider: r.route.Provider.Name(), Model: r.route.Model,
		Err: errors.New("the model ended without an answer; try again or choose another model"),
	}
}

// converseInRounds runs the flow of the assistant. Each round sees the messages of the ones
// before it.
func (r *run) converseInRounds(ctx context.Context, messages []schemas.Message) error {
	limit := r.a.cfg.Limits.Rounds
	if n := r.turn.MaxRounds; n > 0 {
		limit = min(limit, n)
	}
	// A client's tools may need many rounds, and it counts them itself.
	twoPass := r.assistant.Flow == FlowTwoPass && len(r.turn.ClientTools) == 0
	if twoPass {
		limit = 1
	}
	for round := 1; ; round++ {
		stop := r.noMoreTools(round, limit)
		req, err := r.request(round, messages, stop, twoPass)
		if err != nil {
			return err
		}
		quiet := twoPass && r.assistant.NeedsChatPass && len(req.Tools) > 0
		out, err := r.listen(ctx, req, quiet)
		if err != nil {
			return err
		}
		r.finish = out.finish
		if err := r.admit(ctx); err != nil {
			return err
		}
		calls := out.calls()
		if stop != "" {
			calls = nil // a model that calls without an offer must not keep the turn going
		}
		if len(calls) == 0 {
			if quiet {
				continue
			}
			r.rounds = append(r.rounds, schemas.Round{Said: out.spoken()})
			r.between(ctx, "RESPONSE", out.text())
			return nil
		}
		ours, theirs := r.split(calls)
		results, err := r.execute(ctx, ours)
		r.rounds = append(r.rounds, schemas.Round{Said: out.message(), Results: results})
		if err != nil {
			return err
		}
		if len(theirs) > 0 {
			r.theirs, r.prompt = theirs, slices.Concat(messages, []schemas.Message{out.message()})
			return errPaused
		}
		messages = append(messages, out.message(), prompts.Results(r.nonce, r.disarmed(results), r.resultBytes()))
	}
}

// noMoreTools says why a round offers no tools, or "".
func (r *run) noMoreTools(round, limit int) string {
	switch {
	case len(r.offered) == 0:
		return "none is offered"
	case round > limit:
		return fmt.Sprintf("the limit of %d rounds is reached", limit)
	}
	return r.tools.Exhausted()
}

// request builds the model call of a round: the first is the tool pass, later ones
// and those without tools are the chat pass.
func (r *run) request(round int, messages []schemas.Message, stop string, twoPass bool) (providers.Request, error) {
	req := providers.Request{
		Pass:        providers.PassAnswer,
		Model:       r.route.Model,
		Messages:    messages,
		Language:    r.lang,
		Temperature: r.turn.Temperature,
		MaxTokens:   r.turn.MaxTokens,
		Stop:        r.turn.Stop,
	}
	limit := stop
	if stop == "" {
		req.Tools = r.offered
	}
	if stop == "" && round == 1 {
		r.force(&req)
		if len(r.turn.Results) == 0 {
			req.Pass = providers.PassTool
		}
		r.mark("6.2", "Tool pass", "tools", len(req.Tools))
	}
	if len(r.offered) == 0 || twoPass {
		limit = "" // the flow, not a limit, ends tool use here
	}
	system, err := r.a.prompts.System(prompts.SystemInput{
		Role:     role(r.assistant),
		Text:     r.assistant.SystemPrompt,
		Client:   r.turn.System,
		Topic:    r.assistant.Topic != "",
		Language: r.lang,
		Nonce:    r.nonce,
		Tools:    len(req.Tools) > 0,
		JSON:     r.turn.JSON,
		Limit:    limit,
	})
	req.System = system
	if req.Pass == providers.PassAnswer {
		r.mark("8", "Generating response with LLM provider: "+r.route.Provider.Name(), "model", r.route.Model)
	}
	return req, err
}

// role names the built-in role text of an assistant.
func role(a Assistant) string {
	if a.Topic != "" {
		return a.Topic
	}
	return "general"
}

// execute runs the calls of one answer and returns their results in call order.
func (r *run) execute(ctx context.Context, calls []schemas.ToolCall) ([]schemas.ToolResult, error) {
	r.apart = true
	for _, call := range calls {
		tool, _ := r.tools.Lookup(call.Function.Name)
		r.mark("6.3", "Tool call", "tool", call.Function.Name, "id", call.ID)
		if err := r.emit(Event{Kind: EventToolCall, Step: "6.3", Call: &call, Server: tool.Server, ToolName: tool.ToolName}); err != nil {
			return nil, err
		}
	}
	var results []schemas.ToolResult
	for o := range r.tools.Execute(ctx, calls) {
		r.trace.outcome(o, "the model called it")
		if o.Status == toolhandler.StatusUnapproved {
			r.unapproved = append(r.unapproved, o.Tool.Name)
		}
		r.toolCalls++
		results = append(results, o.Result)
		if err := r.emit(Event{Kind: EventToolResult, Step: "6.3", Call: &o.Call, Result: &o.Result, Server: o.Tool.Server, ToolName: o.Tool.ToolName}); err != nil {
			return results, err
		}
	}
	return results, ctx.Err()
}

// resultBytes is how much of one result a model sees. The whole one stays in the
// events, the trace and the store.
func (r *run) resultBytes() int {
	const bytesPerToken = 4
	return r.a.cfg.Limits.ResultTokens * bytesPerToken
}
