package web

import (
	"molar/agent"
	"molar/schemas"
)

// Types of answers that no handler needs to name, for the OpenAPI document.

// An errorObject is the body of every answer that is no success.
type errorObject struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
		// Faults is set where there may be several.
		Faults []string `json:"faults,omitempty"`
	} `json:"error"`
}

// A missingTurnObject is the error for a turn that is not here, and what became of it.
type missingTurnObject struct {
	errorObject
	Status         string           `json:"status,omitempty"`
	ConversationID string           `json:"conversation_id,omitempty"`
	Answer         string           `json:"answer,omitempty"`
	Sources        []schemas.Source `json:"sources,omitempty"`
}

// A chunkObject is what each event of a stream holds, but for the last, "[DONE]".
type chunkObject struct {
	ID          string         `json:"id"`
	Object      string         `json:"object"`
	Created     int64          `json:"created"`
	Model       string         `json:"model"`
	Fingerprint string         `json:"system_fingerprint,omitempty"`
	Choices     []chunkChoice  `json:"choices"`
	Usage       *schemas.Usage `json:"usage,omitempty"`
	// Molar has a type, and the data that belongs to it.
	Molar map[string]any `json:"molar,omitempty"`
}

type chunkChoice struct {
	Index int `json:"index"`
	Delta struct {
		Role      string          `json:"role,omitempty"`
		Content   *string         `json:"content,omitempty"`
		Reasoning string          `json:"reasoning_content,omitempty"`
		ToolCalls []chunkToolCall `json:"tool_calls,omitempty"`
	} `json:"delta"`
	FinishReason *string `json:"finish_reason"`
}

type chunkToolCall struct {
	Index    int    `json:"index"`
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// A chatBody is a chatRequest whose messages are spelled out.
type chatBody struct {
	chatRequest
	Messages []wireMessage `json:"messages"`
}

type titleBody struct {
	Title string `json:"title"`
}

// A changedObject says what was done to the thing of that id.
type changedObject struct {
	ID       string `json:"id"`
	Object   string `json:"object"`
	Title    string `json:"title,omitempty"`
	Cleared  bool   `json:"cleared,omitempty"`
	Deleted  bool   `json:"deleted,omitempty"`
	Status   string `json:"status,omitempty"`
	Decision string `json:"decision,omitempty"`
}

type reloadedObject struct {
	Object string `json:"object"`
	Reloaded
}

type probeObject struct {
	Status  string `json:"status"`
	Version string `json:"version,omitempty"`
}

// The lists, by what they hold.
type (
	modelList    = list[modelObject]
	toolList     = list[toolObject]
	serverList   = list[schemas.ServerStatus]
	approvalList = list[agent.Approval]
)
