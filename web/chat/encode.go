package chat

import (
	"strconv"

	"molar/schemas"
	"molar/web/wire"
)

// A chunker writes the chunks of one stream. They share id, time, model and conversation; the
// rest is written by hand for each, since this code runs once for every few letters of every
// answer.
type chunker struct {
	head []byte
}

func newChunker(id string, created int64, model, conversation string) chunker {
	b := []byte(wire.EventStart + `{"id":`)
	b = wire.AppendString(b, id)
	b = append(b, `,"object":"chat.completion.chunk","created":`...)
	b = strconv.AppendInt(b, created, 10)
	b = append(b, `,"model":`...)
	b = wire.AppendString(b, model)
	if conversation != "" {
		b = append(b, `,"system_fingerprint":`...)
		b = wire.AppendString(b, conversation)
	}
	return chunker{head: append(b, `,"choices":[`...)}
}

// role appends the first chunk.
func (c chunker) role(b []byte) []byte {
	b = append(b, c.head...)
	return append(b, `{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`+wire.EventEnd...)
}

// text appends a chunk with a piece of the answer.
func (c chunker) text(b []byte, text string) []byte {
	b = append(b, c.head...)
	b = append(b, `{"index":0,"delta":{"content":`...)
	b = wire.AppendString(b, text)
	return append(b, `},"finish_reason":null}]}`+wire.EventEnd...)
}

// reasoning appends a chunk with a piece of the model's reasoning, in the field that most
// clients know.
func (c chunker) reasoning(b []byte, text string) []byte {
	b = append(b, c.head...)
	b = append(b, `{"index":0,"delta":{"reasoning_content":`...)
	b = wire.AppendString(b, text)
	return append(b, `},"finish_reason":null}]}`+wire.EventEnd...)
}

// call appends the two chunks of a call that the client runs: its name, then the arguments.
func (c chunker) call(b []byte, index int, call schemas.ToolCall) []byte {
	b = append(b, c.head...)
	b = append(b, `{"index":0,"delta":{"tool_calls":[{"index":`...)
	b = strconv.AppendInt(b, int64(index), 10)
	b = append(b, `,"id":`...)
	b = wire.AppendString(b, call.ID)
	b = append(b, `,"type":"function","function":{"name":`...)
	b = wire.AppendString(b, call.Function.Name)
	b = append(b, `,"arguments":""}}]},"finish_reason":null}]}`+wire.EventEnd...)
	b = append(b, c.head...)
	b = append(b, `{"index":0,"delta":{"tool_calls":[{"index":`...)
	b = strconv.AppendInt(b, int64(index), 10)
	b = append(b, `,"function":{"arguments":`...)
	b = wire.AppendString(b, call.Function.Arguments)
	return append(b, `}}]},"finish_reason":null}]}`+wire.EventEnd...)
}

// note appends a chunk that is empty to a stock client and carries a molar object, which is
// JSON already.
func (c chunker) note(b, molar []byte) []byte {
	b = append(b, c.head...)
	b = append(b, `{"index":0,"delta":{},"finish_reason":null}],"molar":`...)
	b = append(b, molar...)
	return append(b, `}`+wire.EventEnd...)
}

// finish appends the last chunk with a choice, its object left open: last closes it if the
// chunk is the last of the stream, else next.
func (c chunker) finish(b []byte, reason string) []byte {
	b = append(b, c.head...)
	b = append(b, `{"index":0,"delta":{},"finish_reason":`...)
	b = wire.AppendString(b, reason)
	return append(b, `}]`...)
}

// next closes an open chunk.
func (c chunker) next(b []byte) []byte { return append(b, `}`+wire.EventEnd...) }

// last closes the chunk at the end of a stream: it tells every client whether the turn is
// stored.
func (c chunker) last(b []byte, saved bool) []byte {
	b = append(b, `,"molar":{"saved":`...)
	b = strconv.AppendBool(b, saved)
	return append(b, `}}`+wire.EventEnd...)
}

// usage appends the chunk with the token counts, which has no choice and is left open too.
func (c chunker) usage(b []byte, u schemas.Usage) []byte {
	b = append(b, c.head...)
	b = append(b, `],"usage":{"prompt_tokens":`...)
	b = strconv.AppendInt(b, int64(u.PromptTokens), 10)
	b = append(b, `,"completion_tokens":`...)
	b = strconv.AppendInt(b, int64(u.CompletionTokens), 10)
	b = append(b, `,"total_tokens":`...)
	b = strconv.AppendInt(b, int64(u.TotalTokens), 10)
	if u.CachedTokens > 0 {
		b = append(b, `,"prompt_tokens_details":{"cached_tokens":`...)
		b = append(strconv.AppendInt(b, int64(u.CachedTokens), 10), '}')
	}
	if u.ReasoningTokens > 0 {
		b = append(b, `,"completion_tokens_details":{"reasoning_tokens":`...)
		b = append(strconv.AppendInt(b, int64(u.ReasoningTokens), 10), '}')
	}
	return append(b, `}`...)
}
