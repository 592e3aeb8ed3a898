package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"molar/agent/answer"
	"molar/agent/offer"
	"molar/agent/prompts"
	"molar/providers"
	"molar/schemas"
	"molar/toolhandler"
)

// An outcome is the result of a turn's rounds so far.
type outcome struct {
	finish providers.FinishReason
	// rounds hold the model's texts and calls, with the results.
	rounds   []schemas.Round
	grounded []schemas.Source
	// served is the fallback that answered instead of the route's provider.
	served    *providers.Switch
	toolCalls int
	// pending are the calls that need approval, when no approver was there.
	pending pendingCalls
	// shortened are the results that the model is shown less of than at first, in bytes, by id.
	shortened map[string]int
	// leftOut are the client's tools that a warning named as not offered.
	leftOut []string
	// denied are the calls that would need approval, of a turn that asks nobody.
	denied []prompts.DeniedCall
	// unapproved are the tools that needed a person's approval and did not get it.
	unapproved []string
	// clientCalls are calls that the client has to run; messages are the prompt up to them.
	clientCalls []schemas.ToolCall
	messages    []schemas.Message
	// withheld is set when the model's service withheld or cut the whole answer: there is nothing
	// to save.
	withheld bool
}

// converse runs rounds of tool calls until the model answers in text, and adds the results to
// progress. Each round sees the messages of the earlier ones.
func (a *Agent) converse(ctx context.Context, w *task, p *prompt, o *offer.Offer, verdict *Gate, progress *outcome) error {
	began := a.cfg.Now()
	defer func() { w.out.Trace.Step("answer", a.cfg.Now().Sub(began)) }()
	if w.route.Queues { // a queued model gains nothing by overlap
		if err := verdict.Pass(ctx); err != nil {
			return err
		}
	}
	rules := a.flow(w)
	if err := w.noJSONOffline(); err != nil {
		return err
	}
	ask := step{messages: p.messages, beside: w.schemaBesideTools()}
	if err := a.redo(ctx, w, o, &ask, progress); err != nil {
		return err
	}
	if approved := p.question.approved; len(approved) > 0 {
		if err := a.runApproved(ctx, w, approved, o, &ask, progress); err != nil {
			return err
		}
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		ask.round++
		if ask.stop = stopReason(o, ask.round, rules.rounds); ask.stop == "" && ask.again != nil {
			ask.stop = "the answer is due"
		}
		quiet := rules.quietFirst && ask.stop == ""
		reply, req, err := a.call(ctx, w, p, o, rules, &ask, quiet, verdict, progress)
		if err != nil {
			return a.tooLong(ctx, w, req, len(p.messages) > 1, err)
		}
		if err := verdict.Pass(ctx); err != nil {
			return err
		}
		if calls := reply.Calls(); len(calls) > 0 && ask.stop == "" { // a forbidden call must not start another round
			o.Allow(a.windowBytes(ctx, w, len(req.System)+Size(req.Messages)+Size([]schemas.Message{reply.Message()})))
			if more, err := a.runCalls(ctx, w, reply, o, &ask, progress); !more {
				return err
			}
			continue
		}
		if quiet {
			continue
		}
		if w.schema != nil {
			ask.beside = ask.beside && progress.served == nil // a fallback may not take both
			if more, err := a.showJSON(w, reply, req, &ask); err != nil {
				return err
			} else if more {
				continue
			}
		}
		progress.rounds = append(progress.rounds, schemas.Round{Said: reply.Spoken()})
		w.out.Between(ctx, "RESPONSE", reply.Message().Said())
		return a.endRounds(w, progress)
	}
}

// runCalls runs the calls of a round and prepares the next one; more reports whether there is one.
func (a *Agent) runCalls(ctx context.Context, w *task, reply *Reply, o *offer.Offer, ask *step, progress *outcome) (more bool, _ error) {
	if err := w.out.Commentary(); err != nil {
		return false, err
	}
	reply.change(func(call schemas.ToolCall) schemas.ToolCall {
		if w.turn.runs(call) {
			return call // what its client's schema takes is up to the client
		}
		return o.Handler.WithoutNulls(call)
	})
	hostCalls, clientCalls := w.turn.Split(reply.Calls())
	w.results.Limit(a.resultBytes(ctx, w, len(hostCalls)))
	w.said(reply.Message())
	results, err := a.execute(ctx, w, hostCalls, o.Handler, progress)
	progress.rounds = append(progress.rounds, schemas.NewRound(reply.Message(), results))
	if err != nil {
		return false, err
	}
	progress.keepState(reply.Message())
	if len(clientCalls) > 0 {
		progress.clientCalls, progress.finish = clientCalls, providers.FinishToolCalls
		progress.messages = slices.Concat(ask.messages, []schemas.Message{reply.Message()})
		return false, nil
	}
	grown, joined := o.Grow(results), a.tools.Join(o, results, w.out.Trace.Withheld)
	for _, tool := range slices.Concat(grown, joined) {
		w.traceOffered(o, tool)
	}
	if err := a.reportUnfit(ctx, w, o); err != nil {
		return false, err
	}
	if onlyLooks(hostCalls) || len(joined) > 0 { // the round did nothing yet, so it does not count
		ask.round--
	}
	ask.messages = slices.Concat(ask.messages, a.roundMessages(w, reply.Message(), results))
	return true, nil
}

// roundMessages returns a round as the next one sees it.
func (a *Agent) roundMessages(w *task, message schemas.Message, results []schemas.ToolResult) []schemas.Message {
	if slices.ContainsFunc(results, func(r schemas.ToolResult) bool { return r.Server != "" }) {
		w.out.Watching().Arm()
	}
	w.heard.fetched(results...)
	return []schemas.Message{message, prompts.Results(results, 0)}
}

// runApproved runs the calls that the person has just approved, as a first round.
func (a *Agent) runApproved(ctx context.Context, w *task, approved pendingCalls, o *offer.Offer, ask *step, progress *outcome) error {
	message := schemas.Message{Role: schemas.RoleAssistant, Parts: approved.Parts()}
	w.results.Limit(a.resultBytes(ctx, w, len(approved)))
	w.said(message)
	results, err := a.execute(ctx, w, approved.Calls(), o.Handler, progress)
	progress.rounds = append(progress.rounds, schemas.NewRound(message, results))
	o.Grow(results)
	ask.messages = slices.Concat(ask.messages, a.roundMessages(w, message, results))
	ask.round++
	return err
}

// shorten records that the model is shown less of a result.
func (s *outcome) shorten(id string, bytes int) {
	if s.shortened == nil {
		s.shortened = make(map[string]int)
	}
	s.shortened[id] = bytes
}

// keepState copies the provider's state to the pending calls.
func (s *outcome) keepState(message schemas.Message) {
	for i, pending := range s.pending {
		for _, part := range message.Parts {
			if part.Call != nil && part.Call.ID == pending.Call.ID {
				s.pending[i].State = part.State
			}
		}
	}
}

// onlyLooks reports whether a round only looked for tools, or for how to use them. The limit of calls bounds such
// rounds.
func onlyLooks(calls []schemas.ToolCall) bool {
	return !slices.ContainsFunc(calls, func(c schemas.ToolCall) bool {
		return c.Function.Name != offer.FindTools && c.Function.Name != offer.ReadSkill
	})
}

// A step is the input of a round.
type step struct {
	// round counts from 1.
	round    int
	messages []schemas.Message
	// stop is why no tool may be called; empty if one may.
	stop string

	// beside is set if a request may hold a schema and tools.
	beside bool
	// again holds the last answer and what is wrong with it, if it did not match the schema;
	// mismatched is set if its request had the schema.
	again      []schemas.Message
	mismatched bool
}

// flowRules are the limits and the form of a flow.
type flowRules struct {
	rounds int
	// single: one tool round, then a pass in which calls are forbidden.
	single bool
	// quietFirst: text of the tool pass is not shown.
	quietFirst bool
}

func (a *Agent) flow(w *task) flowRules {
	rules := flowRules{rounds: a.cfg.Limits.Rounds}
	if n := w.turn.MaxRounds; n > 0 {
		rules.rounds = min(rules.rounds, n)
	}
	// A client's tools may need many rounds, and the client limits them itself.
	if w.assistant.Flow == schemas.FlowTwoPass && len(w.turn.ClientTools) == 0 {
		rules = flowRules{rounds: 1, single: true, quietFirst: !w.assistant.AnswersDirectly()}
	}
	return rules
}

// stopReason returns why a round may not call tools, or "" if it may.
func stopReason(o *offer.Offer, round, limit int) string {
	switch {
	case len(o.Tools) == 0:
		return "none is offered"
	case round > limit:
		return fmt.Sprintf("the limit of %d rounds is reached", limit)
	}
	return o.Handler.Exhausted()
}

// defaultTemperature is used for turns that offer tools or have a topic, unless the turn, its
// assistant or the provider's settings name a temperature. It is low, as calls and facts
// should not vary from one time to the next; other turns get the provider's own default.
const defaultTemperature = 0.2

// purpose returns the assistant's description in a sentence. It is empty for one that cannot look
// anything up: the offline answer then names what is missing.
func (w *task) purpose(o *offer.Offer) string {
	if len(w.assistant.Search)+len(o.Tools) == 0 {
		return ""
	}
	return cmp.Or(w.voice(w.out.Lang()).Description, w.assistant.Description)
}

// request builds the model call of a round: the first is the tool pass, later ones and those
// without tools are the chat pass. Where calls are forbidden the tools stay, so that the beginning
// of the prompt stays cached.
func (a *Agent) request(ctx context.Context, w *task, system string, o *offer.Offer, rules flowRules, ask step) *providers.Request {
	req := providers.Request{
		Pass: providers.PassAnswer, Model: w.route.Model, System: system, Messages: w.newestPictures(ctx, ask.messages), Language: w.out.Lang(),
		About: w.purpose(o),
		Tools: o.Tools, Temperature: w.turn.Temperature, TopP: w.turn.TopP, MaxTokens: w.turn.MaxTokens, Stop: w.turn.Stop,
		Seed: w.turn.Seed, Thinking: w.turn.Thinking,
	}
	req = req.With(w.assistant.Tuning)
	if len(o.Tools) > 0 || w.guard != nil {
		req.DefaultTemperature = new(defaultTemperature)
	}
	switch {
	case ask.stop == "" && ask.round == 1:
		w.turn.Force(&req)
		if len(w.turn.Results) == 0 {
			req.Pass = providers.PassTool
		}
		w.out.Mark("6.2", "Tool pass", "tools", len(req.Tools))
	case ask.stop != "" && len(o.Tools) > 0:
		req.ForbidCalls = true
		if !rules.single && ask.again == nil { // there the flow, not a limit, ends tool use
			req.Messages = slices.Concat(ask.messages, []schemas.Message{prompts.NoMoreCalls(w.out.Lang(), ask.stop)})
		}
	}
	if w.schema != nil {
		w.addSchema(&req, ask)
	}
	if req.Pass == providers.PassAnswer {
		w.out.Mark("8", "Generating response with LLM provider: "+w.route.Provider.Name(), "model", w.route.Model)
	}
	return &req
}

// listen reads a round's stream: it shows text as it arrives, once the verdict is a pass, and
// collects calls. With quiet, no text is shown.
func (a *Agent) listen(ctx context.Context, w *task, req *providers.Request, quiet bool, verdict *Gate, progress *outcome) (*Reply, error) {
	reply := &Reply{}
	if err := a.warnLeftOut(w, progress); err != nil {
		return reply, err
	}
	held := w.holds(req)
	for chunk, err := range a.stream(ctx, w, w.out.Lang(), req) {
		if err != nil {
			return reply, err
		}
		if chunk.Retract && w.schema != nil && w.out.Spoke() {
			return reply, mismatch(errors.New("the model took text back that had been sent"))
		}
		if chunk.Retract { // what was shown was reasoning
			reply.Retract()
			if err := w.out.Commentary(); err != nil {
				return reply, err
			}
		}
		chunk.Call = w.out.Redact(chunk.Call)
		reply.Add(chunk)
		if chunk.Switched != nil && (progress.served == nil || *progress.served != *chunk.Switched) {
			progress.served = chunk.Switched
			if err := w.out.WarnOfHost(answer.CodeModelReplaced, "", fmt.Sprintf("%s answers instead: %s", chunk.Switched.Provider, chunk.Switched.Why)); err != nil {
				return reply, err
			}
		}
		if chunk.Switched != nil && chunk.Switched.Quotes { // quotations are not watched
			w.out.Watch(nil)
			w.out.Source(nil)
		}
		progress.grounded = append(progress.grounded, chunk.Sources...)
		if quiet {
			continue
		}
		if held = held || w.schema != nil && chunk.Switched != nil; held {
			chunk.Text = ""
		}
		if err := a.show(ctx, w, chunk, verdict); err != nil {
			return reply, err
		}
	}
	progress.finish = reply.Finish
	if err := a.warnLeftOut(w, progress); err != nil { // the service may have just refused one
		return reply, err
	}
	if w.turn.OneCall {
		reply.KeepOneCall()
	}
	return reply, nil
}

// warnLeftOut warns a client about each of its tools that the model is not offered, once.
func (a *Agent) warnLeftOut(w *task, progress *outcome) error {
	if len(w.turn.ClientTools) == 0 {
		return nil
	}
	out := providers.LeftOut(w.route.Provider, w.turn.ClientTools)
	for _, tool := range w.turn.ClientTools {
		if out[tool.Name] == "" || slices.Contains(progress.leftOut, tool.Name) {
			continue
		}
		progress.leftOut = append(progress.leftOut, tool.Name)
		if err := w.out.Warn(answer.CodeLeftOut, fmt.Sprintf("the client's tool %s is %s", tool.Name, out[tool.Name])); err != nil {
			return err
		}
	}
	return nil
}

// show yields a chunk's text, once the verdict is a pass, and its reasoning. Under a topic the
// reasoning is hidden: models quote their instructions there.
func (a *Agent) show(ctx context.Context, w *task, chunk providers.Chunk, verdict *Gate) error {
	if chunk.Thinking != "" && w.guard == nil {
		if err := w.out.Emit(answer.Event{Kind: answer.KindThinking, Text: chunk.Thinking}); err != nil {
			return err
		}
	}
	if chunk.Text == "" {
		return nil
	}
	if err := verdict.Pass(ctx); err != nil {
		return err
	}
	return w.out.Model(chunk.Text)
}

// endRounds ends the rounds of a turn whose model made no more calls. An answer that was withheld
// or cut as a whole ends with a warning, not an error: a retry would give the same.
func (a *Agent) endRounds(w *task, progress *outcome) error {
	if err := w.out.Settle(); err != nil {
		return err
	}
	if w.out.Spoke() {
		return nil
	}
	switch progress.finish {
	case providers.FinishContentFilter:
		progress.withheld = true
		return w.out.Warn(answer.CodeNoAnswer, "the model's service withheld the whole answer, so nothing is saved; ask in another way")
	case providers.FinishLength:
		progress.withheld = true
		return w.out.Warn(answer.CodeNoAnswer, "the answer was cut before its first word, so nothing is saved; allow more tokens")
	}
	return &providers.Error{
		Kind: providers.KindIncomplete, Provider: w.route.Provider.Name(), Model: w.route.Model,
		Err: errors.New("the model ended without an answer; try again or choose another model"),
	}
}

// execute runs the calls of one answer and returns their results in call order.
func (a *Agent) execute(ctx context.Context, w *task, calls []schemas.ToolCall, handler *toolhandler.Turn, progress *outcome) ([]schemas.ToolResult, error) {
	for _, call := range calls {
		tool, _ := handler.Lookup(call.Function.Name)
		w.out.Mark("6.3", "Tool call", "tool", call.Function.Name, "id", call.ID)
		if err := w.out.Call("6.3", &call, tool, handler.MayAct(tool), handler.Asks(ctx, call)); err != nil {
			return nil, err
		}
	}
	var results []schemas.ToolResult
	for out := range handler.Execute(ctx, calls) {
		if out.Status == toolhandler.StatusUnapproved {
			progress.unapproved = append(progress.unapproved, out.Tool.Name)
			switch {
			case w.turn.AskNever, w.turn.Approver == nil && w.turn.Data: // what others write agrees to nothing
				progress.denied = append(progress.denied, prompts.DeniedCall{Tool: out.Tool.Name, Reason: out.Reason})
			case w.turn.Approver == nil, len(out.Tool.Rules.Approvers) > 0:
				call := out.Call
				call.Function.Name = out.Tool.Name
				progress.pending = progress.pending.With(pendingCall{Part: schemas.Part{Kind: schemas.PartCall, Call: &call}, tool: out.Tool, reason: out.Reason})
			}
		}
		progress.toolCalls++
		results = append(results, out.Result)
		if err := w.out.Outcome("6.3", &out, "the model called it"); err != nil {
			return results, err
		}
	}
	if err := ctx.Err(); err != nil {
		return results, err
	}
	return results, w.keeper.Unrecorded()
}

// promptSize estimates the bytes of a request's prompt.
func promptSize(req *providers.Request) int {
	return len(req.System) + Size(req.Messages) + offer.Size(req.Tools)
}
