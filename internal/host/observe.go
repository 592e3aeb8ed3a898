package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"molar/agent"
	"molar/agent/answer"
	"molar/internal/telemetry"
	"molar/mcpclients/transport"
	"molar/providers"
	"molar/schemas"
	"molar/toolhandler"
)

// Models observes the model calls of every route.
type Models struct {
	agent.Models
	Telemetry *telemetry.Telemetry
}

// Pick returns the route, with a provider whose calls are observed.
func (m Models) Pick(ctx context.Context, provider, model, small string) (providers.Route, error) {
	route, err := m.Models.Pick(ctx, provider, model, small)
	if err == nil && route.Provider != nil {
		asked := []string{model, small}
		route.Provider = watchedProvider{Provider: route.Provider, to: m.Telemetry, asked: asked}
		if route.Small != nil {
			route.Small = watchedProvider{Provider: route.Small, to: m.Telemetry, asked: asked}
		}
	}
	return route, err
}

// A watchedProvider observes the calls of one route. asked are the models that the turn requested.
type watchedProvider struct {
	providers.Provider
	to    *telemetry.Telemetry
	asked []string
}

// Unwrap returns the provider itself.
func (p watchedProvider) Unwrap() providers.Provider { return p.Provider }

func (p watchedProvider) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		chunks, span := p.start(ctx, &req)
		end := telemetry.ModelEnd{Stopped: true}
		defer func() { span.End(end) }()
		var said strings.Builder
		for chunk, err := range chunks {
			if err != nil {
				end.Err, end.Kind = err, string(providers.KindOf(err))
			} else {
				watchChunk(span, chunk, &end)
			}
			if p.to.CapturesText() {
				said.WriteString(chunk.Text)
				end.Output = said.String()
			}
			if !yield(chunk, err) {
				return
			}
		}
		end.Stopped = false
	}
}

// start begins a call and its span.
func (p watchedProvider) start(ctx context.Context, req *providers.Request) (iter.Seq2[providers.Chunk, error], *telemetry.ModelSpan) {
	ctx, span := p.to.StartModelCall(ctx, telemetry.ModelCall{
		Provider: p.Name(), Assistant: req.Payer.Assistant, Model: req.Model, Pass: string(req.Pass),
		ClientModel: req.Model != "" && slices.Contains(p.asked, req.Model),
		MaxTokens:   req.MaxTokens, Temperature: req.Temperature, System: req.System, Messages: req.Messages,
	})
	return p.Provider.Stream(ctx, *req), span
}

func watchChunk(span *telemetry.ModelSpan, chunk providers.Chunk, end *telemetry.ModelEnd) {
	if chunk.Switched != nil {
		span.Served(chunk.Switched.Provider, chunk.Switched.Model)
	}
	if chunk.Text != "" || chunk.Call != nil || chunk.Thinking != "" {
		span.FirstOutput()
	}
	if chunk.Usage != nil {
		end.Usage = *chunk.Usage
	}
	if chunk.Finish != "" {
		end.Finish = string(chunk.Finish)
	}
}

// Caller observes the execution of tool calls.
type Caller struct {
	toolhandler.Caller
	Telemetry *telemetry.Telemetry
}

// CallFor calls a tool. An error of a call that never reached its server is also
// [toolhandler.ErrNotSent].
func (c Caller) CallFor(ctx context.Context, who *schemas.Person, server, tool string, args json.RawMessage) (schemas.ToolResult, error) {
	ctx, span := c.Telemetry.StartTool(ctx, server, tool, args)
	result, err := c.Caller.CallFor(ctx, who, server, tool, args)
	span.End(result, err)
	if errors.Is(err, transport.ErrUnavailable) {
		err = notSentError{err}
	}
	return result, err
}

// notSentError marks the error of a call that never reached its server; the text is unchanged.
type notSentError struct{ error }

func (e notSentError) Unwrap() []error { return []error{e.error, toolhandler.ErrNotSent} }

// A turnGate counts the running turns, and lets none begin once it is shut.
type turnGate interface {
	Enter() bool
	Leave()
}

// A TurnRecorder runs turns and records them.
type TurnRecorder interface {
	Turn(ctx context.Context, t agent.Turn, run func(context.Context, agent.Turn) iter.Seq2[answer.Event, error]) iter.Seq2[answer.Event, error]
}

// Agent observes whole turns.
type Agent struct {
	*agent.Agent
	Telemetry *telemetry.Telemetry
	Gate      turnGate
	// Recorder is nil unless turns are recorded.
	Recorder TurnRecorder
}

// Run answers a turn, unless the gate is shut.
func (a Agent) Run(ctx context.Context, t agent.Turn) iter.Seq2[answer.Event, error] {
	return func(yield func(answer.Event, error) bool) {
		if !a.Gate.Enter() {
			yield(answer.Event{}, fmt.Errorf("%w: molar is shutting down; ask again in a moment", agent.ErrUnavailable))
			return
		}
		defer a.Gate.Leave()
		began := time.Now()
		ctx, span := a.Telemetry.StartTurn(ctx, t.ID, a.known(t.Assistant))
		w := turnWatch{outcome: "interrupted"}
		defer func() {
			a.Telemetry.CountTurn(telemetry.Turn{Assistant: w.assistant, Outcome: w.outcome, Unsaved: w.unsaved, Took: time.Since(began)})
			span.End(w.end())
		}()
		for event, err := range a.answer(ctx, &t) {
			w.see(ctx, event, err)
			if !yield(event, err) {
				return
			}
		}
	}
}

// known returns the assistant's name, if it is configured: a client may send any.
func (a Agent) known(name string) string {
	if !a.Knows(name) {
		return ""
	}
	return name
}

// A turnWatch collects a turn's data for its end.
type turnWatch struct {
	assistant, conversation, outcome string
	unsaved                          bool
	done                             *answer.Done
	err                              error
}

func (w *turnWatch) see(ctx context.Context, event answer.Event, err error) {
	w.unsaved = w.unsaved || event.Unsaved || errors.Is(err, agent.ErrNotSaved)
	switch {
	case err != nil && ctx.Err() == nil:
		w.outcome, w.err = "failed", err
	case event.Kind == answer.KindStart && event.Start != nil:
		w.assistant, w.conversation = event.Start.Assistant, event.Start.ConversationID
	case event.Kind == answer.KindDone && event.Done != nil:
		w.done, w.outcome = event.Done, "done"
		if event.Done.Refused {
			w.outcome = "refused"
		}
	}
}

func (w *turnWatch) end() telemetry.TurnEnd {
	end := telemetry.TurnEnd{Conversation: w.conversation, Outcome: w.outcome, Err: w.err, Kind: turnFault(w.err)}
	if w.done != nil {
		end.Provider, end.Model = w.done.Provider, w.done.Model
		end.InputTokens, end.OutToken = w.done.Usage.PromptTokens, w.done.Usage.CompletionTokens
		end.Cost = w.done.Usage.Cost
	}
	return end
}

// turnFault returns the class of a turn's error.
func turnFault(err error) string {
	for kind, target := range map[string]error{
		"invalid_request": agent.ErrInvalid, "not_found": agent.ErrNotFound, "unavailable": agent.ErrUnavailable,
		"answer_not_saved": agent.ErrNotSaved, "conversation_busy": agent.ErrBusy,
	} {
		if errors.Is(err, target) {
			return kind
		}
	}
	return string(providers.KindOf(err))
}

// observer counts the contents of a turn's trace.
type observer struct {
	Telemetry *telemetry.Telemetry
	// Topics are the assistants' topics.
	Topics map[string]string
	// ResultBytes is how much of one tool result a model sees.
	ResultBytes int
}

// Observe counts a finished turn.
func (o observer) Observe(t answer.Trace) {
	if v := t.Verdict; v != nil {
		o.Telemetry.CountVerdict(o.Topics[t.Assistant], verdictWord(v), v.By)
	}
	for _, step := range t.Steps {
		o.Telemetry.CountStep(step.Step, milliseconds(step.TookMS))
	}
	for _, tool := range t.Tools {
		for _, call := range tool.Calls {
			o.call(t.TurnID, tool.Name, call)
		}
	}
	if t.Done != nil && t.Done.Finish == providers.FinishLength {
		o.Telemetry.CountTruncation(telemetry.CutAnswer)
	}
}

func (o observer) call(turnID, name string, call answer.CallTrace) {
	c := telemetry.Call{
		ID: call.ID, TurnID: turnID, At: call.At, Server: call.Server, Tool: call.Tool,
		Status: string(call.Status), DurationMS: call.TookMS,
	}
	if c.Tool == "" {
		c.Tool = name
	}
	if call.Status != toolhandler.StatusOK {
		c.Error = call.Output
	}
	o.Telemetry.CountCall(c)
	if o.ResultBytes > 0 && len(call.Output) > o.ResultBytes {
		o.Telemetry.CountTruncation(telemetry.CutToolResult)
	}
}

func verdictWord(v *answer.VerdictTrace) string {
	switch {
	case v.Unavailable:
		return "unavailable"
	case v.Pass:
		return "pass"
	}
	return "reject"
}

func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

// answer runs a turn, through the recorder if there is one. It is not inlined, as a turn is large and
// Run's stack lasts as long as the answer.
//
//go:noinline
func (a *Agent) answer(ctx context.Context, t *agent.Turn) iter.Seq2[answer.Event, error] {
	if a.Recorder == nil {
		return a.Agent.Run(ctx, *t)
	}
	return a.Recorder.Turn(ctx, *t, a.Agent.Run)
}
