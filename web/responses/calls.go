package responses

import (
	"slices"

	"molar/agent/answer"
	"molar/schemas"
	"molar/schemas/responses"
)

// stepTools is the step of a turn in which the model's calls run. The assistant's own searches run
// in another step: their results are sources.
const stepTools = "6.3"

// listTools adds an item with the tools of each server that the request names and that the chain
// of responses has not listed yet.
func (r *renderer) listTools(tools []schemas.ToolInfo) {
	for len(tools) > 0 {
		server := tools[0].Server
		end := slices.IndexFunc(tools, func(t schemas.ToolInfo) bool { return t.Server != server })
		if end < 0 {
			end = len(tools)
		}
		if !slices.Contains(r.Listed, server) {
			r.listServer(server, tools[:end])
		}
		tools = tools[end:]
	}
}

func (r *renderer) listServer(server string, tools []schemas.ToolInfo) {
	r.Listed = append(r.Listed, server)
	it := mcpListTools{Type: "mcp_list_tools", ID: r.id("mcpl"), ServerLabel: server, Tools: []mcpTool{}}
	i := r.add(it)
	r.emit(Event{Type: "response.mcp_list_tools.in_progress", ItemID: it.ID, OutputIndex: &i})
	for _, t := range tools {
		it.Tools = append(it.Tools, mcpTool{Name: t.ToolName, Description: t.Description, InputSchema: t.InputSchema})
	}
	r.emit(Event{Type: "response.mcp_list_tools.completed", ItemID: it.ID, OutputIndex: &i})
	r.end(i, it)
}

// call records a call. A call that needs approval gets its item only when its result comes.
func (r *renderer) call(ev answer.Event) {
	if kind := r.Searches[ev.ToolName]; kind != "" && ev.Server == schemas.ToolServer && !ev.Asks {
		r.search(kind, ev.Call)
		return
	}
	if ev.Step != stepTools || ev.Server == "" {
		return // the assistant's own search, or an unknown tool
	}
	c := &serverCall{server: ev.Server, tool: ev.ToolName, arguments: ev.Call.Function.Arguments, asks: ev.Asks}
	r.calls[ev.Call.ID] = c
	if !c.asks {
		r.openCall(c)
	}
}

func (r *renderer) openCall(c *serverCall) {
	r.closeMessage(responses.PhaseCommentary, responses.StatusCompleted)
	it := &mcpCall{Type: "mcp_call", ID: r.id("mcp"), ServerLabel: c.server, Name: c.tool, Status: responses.StatusInProgress}
	if c.request != "" {
		it.ApprovalRequestID = &c.request
	}
	c.open, c.index = it, r.add(*it)
	r.emit(Event{Type: "response.mcp_call.in_progress", ItemID: it.ID, OutputIndex: &c.index})
	it.Arguments = c.arguments
	r.emit(Event{Type: "response.mcp_call_arguments.delta", ItemID: it.ID, OutputIndex: &c.index, Delta: &it.Arguments})
	r.emit(Event{Type: "response.mcp_call_arguments.done", ItemID: it.ID, OutputIndex: &c.index, Arguments: &it.Arguments})
}

// result ends a call with its result.
func (r *renderer) result(ev answer.Event) {
	if s := r.searches[ev.Call.ID]; s != nil {
		r.found(s, ev)
		return
	}
	c := r.calls[ev.Call.ID]
	if c == nil {
		return
	}
	delete(r.calls, ev.Call.ID)
	if c.open == nil {
		c.arguments = ev.Call.Function.Arguments // a person may have changed them
		r.openCall(c)
	}
	it, text := c.open, ev.Result.OutputText()
	if ev.Result.IsError {
		it.Status = responses.StatusFailed
		it.Error = &mcpError{Type: "mcp_tool_execution_error", Content: []responses.TextPart{{Type: "text", Text: text}}}
		r.emit(Event{Type: "response.mcp_call.failed", ItemID: it.ID, OutputIndex: &c.index})
	} else {
		it.Status, it.Output = responses.StatusCompleted, &text
		r.emit(Event{Type: "response.mcp_call.completed", ItemID: it.ID, OutputIndex: &c.index})
	}
	r.end(c.index, *it)
}

// approval ends the response with a pending approval.
func (r *renderer) approval(a *answer.Approval) {
	r.closeMessage(responses.PhaseCommentary, responses.StatusCompleted)
	it := mcpApprovalRequest{
		Type: "mcp_approval_request", ID: r.id("mcpr"), ServerLabel: a.Server, Name: a.Tool, Arguments: string(a.Arguments),
		Unsure: a.Unsure, Question: a.Question, Shown: a.Shown, Subject: a.Subject(), Scopes: a.Scopes, Destinations: a.Destinations,
	}
	if c := r.calls[a.CallID]; c != nil {
		it.Name = c.tool
		c.request = it.ID
	}
	r.Approval = a
	r.closeCalls() // their results are in the response that continues
	r.end(r.add(it), it)
	r.close(responses.StatusCompleted)
}

// question ends the response with a server's question.
func (r *renderer) question(a *answer.PendingQuestion) {
	r.closeMessage(responses.PhaseCommentary, responses.StatusCompleted)
	it := questionItem{Type: "molar:question", ID: r.id("molarq"), ServerLabel: a.Server, Message: a.Message, Schema: a.Schema, URL: a.URL, Expires: a.Expires}
	r.Question = a
	r.closeCalls()
	r.end(r.add(it), it)
	r.close(responses.StatusCompleted)
}

// closeCalls ends the items of running calls as incomplete.
func (r *renderer) closeCalls() {
	for _, c := range r.calls {
		if c.open != nil {
			c.open.Status = responses.StatusIncomplete
			r.end(c.index, *c.open)
			c.open = nil
		}
	}
	for id, s := range r.searches {
		s.Status = responses.StatusIncomplete
		r.end(s.index, s.searchCall)
		delete(r.searches, id)
	}
}
