package chat

import (
	"strconv"

	"molar/schemas"
	"molar/web/wire"
)

// A chunker encodes the chunks of one stream, by hand for speed: there is one for every few letters
// of every answer.
type chunker struct {
	// head is the start of every chunk, with id, time, model and conversation.
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

// text appends a chunk with a piece of the answer, or of a refusal.
func (c chunker) text(b []byte, text string, refusal bool) []byte {
	b = append(b, c.head...)
	if refusal {
		b = append(b, `{"index":0,"delta":{"refusal":`...)
	} else {
		b = append(b, `{"index":0,"delta":{"content":`...)
	}
	b = wire.AppendString(b, text)
	return append(b, `},"finish_reason":null}]}`+wire.EventEnd...)
}

// reasoning appends a chunk with a piece of the model's reasoning, in the field that most clients
// read.
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

// note appends a chunk with a molar object, which is JSON, and an empty delta for other clients.
func (c chunker) note(b, molar []byte) []byte {
	b = append(b, c.head...)
	b = append(b, `{"index":0,"delta":{},"finish_reason":null}],"molar":`...)
	b = append(b, molar...)
	return append(b, `}`+wire.EventEnd...)
}

// finish appends the last chunk with a choice, without the end of its object: last must close it if
// it is the last chunk of the stream, else next.
func (c chunker) finish(b []byte, reason string) []byte {
	b = append(b, c.head...)
	b = append(b, `{"index":0,"delta":{},"finish_reason":`...)
	b = wire.AppendString(b, reason)
	return append(b, `}]`...)
}

// next closes an open chunk.
func (c chunker) next(b []byte) []byte { return append(b, `}`+wire.EventEnd...) }

// last closes the last chunk of a stream, with a molar object that reports whether the turn is
// stored.
func (c chunker) last(b []byte, saved bool) []byte {
	b = append(b, `,"molar":{"saved":`...)
	b = strconv.AppendBool(b, saved)
	return append(b, `}}`+wire.EventEnd...)
}

// usage appends the chunk with the token counts. It has no choice, and last must close it.
func (c chunker) usage(b []byte, u schemas.Usage) []byte {
	b = append(b, c.head...)
	b = append(b, `],"usage":{"prompt_tokens":`...)
	b = strconv.AppendInt(b, int64(u.PromptTokens), 10)
	b = append(b, `,"completion_tokens":`...)
	b = strconv.AppendInt(b, int64(u.CompletionTokens), 10)
	b = append(b, `,"total_tokens":`...)
	b = strconv.AppendInt(b, int64(u.TotalTokens), 10)
	if u.Cost > 0 {
		b = append(append(b, `,"cost":`...), u.Cost.String()...)
	}
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
