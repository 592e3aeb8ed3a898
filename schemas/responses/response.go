package responses

import "encoding/json"

// A Response is the response object, with the items of its output as I. It repeats the parameters
// of the request.
type Response[I any] struct {
	ID                 string            `json:"id"`
	Object             string            `json:"object"`
	CreatedAt          int64             `json:"created_at"`
	CompletedAt        *int64            `json:"completed_at"`
	Status             string            `json:"status"`
	IncompleteDetails  *Incomplete       `json:"incomplete_details"`
	Model              string            `json:"model"`
	PreviousResponseID *string           `json:"previous_response_id"`
	Conversation       *IDObject         `json:"conversation,omitempty"`
	Instructions       *string           `json:"instructions"`
	Output             []I               `json:"output"`
	Error              *Error            `json:"error"`
	Tools              []any             `json:"tools"`
	ToolChoice         json.RawMessage   `json:"tool_choice"`
	Truncation         string            `json:"truncation"`
	ParallelToolCalls  bool              `json:"parallel_tool_calls"`
	Text               TextField         `json:"text"`
	TopP               float64           `json:"top_p"`
	PresencePenalty    float64           `json:"presence_penalty"`
	FrequencyPenalty   float64           `json:"frequency_penalty"`
	TopLogprobs        int               `json:"top_logprobs"`
	Temperature        float64           `json:"temperature"`
	Reasoning          ReasoningField    `json:"reasoning"`
	Usage              *Usage            `json:"usage"`
	MaxOutputTokens    *int              `json:"max_output_tokens"`
	MaxToolCalls       *int              `json:"max_tool_calls"`
	Store              bool              `json:"store"`
	Background         bool              `json:"background"`
	ServiceTier        string            `json:"service_tier"`
	Metadata           map[string]string `json:"metadata"`
	SafetyIdentifier   *string           `json:"safety_identifier"`
	PromptCacheKey     *string           `json:"prompt_cache_key"`
}

// An Incomplete is why a response is incomplete.
type Incomplete struct {
	Reason string `json:"reason"`
}

// An IDObject refers to a thing by its id.
type IDObject struct {
	ID string `json:"id"`
}

// An Error is why a response failed.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// A TextField is the request's text parameters.
type TextField struct {
	Format    TextFormat `json:"format"`
	Verbosity string     `json:"verbosity,omitempty"`
}

// A TextFormat is the requested format of the text. A response repeats it as it was sent.
type TextFormat struct {
	Type        string          `json:"type"`
	Name        string          `json:"name,omitempty"`
	Description json.RawMessage `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	Strict      *bool           `json:"strict,omitempty"`
}

// A ReasoningField is the request's reasoning parameters.
type ReasoningField struct {
	Effort  *string `json:"effort"`
	Summary *string `json:"summary"`
}

// Usage counts tokens.
type Usage struct {
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
	TotalTokens  int `json:"total_tokens"`
	InputDetails struct {
		CachedTokens int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	OutputDetails struct {
		ReasoningTokens int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}
