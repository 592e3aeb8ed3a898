package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"molar/agent/prompts"
	"molar/providers"
	"molar/schemas"
	"molar/toolhandler"
)

// Bounds of what is kept of a turn that waits for its client.
const (
	keepPaused = time.Hour
	maxPaused  = 8 << 20 // bytes
)

// clientServer stands for the client where results name their server. It has a space,
// so that no server is called so.
const clientServer = "the client"

// statusClient is the status of a call that the client runs.
const statusClient toolhandler.Status = "client"

// A paused turn waits for the results of the client's own tools. It holds what the
// model saw and said, with the provider's private state on each part, so that the
// turn goes on as if the tools had run here.
type paused struct {
	TurnID         string            `json:"turn_id"`
	ConversationID string            `json:"conversation_id"`
	Assistant      string            `json:"assistant"`
	Stateless      bool              `json:"stateless,omitempty"`
	Key            string            `json:"key"`
	Question       schemas.Message   `json:"question"`
	Language       string            `json:"language"`
	Nonce          string            `json:"nonce"`
	Messages       []schemas.Message `json:"messages"`
	// Rounds end with the one whose calls wait; it holds the results of the servers'
	// tools that were called beside the client's.
	Rounds      []schemas.Round      `json:"rounds"`
	Found       []schemas.ToolResult `json:"found,omitempty"`
	Searched    bool                 `json:"searched,omitempty"`
	Grounded    []schemas.Source     `json:"grounded,omitempty"`
	ServersRead []string             `json:"servers_read,omitempty"`
	ToolCalls   int                  `json:"tool_calls"`
	// Answer is the text that was shown so far.
	Answer string `json:"answer,omitempty"`
}

// pause ends a turn in calls that the client runs. Nothing is saved yet: question
// and answer are saved together, when the turn has gone on to its end.
func (r *run) pause(ctx context.Context) error {
	r.closed = true
	r.finish = providers.FinishToolCalls
	for _, call := range r.theirs {
		tool := schemas.Tool{ToolInfo: schemas.ToolInfo{Name: call.Function.Name}}
		r.trace.outcome(toolhandler.Outcome{Call: call, Tool: tool, Status: statusClient}, "the model called it, and the client runs it")
	}
	if err := r.keep(ctx); err != nil {
		if err := r.warn("the turn could not be kept for its next part, which will go on from what the client sends: " + err.Error()); err != nil {
			return err
		}
	}
	if err := r.emit(Event{Kind: EventClientCalls, Calls: r.theirs}); err != nil {
		return err
	}
	return r.emit(Event{Kind: EventDone, Done: r.sum()})
}

func (r *run) keep(ctx context.Context) error {
	if r.a.cfg.Pauses == nil {
		return nil
	}
	key := r.turn.Key
	if key == "" {
		key = r.turn.ID
	}
	state, err := json.Marshal(paused{
		TurnID: r.turn.ID, ConversationID: r.turn.ConversationID, Assistant: r.assistant.Name, Stateless: r.turn.Stateless, Key: key,
		Question: r.question, Language: r.lang, Nonce: r.nonce, Messages: r.prompt, Rounds: r.rounds,
		Found: r.found, Searched: r.searched, Grounded: r.grounded,
		ServersRead: append(r.serversRead(), r.tools.Read()...), ToolCalls: r.toolCalls, Answer: r.wholeAnswer(),
	})
	if err != nil {
		return err
	}
	if len(state) > maxPaused {
		return fmt.Errorf("it has %d bytes, %d are kept", len(state), maxPaused)
	}
	ids := make([]string, len(r.theirs))
	for i, call := range r.theirs {
		ids[i] = call.ID
	}
	return r.a.cfg.Pauses.Keep(ctx, Pause{
		Owner: r.turn.Owner, ConversationID: r.turn.ConversationID,
		CallIDs: ids, State: state, Expires: r.a.cfg.Now().Add(keepPaused),
	})
}

// resume finds the turn that the client's results belong to and takes its place. A
// turn that is not kept any more, or was another assistant's, begins anew and is
// judged like any other: results that anybody can make up open no door.
func (r *run) resume(ctx context.Context) error {
	if len(r.turn.Results) == 0 || r.a.cfg.Pauses == nil {
		return nil
	}
	state, ok, err := r.a.cfg.Pauses.Kept(ctx, r.turn.Owner, r.turn.Results[0].ID)
	if err != nil {
		return fmt.Errorf("%w: read the turn that goes on: %w", ErrUnavailable, err)
	}
	assistant := r.turn.Assistant
	if assistant == "" {
		assistant = r.a.cfg.Default
	}
	var p paused
	if !ok || json.Unmarshal(state, &p) != nil || p.Assistant != assistant {
		r.a.log.Warn("the turn that goes on is not kept; it begins anew", "turn", r.turn.ID, "call", r.turn.Results[0].ID)
		return nil
	}
	if err := p.complete(r.turn.Results, r.resultBytes()); err != nil {
		return err
	}
	r.paused = &p
	r.turn.ConversationID, r.turn.Stateless, r.turn.Key = p.ConversationID, p.Stateless, p.Key
	r.question, r.asked, r.lang, r.langSure, r.nonce = p.Question, p.Question.Said(), p.Language, true, p.Nonce
	r.rounds, r.found, r.searched, r.grounded = p.Rounds, p.Found, p.Searched, p.Grounded
	r.toolCalls = p.ToolCalls + len(r.turn.Results)
	r.allowed = true
	return nil
}

// wholeAnswer is the text of the turn, with what was shown before it went on.
func (r *run) wholeAnswer() string {
	said := r.answer.String()
	if r.paused == nil || r.paused.Answer == "" || said == "" {
		return said
	}
	return r.paused.Answer + "\n\n" + strings.TrimLeft(said, "\n")
}

// stepsAfterPause is the order of the steps of a turn that goes on: its question was
// read and judged before.
func (r *run) stepsAfterPause() []func(context.Context) error {
	return []func(context.Context) error{r.startMemory, r.repeatFinished, r.converse, r.addSources, r.save, r.report}
}

// complete gives the last round the results of the client's tools, in call order.
func (p *paused) complete(given []schemas.ToolResult, maxBytes int) error {
	if len(p.Rounds) == 0 {
		return errors.New("the kept turn holds no round")
	}
	last := &p.Rounds[len(p.Rounds)-1]
	known := append(slices.Clone(last.Results), given...)
	var results []schemas.ToolResult
	for _, call := range last.Said.Calls() {
		i := slices.IndexFunc(known, func(t schemas.ToolResult) bool { return t.ID == call.ID })
		if i < 0 {
			return fmt.Errorf("%w: the call %q of %q has no result; send a message of role tool for it", ErrInvalid, call.ID, call.Function.Name)
		}
		result := known[i]
		if result.Server == "" {
			result.Server = clientServer
		}
		results = append(results, result)
	}
	last.Results = results
	p.Messages = append(p.Messages, prompts.Results(p.Nonce, results, maxBytes))
	return nil
}

// afterQuestion is what a client sent after the question of a turn that is not kept
// any more: calls of its own tools, and their results, fenced like those of a server.
func (r *run) afterQuestion() []schemas.Message {
	if len(r.turn.Results) == 0 {
		return nil
	}
	last := len(r.turn.Messages) - 1
	for last >= 0 && r.turn.Messages[last].Role != schemas.RoleUser {
		last--
	}
	var messages []schemas.Message
	for _, m := range r.turn.Messages[last+1:] {
		if m.Role != schemas.RoleTool {
			messages = append(messages, m)
			continue
		}
		var results []schemas.ToolResult
		for _, part := range m.Parts {
			if part.Result != nil {
				result := *part.Result
				result.Server = clientServer
				results = append(results, result)
			}
		}
		messages = append(messages, prompts.Results(r.nonce, results, r.resultBytes()))
	}
	return messages
}

// isTheirs says whether the client brought a tool of that name.
func (r *run) isTheirs(name string) bool {
	return slices.ContainsFunc(r.turn.ClientTools, func(t schemas.ToolInfo) bool { return t.Name == name })
}

// split separates the calls that are executed here from those of the client.
func (r *run) split(calls []schemas.ToolCall) (ours, theirs []schemas.ToolCall) {
	for _, call := range calls {
		if r.isTheirs(call.Function.Name) {
			theirs = append(theirs, call)
			continue
		}
		ours = append(ours, call)
	}
	return ours, theirs
}

// checkForced refuses a turn that must call a tool which is not offered.
func (r *run) checkForced() error {
	if !r.turn.MustCall {
		return nil
	}
	named := func(t schemas.ToolInfo) bool { return t.Name == r.turn.MustCallTool }
	switch {
	case len(r.offered) == 0:
		return fmt.Errorf("%w: a call is asked for, and no tool is offered", ErrToolChoice)
	case r.turn.MustCallTool != "" && !slices.ContainsFunc(r.offered, named):
		return fmt.Errorf("%w: %q is not offered in this turn", ErrToolChoice, r.turn.MustCallTool)
	}
	return nil
}

// force makes a request call a tool, when the client asks for that. It is asked of
// the first round only: in every round the turn would never end. Where one tool is
// named, it is the only one offered, which every provider understands.
func (r *run) force(req *providers.Request) {
	if !r.turn.MustCall {
		return
	}
	req.ToolChoice = providers.ToolRequired
	if r.turn.MustCallTool != "" {
		req.Tools = slices.DeleteFunc(slices.Clone(req.Tools), func(t schemas.ToolInfo) bool { return t.Name != r.turn.MustCallTool })
	}
}
