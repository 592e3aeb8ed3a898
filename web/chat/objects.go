package chat

// A Chunk is the data of every stream event except the last, "[DONE]".
type Chunk struct {
	ID          string        `json:"id"`
	Object      string        `json:"object"`
	Created     int64         `json:"created"`
	Model       string        `json:"model"`
	Fingerprint string        `json:"system_fingerprint,omitempty"`
	Choices     []chunkChoice `json:"choices"`
	Usage       *usageObject  `json:"usage,omitempty"`
	// Molar has a type, and the fields of that type.
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

// A Body is the request for the OpenAPI document: a chatRequest with typed messages.
type Body struct {
	chatRequest
	Messages []wireMessage `json:"messages"`
}
