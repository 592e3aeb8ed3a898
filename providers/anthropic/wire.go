package anthropic

import (
	"encoding/json"

	"molar/schemas"
)

// frame is one event of the stream, or a whole answer, see
// https://platform.claude.com/docs/en/build-with-claude/streaming.
type frame struct {
	Type    string          `json:"type"`
	Message *frame          `json:"message"` // of message_start
	Index   int             `json:"index"`
	Block   *content        `json:"content_block"`
	Delta   delta           `json:"delta"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
	// Content and StopReason are set in a whole answer.
	Content    []content `json:"content"`
	StopReason string    `json:"stop_reason"`
}

// content is a block of an answer. Blocks of other types than text, thinking, redacted_thinking and
// tool_use belong to tools that run at the service, which are never offered.
type content struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
}

type delta struct {
	Type       string `json:"type"`
	Text       string `json:"text"`
	Thinking   string `json:"thinking"`
	Signature  string `json:"signature"`
	Partial    string `json:"partial_json"`
	StopReason string `json:"stop_reason"`
}

// usage counts tokens. The last event's counts are the sums; what it leaves out stands as before.
type usage struct {
	Input         *int `json:"input_tokens"`
	CacheCreation *int `json:"cache_creation_input_tokens"`
	CacheRead     *int `json:"cache_read_input_tokens"`
	Output        *int `json:"output_tokens"`
	Details       struct {
		Thinking *int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// update takes over the counts that a later event has.
func (u *usage) update(later *usage) {
	if later == nil {
		return
	}
	for _, count := range []struct{ old, now **int }{
		{&u.Input, &later.Input},
		{&u.CacheCreation, &later.CacheCreation},
		{&u.CacheRead, &later.CacheRead},
		{&u.Output, &later.Output},
		{&u.Details.Thinking, &later.Details.Thinking},
	} {
		if *count.now != nil {
			*count.old = *count.now
		}
	}
}

// schema returns the counts; the service counts cached tokens apart from the others of the prompt. It
// is nil if none came.
func (u *usage) schema() *schemas.Usage {
	if *u == (usage{}) {
		return nil
	}
	count := func(n *int) int {
		if n == nil {
			return 0
		}
		return *n
	}
	s := schemas.Usage{
		PromptTokens:     count(u.Input) + count(u.CacheCreation) + count(u.CacheRead),
		CompletionTokens: count(u.Output), CachedTokens: count(u.CacheRead), ReasoningTokens: count(u.Details.Thinking),
	}
	s.TotalTokens = s.PromptTokens + s.CompletionTokens
	return &s
}
