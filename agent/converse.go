package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

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
	if r.route.Queues {
		if err := r.admit(ctx); err != nil { // a queued model gains nothing by overlap
			return err
		}
	}
	messages := prompts.Messages(prompts.QuestionInput{
		Language: r.lang,
		Nonce:    r.nonce,
		Topic:    r.assistant.Topic != "",
		Summary:  r.opening.Summary,
		Earlier:  r.opening.Messages,
		Question: r.question,
		Searched: r.searched,
		Search:   r.found,
	})
	if err := r.rounds(ctx, messages); err != nil {
		return err
	}
	if strings.TrimSpace(r.answer.String()) == "" {
		return &providers.Error{
			Kind: providers.KindIncomplete, Provider: r.route.Provider.Name(), Model: r.route.Model,
			Err: errors.New("the model ended without an answer; try again or choose another model"),
		}
	}
	return nil
}

// rounds runs the flow of the assistant. Each round sees the messages of the ones
// before it.
func (r *run) rounds(ctx context.Context, messages []schemas.Message) error {
	limit := r.a.cfg.Limits.Rounds
	if n := r.turn.MaxRounds; n > 0 {
		limit = min(limit, n)
	}
	twoPass := r.assistant.Flow == FlowTwoPass
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
		if len(out.calls) == 0 {
			if quiet {
				continue
			}
			return nil
		}
		results, err := r.execute(ctx, out)
		if err != nil {
			return err
		}
		messages = append(messages, out.message, results)
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
		req.Pass = providers.PassTool
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

// execute runs the calls of one answer and returns the message that pairs each with
// its result.
func (r *run) execute(ctx context.Context, out said) (schemas.Message, error) {
	r.apart = true
	for _, call := range out.calls {
		tool, _ := r.tools.Lookup(call.Function.Name)
		r.mark("6.3", "Tool call", "tool", call.Function.Name, "id", call.ID)
		if err := r.emit(Event{Kind: EventToolCall, Step: "6.3", Call: &call, Server: tool.Server, ToolName: tool.ToolName}); err != nil {
			return schemas.Message{}, err
		}
	}
	message := schemas.Message{Role: schemas.RoleTool}
	for o := range r.tools.Execute(ctx, out.calls) {
		r.trace.outcome(o, "the model called it")
		if o.Status == toolhandler.StatusUnapproved {
			r.unapproved = append(r.unapproved, o.Tool.Name)
		}
		r.executed = append(r.executed, schemas.ExecutedCall{Call: o.Call, Server: o.Tool.Server, Result: o.Result, State: out.states[o.Call.ID]})
		message.Parts = append(message.Parts, schemas.Part{Kind: schemas.PartResult, Text: prompts.Result(r.nonce, r.bounded(o.Result)), Result: &o.Result})
		if err := r.emit(Event{Kind: EventToolResult, Step: "6.3", Call: &o.Call, Result: &o.Result, Server: o.Tool.Server, ToolName: o.Tool.ToolName}); err != nil {
			return schemas.Message{}, err
		}
	}
	return message, ctx.Err()
}

// bounded cuts a result to what a model sees of it. The whole one stays in the
// events, the trace and the store.
func (r *run) bounded(result schemas.ToolResult) schemas.ToolResult {
	const bytesPerToken = 4
	limit := r.a.cfg.Limits.ResultTokens * bytesPerToken
	if len(result.Output) <= limit {
		return result
	}
	text := result.OutputText()
	cut := strings.ToValidUTF8(text[:min(limit, len(text))], "")
	cut += fmt.Sprintf("\n… (%d of %d bytes left out)", len(text)-len(cut), len(text))
	if output, err := json.Marshal(cut); err == nil {
		result.Output = output
	}
	return result
}
