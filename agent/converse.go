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

// An outcome is what the rounds of a turn came to.
type outcome struct {
	finish providers.FinishReason
	// rounds are what the model said and called, with the results.
	rounds   []schemas.Round
	grounded []schemas.Source
	// served is the provider that answered, when it is not the route's.
	served    *providers.Switch
	toolCalls int
	// waiting are the calls that nobody could be asked about.
	waiting Waiting
	// leftOut are the client's tools that it was told are not offered.
	leftOut []string
	// unapproved are the tools that needed a person's approval and had none.
	unapproved []string
	// theirs are calls that the client has to run; messages are the prompt up to them.
	theirs   []schemas.ToolCall
	messages []schemas.Message
	// withheld is set when the model's service gave no word of an answer: there is
	// nothing to save.
	withheld bool
}

// converse runs rounds of tool calls until the model answers in text, and adds to said what
// comes of them. Each round sees
// the messages of the ones before it.
func (a *Agent) converse(ctx context.Context, w task, p *prompt, o *offer.Offer, verdict *Gate, said *outcome) error {
	began := a.cfg.Now()
	defer func() { w.out.Trace.Step("answer", a.cfg.Now().Sub(began)) }()
	if w.route.Queues { // a queued model gains nothing by overlap
		if err := verdict.Pass(ctx); err != nil {
			return err
		}
	}
	rules := a.flow(w)
	ask := step{messages: p.messages}
	if len(p.agreed) > 0 {
		if err := a.runAgreed(ctx, w, p.agreed, o, &ask, said); err != nil {
			return err
		}
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		ask.round++
		ask.stop = noMoreTools(o, ask.round, rules.rounds)
		quiet := rules.quietFirst && ask.stop == ""
		req := a.request(w, p.system, o, rules, ask)
		out, err := a.listen(ctx, w, req, quiet, verdict, said)
		if err != nil {
			return a.tooLong(ctx, w, req, len(p.messages) > 1, err)
		}
		if err := verdict.Pass(ctx); err != nil {
			return err
		}
		if calls := out.Calls(); len(calls) > 0 && ask.stop == "" { // one that calls although it must not may not keep the turn going
			o.Allow(a.windowBytes(ctx, w, len(req.System)+Size(req.Messages)+Size([]schemas.Message{out.Message()})))
			if more, err := a.act(ctx, w, out, o, &ask, said); !more {
				return err
			}
			continue
		}
		if quiet {
			continue
		}
		said.rounds = append(said.rounds, schemas.Round{Said: out.Spoken()})
		w.out.Between(ctx, "RESPONSE", out.Message().Said())
		return a.answered(w, said)
	}
}

// act runs the calls of a round and prepares the next one, if there are more to come.
func (a *Agent) act(ctx context.Context, w task, out *Reply, o *offer.Offer, ask *step, said *outcome) (more bool, _ error) {
	if err := w.out.Commentary(); err != nil {
		return false, err
	}
	ours, theirs := w.turn.Split(out.Calls())
	results, err := a.execute(ctx, w, ours, o.Handler, said)
	said.rounds = append(said.rounds, schemas.Round{Said: out.Message(), Results: results})
	if err != nil {
		return false, err
	}
	said.keepState(out.Message())
	if len(theirs) > 0 {
		said.theirs, said.finish = theirs, providers.FinishToolCalls
		said.messages = slices.Concat(ask.messages, []schemas.Message{out.Message()})
		return false, nil
	}
	for _, tool := range o.Grow(results) {
		w.out.Trace.Offered(tool.Name)
	}
	if err := a.unfit(ctx, w, o); err != nil {
		return false, err
	}
	if onlyFinds(ours) { // the tools that it wanted come next
		ask.round--
	}
	ask.messages = slices.Concat(ask.messages, a.shownRound(w, out.Message(), results))
	return true, nil
}

// shownRound is a round as the next one sees it.
func (a *Agent) shownRound(w task, said schemas.Message, results []schemas.ToolResult) []schemas.Message {
	clean, ordered := a.disarmed(w, results)
	if ordered || slices.ContainsFunc(results, func(r schemas.ToolResult) bool { return r.Server != "" }) {
		w.out.Watching().Arm()
	}
	return []schemas.Message{said, prompts.Results(clean, a.resultBytes())}
}

// runAgreed runs the calls that the person has just said yes to, as a first round.
func (a *Agent) runAgreed(ctx context.Context, w task, agreed Waiting, o *offer.Offer, ask *step, said *outcome) error {
	message := schemas.Message{Role: schemas.RoleAssistant, Parts: agreed}
	results, err := a.execute(ctx, w, agreed.Calls(), o.Handler, said)
	said.rounds = append(said.rounds, schemas.Round{Said: message, Results: results})
	o.Grow(results)
	ask.messages = slices.Concat(ask.messages, a.shownRound(w, message, results))
	ask.round++
	return err
}

// keepState gives the calls that wait the state that their provider put beside them.
func (s *outcome) keepState(said schemas.Message) {
	for i, waiting := range s.waiting {
		for _, part := range said.Parts {
			if part.Call != nil && part.Call.ID == waiting.Call.ID {
				s.waiting[i].State = part.State
			}
		}
	}
}

// onlyFinds reports a round that looked for tools and did nothing else. How many there may
// be is bounded by the calls of a turn.
func onlyFinds(calls []schemas.ToolCall) bool {
	return !slices.ContainsFunc(calls, func(c schemas.ToolCall) bool { return c.Function.Name != offer.FindTools })
}

// A step is what a round asks.
type step struct {
	// round counts from 1.
	round    int
	messages []schemas.Message
	// stop says why no tool may be called; it is empty where one may.
	stop string
}

// flowRules are how an assistant gets from calls to an answer.
type flowRules struct {
	rounds int
	// single: one tool round, then a pass in which calls are forbidden.
	single bool
	// quietFirst: text of the tool pass is not shown.
	quietFirst bool
}

func (a *Agent) flow(w task) flowRules {
	rules := flowRules{rounds: a.cfg.Limits.Rounds}
	if n := w.turn.MaxRounds; n > 0 {
		rules.rounds = min(rules.rounds, n)
	}
	// A client's tools may need many rounds, and it counts them itself.
	if w.assistant.Flow == FlowTwoPass && len(w.turn.ClientTools) == 0 {
		rules = flowRules{rounds: 1, single: true, quietFirst: w.assistant.NeedsChatPass}
	}
	return rules
}

// noMoreTools returns why a round may not call tools, or "" if it may.
func noMoreTools(o *offer.Offer, round, limit int) string {
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

// purpose says in a sentence what the assistant is for. One that can look nothing up is for
// nothing yet: what it lacks is then worth more to whoever asks.
func (w task) purpose(o *offer.Offer) string {
	if len(w.assistant.Search)+len(o.Tools) == 0 {
		return ""
	}
	return cmp.Or(w.voice(w.out.Lang()).Description, w.assistant.Description)
}

// request builds the model call of a round: the first is the tool pass, later ones and
// those without tools are the chat pass. Where calls are forbidden the tools stay, so
// that the prompt keeps its head.
func (a *Agent) request(w task, system string, o *offer.Offer, rules flowRules, ask step) *providers.Request {
	req := providers.Request{
		Pass: providers.PassAnswer, Model: w.route.Model, System: system, Messages: ask.messages, Language: w.out.Lang(),
		About: w.purpose(o),
		Tools: o.Tools, Temperature: w.turn.Temperature, TopP: w.turn.TopP, MaxTokens: w.turn.MaxTokens, Stop: w.turn.Stop,
		Seed: w.turn.Seed, Thinking: w.turn.Thinking,
	}
	req = req.With(w.assistant.Settings)
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
		if !rules.single { // there the flow, not a limit, ends tool use
			req.Messages = slices.Concat(ask.messages, []schemas.Message{prompts.NoMoreCalls(w.out.Lang(), ask.stop)})
		}
	}
	if req.Pass == providers.PassAnswer {
		w.out.Mark("8", "Generating response with LLM provider: "+w.route.Provider.Name(), "model", w.route.Model)
	}
	return &req
}

// listen takes a round's stream in: text is shown as it arrives, once the verdict is a
// pass; calls are collected. With quiet, no text is shown.
func (a *Agent) listen(ctx context.Context, w task, req *providers.Request, quiet bool, verdict *Gate, into *outcome) (*Reply, error) {
	out := &Reply{}
	if err := a.tellLeftOut(w, into); err != nil {
		return out, err
	}
	for chunk, err := range a.stream(ctx, w, req) {
		if err != nil {
			return out, err
		}
		if chunk.Retract { // what was shown was reasoning
			out.Retract()
			if err := w.out.Commentary(); err != nil {
				return out, err
			}
		}
		chunk.Call = w.out.Redact(chunk.Call)
		out.Add(chunk)
		if chunk.Switched != nil && (into.served == nil || *into.served != *chunk.Switched) {
			into.served = chunk.Switched
			if err := w.out.Warn(fmt.Sprintf("%s answers instead: %s", chunk.Switched.Provider, chunk.Switched.Why)); err != nil {
				return out, err
			}
		}
		if chunk.Switched != nil && chunk.Switched.Quotes { // quotations are not watched
			w.out.Watch(nil)
		}
		into.grounded = append(into.grounded, chunk.Sources...)
		if quiet {
			continue
		}
		if err := a.show(ctx, w, chunk, verdict); err != nil {
			return out, err
		}
	}
	into.finish = out.Finish
	if err := a.tellLeftOut(w, into); err != nil { // the service may have refused one just now
		return out, err
	}
	if w.turn.OneCall {
		out.KeepOneCall()
	}
	return out, nil
}

// tellLeftOut warns a client of its own tools that the model is not offered, once for each.
func (a *Agent) tellLeftOut(w task, said *outcome) error {
	if len(w.turn.ClientTools) == 0 {
		return nil
	}
	out := providers.LeftOut(w.route.Provider, w.turn.ClientTools)
	for _, tool := range w.turn.ClientTools {
		if out[tool.Name] == "" || slices.Contains(said.leftOut, tool.Name) {
			continue
		}
		said.leftOut = append(said.leftOut, tool.Name)
		if err := w.out.Warn(fmt.Sprintf("the client's tool %s is %s", tool.Name, out[tool.Name])); err != nil {
			return err
		}
	}
	return nil
}

// show says a chunk's text, behind the verdict, and its reasoning. An assistant with a
// topic keeps the reasoning to itself: models quote their instructions there.
func (a *Agent) show(ctx context.Context, w task, chunk providers.Chunk, verdict *Gate) error {
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

// answered ends the rounds of a turn whose model called nothing more. An answer that was
// withheld or cut as a whole ends with that reason: asking again would give the same.
func (a *Agent) answered(w task, said *outcome) error {
	if err := w.out.Settle(); err != nil {
		return err
	}
	if w.out.Spoke() {
		return nil
	}
	switch said.finish {
	case providers.FinishContentFilter:
		said.withheld = true
		return w.out.Warn("the model's service withheld the whole answer, so nothing is saved; ask in another way")
	case providers.FinishLength:
		said.withheld = true
		return w.out.Warn("the answer was cut before its first word, so nothing is saved; allow more tokens")
	}
	return &providers.Error{
		Kind: providers.KindIncomplete, Provider: w.route.Provider.Name(), Model: w.route.Model,
		Err: errors.New("the model ended without an answer; try again or choose another model"),
	}
}

// execute runs the calls of one answer and returns their results in call order.
func (a *Agent) execute(ctx context.Context, w task, calls []schemas.ToolCall, handler *toolhandler.Turn, said *outcome) ([]schemas.ToolResult, error) {
	for _, call := range calls {
		tool, _ := handler.Lookup(call.Function.Name)
		w.out.Mark("6.3", "Tool call", "tool", call.Function.Name, "id", call.ID)
		if err := w.out.Call("6.3", &call, tool, handler.Asks(ctx, call)); err != nil {
			return nil, err
		}
	}
	var results []schemas.ToolResult
	for out := range handler.Execute(ctx, calls) {
		if out.Status == toolhandler.StatusUnapproved {
			said.unapproved = append(said.unapproved, out.Tool.Name)
			if w.turn.Approver == nil {
				call := out.Call
				call.Function.Name = out.Tool.Name
				said.waiting = said.waiting.With(schemas.Part{Kind: schemas.PartCall, Call: &call})
			}
		}
		said.toolCalls++
		results = append(results, out.Result)
		if err := w.out.Outcome("6.3", &out, "the model called it"); err != nil {
			return results, err
		}
	}
	return results, ctx.Err()
}

// promptSize is about how many bytes a request's prompt has.
func promptSize(req *providers.Request) int {
	return len(req.System) + Size(req.Messages) + offer.Size(req.Tools)
}
