package responses

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"molar/agent/answer"
	"molar/providers"
	"molar/schemas"
	"molar/schemas/responses"
	"molar/web/turns"
	"molar/web/wire"
)

// A renderer converts the events of a turn to the items and events of one response.
type renderer struct {
	renderConfig
	// Began is set with the first event.
	Began bool
	// Approval or Question is the pending approval or question that ended the response.
	// ClientCalls are the ids of the calls that the client runs. Failure is the error of a turn
	// that failed.
	Approval    *answer.Approval
	Question    *answer.PendingQuestion
	ClientCalls []string
	Failure     *wire.Error

	message *openMessage
	thought *openThought
	// calls are the calls of servers' tools, by call id.
	calls map[string]*serverCall
	// searches are the running searches, by call id.
	searches map[string]*openSearch
	effects  turns.Effects
	sources  []schemas.Source
	at       time.Duration
	sequence int
	// first is always 0, the index of the only part of an item; events point to it.
	first int
}

// renderConfig configures a renderer.
type renderConfig struct {
	// Response is the response so far.
	Response Response
	// Unique is the part that the ids of the response and of its items have in common.
	Unique string
	// Turn is the id of the turn.
	Turn string
	// Listed are the servers whose tools the chain of responses has listed.
	Listed []string
	rendering
	// Seal seals what the client keeps for the model; it returns "" if it cannot.
	Seal func(InputState) string
	// Emit is called with each encoded event.
	Emit func(encodedEvent)
	Now  func() time.Time
}

// newRenderer returns the renderer of a response. after, unless nil, is that of the response
// before, which ended with a pending approval or question of the same turn.
func newRenderer(cfg renderConfig, after *renderer) *renderer {
	r := &renderer{renderConfig: cfg, calls: make(map[string]*serverCall), searches: make(map[string]*openSearch)}
	if after != nil {
		r.calls = after.calls
	}
	return r
}

// EndedIn reports whether the response ended with the approval request or question of this id.
func (r *renderer) EndedIn(id string) bool {
	if r.Approval == nil && r.Question == nil {
		return false
	}
	switch it := r.Response.Output[len(r.Response.Output)-1].(type) {
	case mcpApprovalRequest:
		return it.ID == id
	case questionItem:
		return it.ID == id
	}
	return false
}

// emit numbers an event and passes it on.
func (r *renderer) emit(ev Event) {
	ev.Sequence = r.sequence
	r.sequence++
	r.Emit(encode(ev))
}

// encode encodes an event.
func encode(ev Event) encodedEvent {
	data, err := json.Marshal(ev)
	if err != nil { // a tool's schema is not JSON
		data, _ = json.Marshal(Event{Type: ev.Type, Sequence: ev.Sequence, ItemID: ev.ItemID, OutputIndex: ev.OutputIndex})
	}
	return encodedEvent{ev.Type, data}
}

// A serverCall is a call that the host runs. It gets its item only when it is certain to run.
type serverCall struct {
	server, tool, arguments string
	asks                    bool
	// request is the id of the item that asked for approval.
	request string
	index   int
	open    *mcpCall
}

// Begin emits the first events of the response, once. st may be nil.
func (r *renderer) Begin(st *answer.Start) {
	if st != nil {
		r.Turn = st.TurnID
		if r.Response.Model == "" {
			r.Response.Model = st.Assistant
		}
		r.Response.CreatedAt = st.Created.Unix()
	}
	if r.Began {
		return
	}
	r.Began = true
	if r.Response.Background {
		queued := r.Response
		queued.Status = responses.StatusQueued
		r.emit(Event{Type: "response.queued", Response: &queued})
	}
	r.state("response.created")
	r.state("response.in_progress")
	for _, text := range r.Warnings {
		r.note(answer.Event{Kind: answer.KindWarning, Text: text})
	}
}

// state emits an event with the current state of the response.
func (r *renderer) state(kind string) {
	now := r.Response
	now.Output = slices.Clone(r.Response.Output)
	r.emit(Event{Type: kind, Response: &now})
}

// Take renders an item of the turn, and reports whether the response has ended with it.
func (r *renderer) Take(it turns.Item) bool {
	r.at = it.At
	if it.Err != nil {
		r.fail(it.Err)
		return true
	}
	ev := it.Event
	r.effects.Add(ev)
	switch ev.Kind {
	case answer.KindStart:
		r.Begin(ev.Start)
	case answer.KindText:
		r.text(ev.Text, ev.Refusal)
	case answer.KindThinking:
		r.think(ev.Text)
	case answer.KindCommentary, answer.KindReset:
		r.closeMessage(responses.PhaseCommentary, responses.StatusCompleted)
	case answer.KindTools:
		r.listTools(ev.Tools)
	case answer.KindToolCall:
		r.call(ev)
	case answer.KindToolResult:
		r.result(ev)
	case answer.KindApproval:
		r.approval(ev.Approval)
		return true
	case answer.KindQuestion:
		r.question(ev.Asked)
		return true
	case answer.KindSources:
		r.sources = ev.Sources
	case answer.KindClientCalls:
		r.clientCalls(ev.Calls, ev.States)
	case answer.KindDone:
		r.done(ev.Done)
		return true
	}
	r.note(ev)
	return false
}

// note emits an event of our own, if they are requested.
func (r *renderer) note(ev answer.Event) {
	if !r.Notes {
		return
	}
	at := r.at.Milliseconds()
	switch ev.Kind {
	case answer.KindStep, answer.KindWarning:
		note := map[string]any{"step": ev.Step, "text": ev.Text, "at_ms": at}
		if ev.Code != "" {
			note["code"], note["server"], note["lasting"] = ev.Code, ev.Server, ev.Lasting
		}
		r.emit(Event{Type: "molar:" + string(ev.Kind), Molar: note})
	case answer.KindProgress, answer.KindLog:
		r.emit(Event{Type: "molar:" + string(ev.Kind), Molar: ev.News})
	case answer.KindToolCall, answer.KindToolResult:
		r.emit(Event{Type: "molar:" + string(ev.Kind), Molar: map[string]any{
			"step": ev.Step, "call": ev.Call, "server": ev.Server, "toolName": ev.ToolName, "result": validResult(ev.Result), "at_ms": at,
		}})
	}
}

// validResult returns the result with its output as valid JSON.
func validResult(res *schemas.ToolResult) *schemas.ToolResult {
	if res == nil || json.Valid(res.Output) {
		return res
	}
	valid := *res
	valid.Output = wire.AppendString(nil, string(res.Output))
	return &valid
}

// add appends an item to the output and emits its first event.
func (r *renderer) add(item any) (index int) {
	r.closeThought()
	r.Response.Output = append(r.Response.Output, item)
	index = len(r.Response.Output) - 1
	r.emit(Event{Type: "response.output_item.added", OutputIndex: &index, Item: item})
	return index
}

// end stores the finished item in the output and emits its last event.
func (r *renderer) end(index int, item any) {
	r.Response.Output[index] = item
	r.emit(Event{Type: "response.output_item.done", OutputIndex: &index, Item: item})
}

// id returns the id of the next item.
func (r *renderer) id(prefix string) string {
	return fmt.Sprintf("%s_%s_%d", prefix, r.Unique, len(r.Response.Output))
}

// clientCalls adds items for the calls that the client runs. The client sends their outputs with
// its next request.
func (r *renderer) clientCalls(calls []schemas.ToolCall, states map[string]*schemas.ProviderState) {
	r.closeMessage(responses.PhaseCommentary, responses.StatusCompleted)
	r.keepState(states)
	for _, c := range calls {
		r.ClientCalls = append(r.ClientCalls, c.ID)
		it := responses.FunctionCall{Type: "function_call", ID: r.id("fc"), CallID: c.ID, Name: c.Function.Name, Status: responses.StatusInProgress}
		if f, ok := r.Functions[it.Name]; ok {
			it.Namespace, it.Name = f.Namespace, f.Name
		}
		i := r.add(it)
		it.Arguments, it.Status = c.Function.Arguments, responses.StatusCompleted
		r.emit(Event{Type: "response.function_call_arguments.delta", ItemID: it.ID, OutputIndex: &i, Delta: &it.Arguments})
		r.emit(Event{Type: "response.function_call_arguments.done", ItemID: it.ID, OutputIndex: &i, Arguments: &it.Arguments})
		r.end(i, it)
	}
}

// done ends a response whose turn ended well.
func (r *renderer) done(d *answer.Done) {
	if d == nil {
		d = &answer.Done{}
	}
	if r.Response.Usage = usageOf(d.Usage); r.sources == nil {
		r.sources = d.Sources
	}
	reason := map[providers.FinishReason]string{
		providers.FinishLength: responses.ReasonMaxTokens, providers.FinishContentFilter: responses.ReasonContentFilter,
	}[d.Finish]
	if reason != "" {
		r.Response.IncompleteDetails = &responses.Incomplete{Reason: reason}
		r.close(responses.StatusIncomplete)
	} else {
		r.close(responses.StatusCompleted)
	}
	r.Response.Molar.Done = *d
	r.Response.Molar.Warnings = slices.Concat(r.Warnings, d.Warnings)
}

// fail ends a response whose turn failed, as cancelled if a person stopped it.
func (r *renderer) fail(err error) {
	e := failure(err)
	if r.effects.Any() {
		e = e.AfterTurnTool()
	}
	r.Failure = e
	if e.Code == turns.ErrStopped.Code {
		r.Response.IncompleteDetails = &responses.Incomplete{Reason: responses.StatusCancelled}
		r.close(responses.StatusCancelled)
		return
	}
	r.Response.Fail(e)
	r.close(responses.StatusFailed)
}

// close ends the open items, and sets the state of the response.
func (r *renderer) close(status string) {
	item := responses.StatusCompleted
	if status != responses.StatusCompleted {
		item = responses.StatusIncomplete
	}
	r.closeThought()
	r.closeMessage(responses.PhaseFinalAnswer, item)
	r.closeCalls()
	r.Response.Status = status
	r.Response.Molar = &molarField{TurnID: r.Turn, Done: answer.Done{Warnings: r.Warnings}}
	if status == responses.StatusCompleted {
		r.Response.CompletedAt = new(r.Now().Unix())
	}
}

// Last emits the last events of the response.
func (r *renderer) Last() {
	if r.Response.Error != nil {
		code, param := &r.Response.Error.Code, (*string)(nil)
		if r.Failure.Param != "" {
			param = &r.Failure.Param
		}
		r.emit(Event{Type: "error", Error: &responses.EventError{Type: r.Failure.Kind, Code: code, Message: r.Response.Error.Message, Param: param}})
	}
	r.state(lastEvent(r.Response.Status))
}

// lastEvent returns the type of the last event of a response with this status.
func lastEvent(status string) string {
	switch status {
	case responses.StatusCompleted, responses.StatusFailed:
		return "response." + status
	}
	return "response.incomplete" // a cancelled one too: the standard has no event for it
}
