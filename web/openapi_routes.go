package web

import (
	"net/http"

	"molar/agent"
	"molar/internal/telemetry"
)

// The tags of operations.
const (
	tagChat          = "chat"
	tagConversations = "conversations"
	tagTurns         = "turns"
	tagTools         = "tools"
	tagServers       = "servers"
	tagProbes        = "operations"
)

// operations describes the routes that this server has. A test compares it with the
// router.
func (s *server) operations() []operation {
	all := s.chatOperations()
	all = append(all, s.conversationOperations()...)
	all = append(all, s.toolOperations()...)
	return append(all, s.probeOperations()...)
}

func (s *server) chatOperations() []operation {
	chat := operation{
		method: "POST", path: "/v1/chat/completions", tag: tagChat, scope: "chat",
		summary: "Answer a question, as an OpenAI chat completion: whole, or as a stream",
		request: chatBody{}, needs: []string{"messages"}, answer: completionObject{}, event: chunkObject{},
		query: []parameter{
			{"X-Conversation-Id", "the conversation to continue"},
			{"Idempotency-Key", "repeats the finished answer, or follows the running turn, instead of asking twice"},
		},
		errors: []int{400, 401, 403, 404, 409, 413, 422, 424, 429, 500, 502, 503, 504},
	}
	alias := chat
	alias.path, alias.summary = "/chat", "The same under its older name"
	return []operation{
		chat, alias,
		{method: "GET", path: "/v1/models", tag: tagChat, scope: "chat or admin", summary: "List the assistants, as OpenAI models", answer: modelList{}},
		{method: "GET", path: "/v1/models/{id}", tag: tagChat, scope: "chat or admin", summary: "Describe an assistant", answer: modelObject{}, errors: []int{404}},
		{method: "GET", path: "/v1/turns/{id}", tag: tagTurns, scope: "chat", summary: "The trace of a turn: why each tool was called, or not; while it runs, what is known of it", answer: agent.Trace{}, errors: []int{404, 500}},
		{
			method: "GET", path: "/v1/turns/{id}/events", tag: tagTurns, scope: "chat", summary: "Follow a detached turn",
			event: chunkObject{}, query: []parameter{{"Last-Event-ID", "the number of the last event that the client has"}, {"html", "true: also the HTML of the answer, from the first event that is asked for"}}, errors: []int{400, 404, 410}, failure: missingTurnObject{},
		},
		{method: "DELETE", path: "/v1/turns/{id}", tag: tagTurns, scope: "chat", summary: "Stop a turn", answer: changedObject{}, errors: []int{404}, failure: missingTurnObject{}},
		{method: "GET", path: "/v1/approvals", tag: tagTurns, scope: "chat", summary: "List the calls that wait for a person", answer: approvalList{}},
		{
			method: "POST", path: "/v1/approvals/{id}", tag: tagTurns, scope: "chat", summary: "Allow or refuse a call that waits",
			request: decisionRequest{}, needs: []string{"token", "decision"}, answer: changedObject{}, errors: []int{400, 403, 404, 409, 410},
		},
	}
}

func (s *server) conversationOperations() []operation {
	const path = "/v1/conversations"
	return []operation{
		{
			method: "GET", path: path, tag: tagConversations, scope: "chat", summary: "List conversations, newest first", answer: conversationPage{},
			query:  []parameter{{"q", "text in title or messages"}, {"limit", "1 to 200"}, {"after", "the cursor next of the page before"}},
			errors: []int{400, 500},
		},
		{method: "GET", path: path + "/{id}", tag: tagConversations, scope: "chat", summary: "Read a conversation", answer: conversationObject{}, query: []parameter{{"html", "true: also each answer as sanitised HTML"}}, errors: []int{404, 500}},
		{method: "PATCH", path: path + "/{id}", tag: tagConversations, scope: "chat", summary: "Rename a conversation", request: titleBody{}, needs: []string{"title"}, answer: changedObject{}, errors: []int{400, 404, 500}},
		{method: "DELETE", path: path + "/{id}", tag: tagConversations, scope: "chat", summary: "Delete a conversation", answer: changedObject{}, errors: []int{404, 500}},
		{method: "POST", path: path + "/{id}/clear", tag: tagConversations, scope: "chat", summary: "Empty a conversation", answer: changedObject{}, errors: []int{404, 500}},
	}
}

func (s *server) toolOperations() []operation {
	all := []operation{
		{
			method: "GET", path: "/v1/tools", tag: tagTools, scope: "chat or admin", summary: "List the tools, their switches and why some are withheld", answer: toolList{},
			query: []parameter{{"provider", "gemini, ollama, openai or offline: also the schemas as that provider gets them"}}, errors: []int{400},
		},
		{
			method: "GET", path: "/v1/calls", tag: tagTools, scope: "admin", summary: "List the last tool calls, newest first", answer: list[telemetry.Call]{},
			query:  []parameter{{"server", ""}, {"tool", "the tool's own name"}, {"turn", "the id of a turn"}, {"limit", "1 to 500"}},
			errors: []int{400},
		},
		{method: "GET", path: "/v1/servers", tag: tagServers, scope: "chat or admin", summary: "List the MCP servers with state and reason", answer: serverList{}},
		{method: "GET", path: "/v1/prompts", tag: tagServers, scope: "chat or admin", summary: "List the prompts of the servers, which a question names behind a slash", answer: promptList{}},
		{method: "GET", path: "/v1/setup", tag: tagProbes, scope: "chat or admin", summary: "Which model would answer, and how many servers are attached", answer: setupObject{}},
	}
	if s.Operations.SwitchTool != nil {
		all = append(all, operation{method: "PATCH", path: "/v1/tools/{name}", tag: tagTools, scope: "admin", summary: "Switch a tool off, or on again", request: switchBody{}, needs: []string{"enabled"}, answer: toolObject{}, errors: []int{400, 404, 500}})
	}
	if s.Operations.CallTool != nil {
		all = append(all, operation{method: "POST", path: "/v1/tools/{name}/call", tag: tagTools, scope: "admin", summary: "Call a tool by hand", request: callBody{}, answer: calledObject{}, errors: []int{400, 403, 404, 409, 424}})
	}
	if s.Operations.ApproveServer != nil {
		all = append(all, operation{method: "POST", path: "/v1/servers/{name}/approve", tag: tagServers, scope: "admin", summary: "Take the tools of a pinned server as they are now", request: approveBody{}, answer: approvedObject{}, errors: []int{400, 404, 409, 500}})
	}
	if s.Operations.TestProvider != nil {
		all = append(all, operation{method: "POST", path: "/v1/providers/{name}/test", tag: tagProbes, scope: "admin", summary: "Make one small call to a provider", request: testBody{}, answer: providerTestObject{}, errors: []int{400, 404, 500}})
	}
	if s.Operations.Settings != nil {
		all = append(all, operation{method: "GET", path: "/v1/config", tag: tagProbes, scope: "admin", summary: "List the settings and where each was set, without secrets", answer: settingsObject{}})
	}
	if s.Reload != nil {
		all = append(all, operation{method: "POST", path: "/v1/servers/reload", tag: tagServers, scope: "admin", summary: "Read the config file anew", answer: reloadedObject{}, errors: []int{400, 500}})
	}
	return all
}

func (s *server) probeOperations() []operation {
	all := []operation{
		{method: "GET", path: "/openapi.json", tag: tagProbes, scope: "chat or admin", summary: "This document", answer: map[string]any{}},
	}
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		all = append(all,
			operation{method: method, path: "/health", tag: tagProbes, summary: "Whether the process runs", answer: probeObject{}},
			operation{method: method, path: "/ready", tag: tagProbes, summary: "Whether turns can be answered", answer: probeObject{}, errors: []int{503}},
		)
	}
	if s.Telemetry.Metrics() != nil {
		all = append(all, operation{method: "GET", path: "/metrics", tag: tagProbes, scope: "metrics", summary: "The metrics in the Prometheus text format", text: true})
	}
	return all
}
