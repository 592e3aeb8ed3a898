package answer

import (
	"bytes"
	"strings"

	"molar/schemas"
)

// A Collector gathers the events of one turn into its answer, sources and warnings. The zero value
// is ready.
type Collector struct {
	Start *Start
	// Done is set once the turn ended well.
	Done *Done
	// Commentary holds the texts that were followed by a call, in their order.
	Commentary []string
	Sources    []schemas.Source
	Warnings   []string
	// ClientCalls are the calls that the client must run.
	ClientCalls []schemas.ToolCall
	// Refusal is set if the answer is a text of the host instead of the JSON value that the client
	// asked for.
	Refusal bool

	answer, thinking []byte
}

// Add adds an event.
func (c *Collector) Add(e Event) {
	switch e.Kind {
	case KindStart:
		c.Start = e.Start
	case KindText:
		text := e.Text
		if len(c.answer) == 0 { // a blank line only separates it from commentary
			text = strings.TrimLeft(text, "\n")
		}
		c.answer = append(c.answer, text...)
		c.Refusal = c.Refusal || e.Refusal
	case KindCommentary, KindReset:
		if e.Text == "" { // nothing was shown
			return
		}
		c.answer = bytes.TrimRight(bytes.TrimSuffix(c.answer, []byte(e.Text)), "\n")
		c.Commentary = append(c.Commentary, e.Text)
	case KindThinking:
		c.thinking = append(c.thinking, e.Text...)
	case KindSources:
		c.Sources = e.Sources
	case KindWarning:
		c.Warnings = append(c.Warnings, e.Text)
	case KindClientCalls:
		c.ClientCalls = e.Calls
	case KindDone:
		c.Done = e.Done
	}
}

// Answer returns the text of the answer so far, without commentary.
func (c *Collector) Answer() string { return string(c.answer) }

// Thinking returns the model's reasoning so far.
func (c *Collector) Thinking() string { return string(c.thinking) }
