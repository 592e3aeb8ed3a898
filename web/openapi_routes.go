package web

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"molar/agent/answer"
	"molar/internal/telemetry"
	"molar/schemas"
	"molar/web/chat"
	"molar/web/responses"
	"molar/web/wire"
)

// The tags of operations.
const (
	tagChat          = "chat"
	tagConversations = "conversations"
	tagTurns         = "turns"
	tagTools         = "tools"
	tagServers       = "servers"
	tagProbes        = "operations"
	tagAccount       = "people"
)

// operations describes the routes of this server. A test compares it with the router.
func (s *server) operations() []wire.Operation {
	all := s.chatOperations()
	all = append(all, responses.Operations()...)
	all = append(all, s.conversationOperations()...)
	all = append(all, s.feedbackOperations()...)
	if s.Files != nil {
		all = append(all, wire.Operation{Method: "GET", Path: "/v1/conversations/{id}/files/{file}", Tag: tagConversations, Scope: "chat", Summary: "Read a file of a question, at the url that its message names", Binary: true, Errors: []int{404, 503}})
	}
	all = append(all, s.signInOperations()...)
	all = append(all, s.grantOperations()...)
	all = append(all, s.toolOperations()...)
	all = append(all, s.knowledgeOperations()...)
	all = append(all, s.auditOperations()...)
	all = append(all, s.reviewOperations()...)
	all = append(all, s.handoverOperations()...)
	all = append(all, s.peopleOperations()...)
	all = append(all, s.loginOperations()...)
	all = append(all, s.usageOperations()...)
	return append(all, s.probeOperations()...)
}

func (s *server) chatOperations() []wire.Operation {
	completions := wire.Operation{
		Method: "POST", Path: "/v1/chat/completions", Tag: tagChat, Scope: "chat",
		Summary: "Answer a question, as an OpenAI chat completion: whole, or as a stream",
		Request: chat.Body{}, Needs: []string{"messages"}, Answer: chat.Completion{}, Event: chat.Chunk{},
		Query: []wire.Parameter{
			{"X-Conversation-Id", "the conversation to continue"},
			{"Idempotency-Key", "repeats the finished answer, or follows the running turn, instead of starting a second one"},
		},
		Errors: []int{400, 401, 403, 404, 409, 413, 422, 424, 429, 500, 502, 503, 504},
	}
	alias := completions
	alias.Path, alias.Summary = "/chat", "The same route under its older name"
	return []wire.Operation{
		completions, alias,
		{Method: "GET", Path: "/v1/models", Tag: tagChat, Scope: "chat or admin", Summary: "List the assistants, as OpenAI models", Answer: modelList{}},
		{Method: "GET", Path: "/v1/models/{id}", Tag: tagChat, Scope: "chat or admin", Summary: "Describe an assistant", Answer: modelObject{}, Errors: []int{404}},
		{Method: "GET", Path: "/v1/turns/{id}", Tag: tagTurns, Scope: "chat", Summary: "The trace of a turn: why each tool was called, or not. For a running turn, the trace so far; for a turn without a trace, its stored messages", Answer: turnObject{}, Errors: []int{404, 500}},
		{
			Method: "GET", Path: "/v1/turns/{id}/events", Tag: tagTurns, Scope: "chat", Summary: "Follow a detached turn",
			Event: chat.Chunk{}, Query: []wire.Parameter{{"Last-Event-ID", "the number of the last event that the client has received"}, {"html", "true: also the HTML of the answer, from the first requested event on"}}, Errors: []int{400, 404, 410}, Failure: chat.MissingTurn{},
		},
		{Method: "DELETE", Path: "/v1/turns/{id}", Tag: tagTurns, Scope: "chat", Summary: "Stop a turn", Answer: changedObject{}, Errors: []int{404}, Failure: chat.MissingTurn{}},
		{
			Method: "GET", Path: "/v1/approvals", Tag: tagTurns, Scope: "chat or review", Summary: "List the pending approvals", Answer: approvalList{},
			Query: []wire.Parameter{{"for", "me: the calls of others that the client may decide about, instead of its own"}}, Errors: []int{400},
		},
		{
			Method: "POST", Path: "/v1/approvals/{id}", Tag: tagTurns, Scope: "chat or review", Summary: "Approve or refuse a pending call",
			Request: decisionRequest{}, Needs: []string{"token", "decision"}, Answer: changedObject{}, Errors: []int{400, 403, 404, 409, 410},
		},
		{Method: "GET", Path: "/v1/questions", Tag: tagTurns, Scope: "chat", Summary: "List the servers' pending questions", Answer: list[answer.PendingQuestion]{}},
		{
			Method: "POST", Path: "/v1/questions/{id}", Tag: tagTurns, Scope: "chat", Summary: "Answer a server's question: accept with the content of its form, decline or cancel",
			Request: schemas.Answer{}, Needs: []string{"action"}, Answer: answeredObject{}, Errors: []int{400, 404, 409},
		},
	}
}

func (s *server) grantOperations() []wire.Operation {
	if s.Grants == nil {
		return nil
	}
	return []wire.Operation{
		{Method: "GET", Path: "/v1/grants", Tag: tagTurns, Scope: "chat", Summary: "List the permissions for a conversation or for always", Answer: list[schemas.Grant]{}, Errors: []int{503}},
		{Method: "DELETE", Path: "/v1/grants/{id}", Tag: tagTurns, Scope: "chat", Summary: "Revoke a permission: its calls need approval again", Answer: changedObject{}, Errors: []int{404, 503}},
	}
}

func (s *server) feedbackOperations() []wire.Operation {
	if s.Feedback == nil {
		return nil
	}
	return []wire.Operation{
		{
			Method: "POST", Path: "/v1/turns/{id}/feedback", Tag: tagTurns, Scope: "chat", Summary: "Mark an answer up or down, with a note; none removes the mark",
			Request: feedbackBody{}, Needs: []string{"mark"}, Answer: feedbackObject{}, Errors: []int{400, 404, 503},
		},
		{
			Method: "GET", Path: "/v1/feedback", Tag: tagTurns, Scope: "chat", Summary: "List marked answers, newest first", Answer: list[schemas.Feedback]{},
			Query: []wire.Parameter{
				{"mark", "up or down"},
				{"assistant", ""},
				{"conversation", "the id of a conversation"},
				{"since", "a time, such as 2026-01-31T00:00:00Z"},
				{"limit", "1 to 1000; default 50"},
			},
			Errors: []int{400, 503},
		},
	}
}

func (s *server) conversationOperations() []wire.Operation {
	const path = "/v1/conversations"
	return []wire.Operation{
		{
			Method: "GET", Path: path, Tag: tagConversations, Scope: "chat", Summary: "List conversations, newest first", Answer: conversationPage{},
			Query:  []wire.Parameter{{"q", "text in title or messages"}, {"limit", "1 to 200"}, {"after", "the cursor next of the previous page"}},
			Errors: []int{400, 500},
		},
		{Method: "GET", Path: path + "/{id}", Tag: tagConversations, Scope: "chat", Summary: "Read a conversation", Answer: conversationObject{}, Query: []wire.Parameter{
			{"html", "true: also each answer as sanitised HTML"},
			{"tip", "the id of a turn: the branch that ends with it, instead of the newest"},
			{"tree", "true: the messages of all branches, each with the seq of its parent"},
			{"lines", "true: the same as application/x-ndjson: a line for the conversation, then one for each message, the newest first"},
		}, Errors: []int{400, 404, 500}},
		{Method: "PATCH", Path: path + "/{id}", Tag: tagConversations, Scope: "chat", Summary: "Rename a conversation", Request: titleBody{}, Needs: []string{"title"}, Answer: changedObject{}, Errors: []int{400, 404, 500}},
		{Method: "DELETE", Path: path + "/{id}", Tag: tagConversations, Scope: "chat", Summary: "Delete a conversation", Answer: changedObject{}, Errors: []int{404, 500}},
		{Method: "POST", Path: path + "/{id}/clear", Tag: tagConversations, Scope: "chat", Summary: "Empty a conversation", Answer: changedObject{}, Errors: []int{404, 500}},
	}
}

func (s *server) toolOperations() []wire.Operation {
	all := []wire.Operation{
		{
			Method: "GET", Path: "/v1/tools", Tag: tagTools, Scope: "chat or admin", Summary: "List the tools, their switches and why some are withheld", Answer: toolList{},
			Query: []wire.Parameter{{"provider", providerNames() + ": also the schemas as they are sent to that provider"}, {"lint", "true: also remarks about each tool"}}, Errors: []int{400},
		},
		{
			Method: "GET", Path: "/v1/calls", Tag: tagTools, Scope: "admin", Summary: "List the last tool calls, newest first", Answer: list[telemetry.Call]{},
			Query:  []wire.Parameter{{"server", ""}, {"tool", "the tool's own name"}, {"turn", "the id of a turn"}, {"limit", "1 to 500"}},
			Errors: []int{400},
		},
		{Method: "GET", Path: "/v1/servers", Tag: tagServers, Scope: "chat or admin", Summary: "List the MCP servers with their state and its reason", Answer: serverList{}},
		{Method: "GET", Path: "/v1/prompts", Tag: tagServers, Scope: "chat or admin", Summary: "List the servers' prompts, which a question can name after a slash", Query: []wire.Parameter{{"assistant", "the name of the assistant; without it the default one"}}, Answer: promptList{}},
		{Method: "GET", Path: "/v1/setup", Tag: tagProbes, Scope: "chat or admin", Summary: "Which model would answer a question, how many servers are attached and, for operators, the state of the config file", Answer: setupObject{}, Query: []wire.Parameter{
			{"assistant", "the assistant of the question"}, {"provider", "the provider that the question names"}, {"model", "the model that the question names"},
		}},
	}
	if s.Operations.SwitchTool != nil {
		all = append(all, wire.Operation{Method: "PATCH", Path: "/v1/tools/{name}", Tag: tagTools, Scope: "admin", Summary: "Switch a tool off, or on again", Request: switchBody{}, Needs: []string{"enabled"}, Answer: toolObject{}, Errors: []int{400, 404, 500}})
	}
	if s.Operations.ForgetRefusals != nil {
		all = append(all, wire.Operation{Method: "DELETE", Path: "/v1/tools/{name}/refusals", Tag: tagTools, Scope: "admin", Summary: "Offer a tool again to the services that have refused it", Answer: toolObject{}, Errors: []int{404, 500}})
	}
	if s.Operations.CallTool != nil {
		all = append(all, wire.Operation{Method: "POST", Path: "/v1/tools/{name}/call", Tag: tagTools, Scope: "admin", Summary: "Call a tool by hand", Request: callBody{}, Answer: calledObject{}, Errors: []int{400, 403, 404, 409, 424}})
	}
	if s.Operations.ApproveServer != nil {
		all = append(all, wire.Operation{Method: "POST", Path: "/v1/servers/{name}/approve", Tag: tagServers, Scope: "admin", Summary: "Approve the current tools of a pinned server", Request: approveBody{}, Answer: approvedObject{}, Errors: []int{400, 404, 409, 500}})
	}
	if s.Operations.ImportServers != nil {
		all = append(all, wire.Operation{Method: "POST", Path: "/v1/servers/import", Tag: tagServers, Scope: "admin", Summary: "Convert pasted servers of another host, a command or an address to the form of the config file; nothing is started", Request: importBody{}, Answer: importedObject{}, Errors: []int{400}})
	}
	if s.Operations.AddServer != nil {
		all = append(all,
			wire.Operation{Method: "POST", Path: "/v1/servers", Tag: tagServers, Scope: "admin", Summary: "Attach a remote server by its address and store it; only on a host with keys, and never with a command", Request: NewServer{}, Needs: []string{"url"}, Answer: addedObject{}, Errors: []int{400, 403, 409, 500}},
			wire.Operation{Method: "DELETE", Path: "/v1/servers/{name}", Tag: tagServers, Scope: "admin", Summary: "Remove a server that was added with POST /v1/servers", Answer: changedObject{}, Errors: []int{404, 409, 500}})
	}
	if s.Operations.TestProvider != nil {
		all = append(all, wire.Operation{Method: "POST", Path: "/v1/providers/{name}/test", Tag: tagProbes, Scope: "admin", Summary: "Make one small call to a provider", Request: testBody{}, Answer: providerTestObject{}, Errors: []int{400, 404, 500}})
	}
	if s.Operations.Providers != nil {
		all = append(all, wire.Operation{Method: "GET", Path: "/v1/providers", Tag: tagProbes, Scope: "admin", Summary: "List the providers: which can answer now, with which models, and why the others cannot", Answer: list[providerObject]{}})
	}
	if s.Operations.Settings != nil {
		all = append(all, wire.Operation{Method: "GET", Path: "/v1/config", Tag: tagProbes, Scope: "admin", Summary: "List the settings and where each was set, without secrets", Answer: settingsObject{}})
	}
	if s.Reload != nil {
		all = append(all, wire.Operation{Method: "POST", Path: "/v1/servers/reload", Tag: tagServers, Scope: "admin", Summary: "Reread the config file", Answer: reloadedObject{}, Errors: []int{400, 500}})
	}
	return all
}

func (s *server) probeOperations() []wire.Operation {
	all := []wire.Operation{
		{Method: "GET", Path: "/openapi.json", Tag: tagProbes, Scope: "chat or admin", Summary: "This document", Answer: map[string]any{}},
	}
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		all = append(all,
			wire.Operation{Method: method, Path: "/health", Tag: tagProbes, Summary: "Whether the process runs", Answer: probeObject{}},
			wire.Operation{Method: method, Path: "/ready", Tag: tagProbes, Summary: "Whether turns can be answered", Answer: probeObject{}, Errors: []int{503}},
		)
	}
	if s.Telemetry.Metrics() != nil {
		all = append(all, wire.Operation{Method: "GET", Path: "/metrics", Tag: tagProbes, Scope: "metrics", Summary: "The metrics in the Prometheus text format", Text: true})
	}
	return all
}

// openAPI answers with the OpenAPI document, which is built at the first request.
func (s *server) openAPI(c *gin.Context) {
	body, err := s.document()
	if err != nil {
		s.Logger.Error("the OpenAPI document could not be written", "error", err, "request_id", wire.RequestID(c.Writer))
		wire.WriteError(c.Writer, wire.ErrInternal)
		return
	}
	wire.WriteBody(c.Writer, http.StatusOK, body)
}
