package main

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
	"molar/eval/tape"
	"molar/internal/config"
	"molar/internal/telemetry"
	"molar/providers"
	"molar/schemas"
	"molar/toolhandler"
)

// What stands between the parts of a turn and what they ask of one another, to count
// and trace it. None of it changes what passes through.

// openTelemetry builds the telemetry of a command; only serve has metrics to show.
func (h *host) openTelemetry(ctx context.Context, metrics bool) (err error) {
	h.telemetry, err = telemetry.New(ctx, telemetry.Config{
		Version: hostVersion(),
		Metrics: metrics,
		Env:     h.env,
		Models:  configuredModels(h.cfg),
		Servers: func() []schemas.ServerStatus { return h.mcp.Status() },
		TracesDropped: func() int64 {
			if h.traces == nil {
				return 0
			}
			return h.traces.Dropped()
		},
		Logger: h.log,
	})
	return err
}

// configuredModels are the models that the config names.
func configuredModels(cfg *config.Config) []string {
	llm := cfg.LLM
	names := []string{
		llm.Gemini.Model, llm.Gemini.SmallModel, llm.OpenAI.Model, llm.OpenAI.SmallModel,
		llm.Ollama.Model, llm.Ollama.SmallModel,
	}
	for _, entry := range cfg.Assistants {
		names = append(names, entry.Value.Model)
	}
	return names
}

// observedModels watches the model calls of every route.
type observedModels struct {
	models
	to *telemetry.Telemetry
}

func (m observedModels) Pick(ctx context.Context, provider, model, small string) (providers.Route, error) {
	route, err := m.models.Pick(ctx, provider, model, small)
	if err == nil && route.Provider != nil {
		route.Provider = observedProvider{Provider: route.Provider, to: m.to, asked: []string{model, small}}
	}
	return route, err
}

// An observedProvider watches the calls of one route. asked are the models that the
// turn named.
type observedProvider struct {
	providers.Provider
	to    *telemetry.Telemetry
	asked []string
}

// Unwrap returns the provider itself.
func (p observedProvider) Unwrap() providers.Provider { return p.Provider }

func (p observedProvider) Stream(ctx context.Context, req providers.Request) iter.Seq2[providers.Chunk, error] {
	return func(yield func(providers.Chunk, error) bool) {
		ctx, span := p.to.StartModelCall(ctx, telemetry.ModelCall{
			Provider: p.Name(), Model: req.Model, Pass: string(req.Pass),
			ClientModel: req.Model != "" && slices.Contains(p.asked, req.Model),
			MaxTokens:   req.MaxTokens, Temperature: req.Temperature, System: req.System, Messages: req.Messages,
		})
		end := telemetry.ModelEnd{Stopped: true}
		defer func() { span.End(end) }()
		var said strings.Builder
		for chunk, err := range p.Provider.Stream(ctx, req) {
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

// observedCaller watches the execution of tool calls.
type observedCaller struct {
	toolhandler.Caller
	to *telemetry.Telemetry
}

func (c observedCaller) Call(ctx context.Context, server, tool string, args json.RawMessage) (schemas.ToolResult, error) {
	ctx, span := c.to.StartTool(ctx, server, tool, args)
	result, err := c.Caller.Call(ctx, server, tool, args)
	span.End(result, err)
	return result, err
}

// observedAgent watches whole turns.
type observedAgent struct {
	*agent.Agent
	to   *telemetry.Telemetry
	gate *gate
	rec  *tape.Recorder // nil unless turns are recorded
}

func (a observedAgent) Run(ctx context.Context, t agent.Turn) iter.Seq2[agent.Event, error] {
	return func(yield func(agent.Event, error) bool) {
		if !a.gate.enter() {
			yield(agent.Event{}, fmt.Errorf("%w: molar is shutting down; ask again in a moment", agent.ErrUnavailable))
			return
		}
		defer a.gate.leave()
		began := time.Now()
		ctx, span := a.to.StartTurn(ctx, t.ID, a.known(t.Assistant))
		w := turnWatch{outcome: "interrupted"}
		defer func() {
			a.to.CountTurn(telemetry.Turn{Assistant: w.assistant, Outcome: w.outcome, Took: time.Since(began)})
			span.End(w.end())
		}()
		for event, err := range a.answer(ctx, t) {
			w.see(ctx, event, err)
			if !yield(event, err) {
				return
			}
		}
	}
}

// known is the assistant's name, if it is a configured one: a client may send any.
func (a observedAgent) known(name string) string {
	for _, as := range a.Assistants() {
		if as.Name == name {
			return name
		}
	}
	return ""
}

// A turnWatch gathers what is told of a turn at its end.
type turnWatch struct {
	assistant, conversation, outcome string
	done                             *agent.Done
	err                              error
}

func (w *turnWatch) see(ctx context.Context, event agent.Event, err error) {
	switch {
	case err != nil && ctx.Err() == nil:
		w.outcome, w.err = "failed", err
	case event.Kind == agent.EventStart && event.Start != nil:
		w.assistant, w.conversation = event.Start.Assistant, event.Start.ConversationID
	case event.Kind == agent.EventDone && event.Done != nil:
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
	}
	return end
}

// turnFault is the class of a turn's error.
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

// runner answers turns, watched.
func (h *host) runner() observedAgent {
	rec, _ := h.edges.(*tape.Recorder)
	return observedAgent{h.agent, h.telemetry, h.gate, rec}
}

// observer counts what the trace of a turn tells.
type observer struct {
	to *telemetry.Telemetry
	// topics are the assistants' topics.
	topics map[string]string
	// resultBytes is how much of one tool result a model sees.
	resultBytes int
}

func (o observer) Observe(t agent.Trace) {
	if v := t.Verdict; v != nil {
		o.to.CountVerdict(o.topics[t.Assistant], verdictWord(v), v.By)
	}
	for _, step := range t.Steps {
		o.to.CountStep(step.Step, milliseconds(step.TookMS))
	}
	for _, tool := range t.Tools {
		for _, call := range tool.Calls {
			o.call(t.TurnID, tool.Name, call)
		}
	}
	if t.Done != nil && t.Done.Finish == providers.FinishLength {
		o.to.CountTruncation(telemetry.CutAnswer)
	}
}

func (o observer) call(turnID, name string, call agent.CallTrace) {
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
	o.to.CountCall(c)
	if o.resultBytes > 0 && len(call.Output) > o.resultBytes {
		o.to.CountTruncation(telemetry.CutToolResult)
	}
}

func verdictWord(v *agent.VerdictTrace) string {
	switch {
	case v.Unavailable:
		return "unavailable"
	case v.Pass:
		return "pass"
	}
	return "reject"
}

func milliseconds(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }

func topicsOf(cfg *config.Config) map[string]string {
	topics := make(map[string]string, len(cfg.Assistants))
	for _, entry := range cfg.Assistants {
		topics[entry.Name] = entry.Value.Topic
	}
	return topics
}
