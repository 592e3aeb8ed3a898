package web

import (
	"strconv"
	"unicode/utf8"

	"molar/schemas"
)

// A chunker writes the chunks of one stream. All of them share id, time, model and
// conversation; only what follows is made anew for each, by hand, since this is
// the code that runs once for every few letters of every answer.
type chunker struct {
	head []byte
}

const (
	eventStart = "data: "
	eventEnd   = "\n\n"
)

func newChunker(id string, created int64, model, conversation string) chunker {
	b := []byte(eventStart + `{"id":`)
	b = appendString(b, id)
	b = append(b, `,"object":"chat.completion.chunk","created":`...)
	b = strconv.AppendInt(b, created, 10)
	b = append(b, `,"model":`...)
	b = appendString(b, model)
	if conversation != "" {
		b = append(b, `,"system_fingerprint":`...)
		b = appendString(b, conversation)
	}
	return chunker{head: append(b, `,"choices":[`...)}
}

// role appends the first chunk.
func (c chunker) role(b []byte) []byte {
	b = append(b, c.head...)
	return append(b, `{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`+eventEnd...)
}

// text appends a chunk with a piece of the answer.
func (c chunker) text(b []byte, text string) []byte {
	b = append(b, c.head...)
	b = append(b, `{"index":0,"delta":{"content":`...)
	b = appendString(b, text)
	return append(b, `},"finish_reason":null}]}`+eventEnd...)
}

// reasoning appends a chunk with a piece of the model's reasoning, in the field that
// most clients know.
func (c chunker) reasoning(b []byte, text string) []byte {
	b = append(b, c.head...)
	b = append(b, `{"index":0,"delta":{"reasoning_content":`...)
	b = appendString(b, text)
	return append(b, `},"finish_reason":null}]}`+eventEnd...)
}

// call appends the two chunks of a call that the client runs: who is called, then
// the arguments.
func (c chunker) call(b []byte, index int, call schemas.ToolCall) []byte {
	b = append(b, c.head...)
	b = append(b, `{"index":0,"delta":{"tool_calls":[{"index":`...)
	b = strconv.AppendInt(b, int64(index), 10)
	b = append(b, `,"id":`...)
	b = appendString(b, call.ID)
	b = append(b, `,"type":"function","function":{"name":`...)
	b = appendString(b, call.Function.Name)
	b = append(b, `,"arguments":""}}]},"finish_reason":null}]}`+eventEnd...)
	b = append(b, c.head...)
	b = append(b, `{"index":0,"delta":{"tool_calls":[{"index":`...)
	b = strconv.AppendInt(b, int64(index), 10)
	b = append(b, `,"function":{"arguments":`...)
	b = appendString(b, call.Function.Arguments)
	return append(b, `}}]},"finish_reason":null}]}`+eventEnd...)
}

// note appends a chunk that says nothing to a stock client and carries a molar
// object, which is JSON already.
func (c chunker) note(b, molar []byte) []byte {
	b = append(b, c.head...)
	b = append(b, `{"index":0,"delta":{},"finish_reason":null}],"molar":`...)
	b = append(b, molar...)
	return append(b, `}`+eventEnd...)
}

// finish appends the last chunk with a choice.
func (c chunker) finish(b []byte, reason string) []byte {
	b = append(b, c.head...)
	b = append(b, `{"index":0,"delta":{},"finish_reason":`...)
	b = appendString(b, reason)
	return append(b, `}]}`+eventEnd...)
}

// usage appends the chunk with the token counts, which has no choice.
func (c chunker) usage(b []byte, u schemas.Usage) []byte {
	b = append(b, c.head...)
	b = append(b, `],"usage":{"prompt_tokens":`...)
	b = strconv.AppendInt(b, int64(u.PromptTokens), 10)
	b = append(b, `,"completion_tokens":`...)
	b = strconv.AppendInt(b, int64(u.CompletionTokens), 10)
	b = append(b, `,"total_tokens":`...)
	b = strconv.AppendInt(b, int64(u.TotalTokens), 10)
	return append(b, `}}`+eventEnd...)
}

// appendString appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD,
// as encoding/json does it.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	plain := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= 0x20 && c != '"' && c != '\\' && c != 0x7f {
				i++
				continue
			}
			b = appendEscape(append(b, s[plain:i]...), c)
			i++
			plain = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			b = append(append(b, s[plain:i]...), `\ufffd`...)
			plain = i + size
		}
		i += size
	}
	return append(append(b, s[plain:]...), '"')
}

func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	const hex = "0123456789abcdef"
	return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
