package anthropic

import (
	"bytes"
	"encoding/json"
	"slices"
)

// A cacheMark ends a part of the prompt that the service caches, see
// https://platform.claude.com/docs/en/build-with-claude/prompt-caching. It takes at most four.
type cacheMark struct {
	Type string `json:"type"`
}

func mark() *cacheMark { return &cacheMark{"ephemeral"} }

// A place is the end of a block: its message and its number there, counted from 1; zero means
// none.
type place struct{ message, block int }

// end returns the place of the last block so far.
func (h *history) end() place {
	if len(h.out) == 0 {
		return place{}
	}
	return place{len(h.out), len(h.out[len(h.out)-1].Content)}
}

// mark sets the marks of the prompt cache. The service reads a prompt as tools, system, messages, and
// at each mark looks for the longest cached beginning that ends there or up to 20 blocks before:
//
//   - Behind the tools, which are the same in passes with other instructions.
//   - Behind the instructions, which all conversations of an assistant share.
//   - Before the last question: the next turn repeats everything up to there. The question itself
//     may carry rules that are gone by then.
//   - At the end: the next round of this turn repeats everything.
//
// The small model's prompts are short and have no next round, so that only what they share is marked.
func (b *body) mark(h *history, small bool) {
	if n := len(b.Tools); n > 0 {
		b.Tools = slices.Clone(b.Tools) // they are shared
		b.Tools[n-1] = marked(b.Tools[n-1])
	}
	if n := len(b.System); n > 0 {
		b.System[n-1].Cache = mark()
	}
	if small {
		return
	}
	h.mark(h.stable)
	h.mark(h.end())
}

// mark marks a block, or the last one before it that takes a mark: thoughts take none.
func (h *history) mark(at place) {
	if at.message == 0 {
		return
	}
	content := h.out[at.message-1].Content
	for i := at.block - 1; i >= 0; i-- {
		if content[i].thought == nil {
			content[i].Cache = mark()
			return
		}
	}
}

// marked returns a tool with a mark.
func marked(tool json.RawMessage) json.RawMessage {
	return slices.Concat(bytes.TrimSuffix(tool, []byte("}")), []byte(`,"cache_control":{"type":"ephemeral"}}`))
}
