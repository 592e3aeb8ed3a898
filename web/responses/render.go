package responses

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"molar/agent/answer"
	"molar/providers"
	"molar/schemas"
	"molar/web/turns"
	"molar/web/wire"
)

// A Renderer converts the events of a turn to the items and events of one response.
type renderer struct {
	renderConfig
	// Began is set with the first event.
	Began bool
	// Waits is the call that ended the response, Question the server's question that did; Left
	// are the calls the client runs, and Refused is why the turn failed.
	Waits    *answer.Approval
	Question *answer.Asked
	Left     []string
	Refused  *wire.Error

	message *openMessage
	thought *openThought
	// calls are those of servers, by call id.
	calls   map[string]*serverCall
	effects turns.Effects
	sources []schemas.Source
	at      time.Duration
	told    int
	// first is the index of the only part of an item.
	first int
}

// renderConfig configures a Renderer.
type renderConfig struct {
	// Response is the response so far.
	Response Response
	// Unique is the common part of the ids of the response and its items.
	Unique string
	// Turn is the id of the turn.
	Turn string
	// Listed are the servers whose tools the chain has listed.
	Listed []string
	// Notes adds our own events.
	Notes bool
	// Tell receives each event, encoded.
	Tell func(told)
	Now  func() time.Time
}

// newRenderer returns the renderer of a response; with after, of the rest of the turn whose
// earlier response ended in a pending call.
func newRenderer(cfg renderConfig, after *renderer) *renderer {
	r := &renderer{renderConfig: cfg, calls: make(map[string]*serverCall)}
	if after != nil {
		r.calls = after.calls
	}
	return r
}

// Asked reports whether the response ended in that approval or question.
func (r *renderer) Asked(id string) bool {
	if r.Waits == nil && r.Question == nil {
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

// tell numbers an event and sends it.
func (r *renderer) tell(ev Event) {
	ev.Sequence = r.told
	r.told++
	r.Tell(encode(ev))
}

// encode encodes an event.
func encode(ev Event) told {
	data, err := json.Marshal(ev)
	if err != nil { // a tool's schema is not JSON
		data, _ = json.Marshal(Event{Type: ev.Type, Sequence: ev.Sequence, ItemID: ev.ItemID, OutputIndex: ev.OutputIndex})
	}
	return told{ev.Type, data}
}

// A serverCall is a call that the host runs. It gets an item once it is certain to run.
type serverCall struct {
	server, tool, arguments string
	asks                    bool
	// request is the id of the item that asked for approval.
	request string
	index   int
	open    *mcpCall
}

// Begin sends the first events of the response, once.
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
		queued.Status = statusQueued
		r.tell(Event{Type: "response.queued", Response: &queued})
	}
	r.state("response.created")
	r.state("response.in_progress")
}

// state sends the response's current state.
func (r *renderer) state(kind string) {
	now := r.Response
	now.Output = slices.Clone(r.Response.Output)
	r.tell(Event{Type: kind, Response: &now})
}

// Take renders an item of the turn, and reports whether the response has ended.
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
		r.text(ev.Text)
	case answer.KindThinking:
		r.think(ev.Text)
	case answer.KindCommentary:
		r.closeMessage("commentary", statusCompleted)
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
		r.clientCalls(ev.Calls)
	case answer.KindDone:
		r.done(ev.Done)
		return true
	}
	r.note(ev)
	return false
}

// note sends an event of our own, if requested.
func (r *renderer) note(ev answer.Event) {
	if !r.Notes {
		return
	}
	at := r.at.Milliseconds()
	switch ev.Kind {
	case answer.KindStep, answer.KindWarning:
		said := map[string]any{"step": ev.Step, "text": ev.Text, "at_ms": at}
		if ev.Code != "" {
			said["code"], said["server"] = ev.Code, ev.Server
		}
		r.tell(Event{Type: "molar:" + string(ev.Kind), Molar: said})
	case answer.KindProgress, answer.KindLog:
		r.tell(Event{Type: "molar:" + string(ev.Kind), Molar: ev.News})
	case answer.KindToolCall, answer.KindToolResult:
		r.tell(Event{Type: "molar:" + string(ev.Kind), Molar: map[string]any{
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

// add appends an item to the output and sends its begin.
func (r *renderer) add(item any) (index int) {
	r.closeThought()
	r.Response.Output = append(r.Response.Output, item)
	index = len(r.Response.Output) - 1
	r.tell(Event{Type: "response.output_item.added", OutputIndex: &index, Item: item})
	return index
}

// end stores the finished item and sends it.
func (r *renderer) end(index int, item any) {
	r.Response.Output[index] = item
	r.tell(Event{Type: "response.output_item.done", OutputIndex: &index, Item: item})
}

// id returns the id of the next item.
func (r *renderer) id(prefix string) string {
	return fmt.Sprintf("%s_%s_%d", prefix, r.Unique, len(r.Response.Output))
}

// clientCalls adds the calls that the client runs; it sends their outputs with its next
// request.
func (r *renderer) clientCalls(calls []schemas.ToolCall) {
	r.closeMessage("commentary", statusCompleted)
	for _, c := range calls {
		r.Left = append(r.Left, c.ID)
		it := functionCall{Type: "function_call", ID: r.id("fc"), CallID: c.ID, Name: c.Function.Name, Status: statusInProgress}
		i := r.add(it)
		it.Arguments, it.Status = c.Function.Arguments, statusCompleted
		r.tell(Event{Type: "response.function_call_arguments.delta", ItemID: it.ID, OutputIndex: &i, Delta: &it.Arguments})
		r.tell(Event{Type: "response.function_call_arguments.done", ItemID: it.ID, OutputIndex: &i, Arguments: &it.Arguments})
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
		providers.FinishLength: "max_output_tokens", providers.FinishContentFilter: "content_filter",
	}[d.Finish]
	if reason != "" {
		r.Response.IncompleteDetails = &incomplete{reason}
		r.close(statusIncomplete)
	} else {
		r.close(statusCompleted)
	}
	r.Response.Molar.Done = *d
}

// fail ends a response whose turn broke: by a status while nothing was sent, else as an error
// in the stream.
func (r *renderer) fail(err error) {
	e := failure(err)
	if r.effects.Any() {
		e = e.AfterTurnTool()
	}
	r.Refused = e
	if e.Code == turns.ErrStopped.Code {
		r.Response.IncompleteDetails = &incomplete{statusCancelled}
		r.close(statusCancelled)
		return
	}
	r.Response.Fail(e)
	r.close(statusFailed)
}

// close ends the open items, and sets the state of the response.
func (r *renderer) close(status string) {
	item := statusCompleted
	if status != statusCompleted {
		item = statusIncomplete
	}
	r.closeThought()
	r.closeMessage("final_answer", item)
	r.closeCalls()
	r.Response.Status = status
	r.Response.Molar = &molarField{TurnID: r.Turn}
	if status == statusCompleted {
		r.Response.CompletedAt = new(r.Now().Unix())
	}
}

// Last sends the response's last event.
func (r *renderer) Last() {
	if r.Response.Error != nil {
		code, param := &r.Response.Error.Code, (*string)(nil)
		if r.Refused.Param != "" {
			param = &r.Refused.Param
		}
		r.tell(Event{Type: "error", Error: &EventError{Type: r.Refused.Kind, Code: code, Message: r.Response.Error.Message, Param: param}})
	}
	r.state(lastEvent(r.Response.Status))
}

// lastEvent returns the type of the event that ends a response in that state.
func lastEvent(status string) string {
	switch status {
	case statusCompleted, statusFailed:
		return "response." + status
	}
	return "response.incomplete" // a cancelled one too: the standard has no event for it
}
