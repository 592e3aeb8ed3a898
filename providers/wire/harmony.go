package wire

import (
	"encoding/json"
	"slices"
	"strings"
)

// The marks of the harmony format, which gpt-oss writes. A server without its parser passes them
// through as text:
//
//	answer  = message { message }
//	message = [ start ] header "<|message|>" content [ end | return | call ]
//	header  = [ role ] "<|channel|>" channel [ "to=functions." name ] [ "<|constrain|>" type ]
//
// The channel final is the answer, a message to a function is a call, commentary to nobody is said
// before a call, and all else, mostly the channel analysis, is thinking.
const (
	harmonyStart     = "<|start|>"
	harmonyChannel   = "<|channel|>"
	harmonyConstrain = "<|constrain|>"
	harmonyMessage   = "<|message|>"
)

func harmonyMarks() []string {
	return []string{harmonyStart, harmonyChannel, harmonyConstrain, harmonyMessage, "<|end|>", "<|return|>", "<|call|>"}
}

// A harmony parses messages of that format.
type harmony struct {
	header strings.Builder
	in     content
	call   bool // the text is the arguments of a call
}

// content is the kind of text between two marks.
type content int

const (
	toHeader content = iota
	toThinking
	toText
)

// beginsHarmony reports whether a text begins with such a message, and whether it still may.
func beginsHarmony(text string) (begins, may bool) {
	for _, mark := range []string{harmonyStart, harmonyChannel} {
		begins = begins || strings.HasPrefix(text, mark)
		may = may || strings.HasPrefix(mark, text)
	}
	return begins, may
}

// take parses text and returns a suffix that may be the start of a mark.
func (h *harmony) take(text string, p *Piece) (held string) {
	for {
		before, mark, after := cut(text, harmonyMarks()...)
		h.add(before, p)
		switch mark {
		case "":
			return after
		case harmonyMessage:
			h.open(p)
		case harmonyChannel, harmonyConstrain:
			if h.in != toHeader {
				h.end(p)
			}
			h.header.WriteByte(' ')
		default:
			h.end(p)
		}
		text = after
	}
}

func (h *harmony) add(text string, p *Piece) {
	switch h.in {
	case toHeader:
		h.header.WriteString(text)
	case toThinking:
		p.Thinking += text
	case toText:
		p.Text += text
	}
}

// open starts the content of a message according to its header. It writes a call in printed form.
func (h *harmony) open(p *Piece) {
	fields := strings.Fields(h.header.String())
	h.header.Reset()
	h.in = toThinking
	for _, f := range fields {
		if function, ok := strings.CutPrefix(f, "to=functions."); ok {
			name, _ := json.Marshal(function)
			p.Text += `<tool_call>{"name":` + string(name) + `,"arguments":`
			h.in, h.call = toText, true
			return
		}
	}
	isTo := func(f string) bool { return strings.HasPrefix(f, "to=") }
	if slices.Contains(fields, "final") || slices.Contains(fields, "commentary") && !slices.ContainsFunc(fields, isTo) {
		h.in = toText
	}
}

// end closes a message.
func (h *harmony) end(p *Piece) {
	if h.call {
		p.Text += "}</tool_call>"
	}
	h.in, h.call = toHeader, false
	h.header.Reset()
}
