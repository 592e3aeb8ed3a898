package importers

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"molar/eval/tape"
)

// openAILine is one line of a data set of conversations in OpenAI's form.
type openAILine struct {
	ID       string            `json:"id"`
	Messages []openAIMessage   `json:"messages"`
	Tools    []openAITool      `json:"tools"`
	Choices  []json.RawMessage `json:"choices"`
}

type openAIMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCalls  []openAICall    `json:"tool_calls,omitempty"`
	ToolCallID string          `json:"tool_call_id,omitempty"`
}

type openAICall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type openAITool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	} `json:"function"`
}

// maxLine bounds one line of a data set, in bytes.
const maxLine = 16 << 20

// OpenAI reads OpenAI messages, one conversation a line. A line with several choices
// has no one truth and is refused.
func OpenAI(name string, r io.Reader) ([]Imported, error) {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 64<<10), maxLine)
	var all []Imported
	for n := 1; in.Scan(); n++ {
		if len(bytes.TrimSpace(in.Bytes())) == 0 {
			continue
		}
		var line openAILine
		if err := json.Unmarshal(in.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		if len(line.Choices) > 0 {
			return nil, fmt.Errorf("%s:%d: several choices have no one truth: keep one as the assistant's message", name, n)
		}
		if line.ID == "" {
			line.ID = fmt.Sprintf("%s-%d", baseName(name), n)
		}
		c, err := line.convo()
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		imported, err := c.build()
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		all = append(all, imported)
	}
	return all, in.Err()
}

// convo takes the messages apart into turns.
func (l *openAILine) convo() (*convo, error) {
	c := &convo{id: l.ID, source: "openai", provider: "openai", model: "imported", tags: []string{"imported", "openai"}}
	for _, t := range l.Tools {
		c.tools = append(c.tools, t.def())
	}
	for i, m := range l.Messages {
		text := textOf(m.Content)
		switch m.Role {
		case "system", "developer":
			c.system = strings.TrimSpace(c.system + "\n" + text)
		case "user":
			c.turns = append(c.turns, convoTurn{user: text})
		case "assistant":
			if len(c.turns) == 0 {
				return nil, fmt.Errorf("message %d: the assistant speaks before the user", i+1)
			}
			t := &c.turns[len(c.turns)-1]
			t.steps = append(t.steps, assistantStep(m, text))
		case "tool":
			if !c.result(m.ToolCallID, text) {
				return nil, fmt.Errorf("message %d: no call has the id %q", i+1, m.ToolCallID)
			}
		default:
			return nil, fmt.Errorf("message %d: role %q is not known", i+1, m.Role)
		}
	}
	if len(c.turns) == 0 {
		return nil, errors.New("there is no user message")
	}
	return c, nil
}

func (t *openAITool) def() tape.ToolDef {
	d := tape.ToolDef{Name: t.Function.Name, Description: t.Function.Description, InputSchema: t.Function.Parameters}
	if len(d.InputSchema) == 0 {
		d.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	return d
}

// textOf reads a content: a string, or a list of parts.
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var texts []string
	for _, p := range parts {
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "")
}

// assistantStep makes the stream that such a message would have come as.
func assistantStep(m openAIMessage, text string) convoStep {
	step := convoStep{method: "POST", path: "/v1/chat/completions", contentType: "text/event-stream", text: text}
	delta := map[string]any{"role": "assistant"}
	finish := "stop"
	if text != "" {
		delta["content"] = text
	}
	var calls []map[string]any
	for i, call := range m.ToolCalls {
		step.calls = append(step.calls, convoCall{id: call.ID, name: call.Function.Name, arguments: call.Function.Arguments})
		calls = append(calls, map[string]any{"index": i, "id": call.ID, "type": "function", "function": map[string]any{"name": call.Function.Name, "arguments": call.Function.Arguments}})
	}
	if calls != nil {
		delta["tool_calls"], finish = calls, "tool_calls"
	}
	event := func(choice map[string]any) []byte {
		data, err := json.Marshal(map[string]any{"object": "chat.completion.chunk", "choices": []any{choice}})
		if err != nil {
			data = []byte("{}")
		}
		return []byte("data: " + string(data) + "\n\n")
	}
	step.chunks = [][]byte{
		event(map[string]any{"index": 0, "delta": delta, "finish_reason": nil}),
		event(map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": finish}),
		[]byte("data: [DONE]\n\n"),
	}
	return step
}

// result gives a call its output.
func (c *convo) result(id, text string) bool {
	for t := range c.turns {
		for s := range c.turns[t].steps {
			for i := range c.turns[t].steps[s].calls {
				call := &c.turns[t].steps[s].calls[i]
				if call.id == id && call.output == nil {
					call.output = jsonOf(text)
					return true
				}
			}
		}
	}
	return false
}

// jsonOf is a text as JSON: itself when it is some, else a string.
func jsonOf(text string) json.RawMessage {
	if json.Valid([]byte(text)) && strings.TrimSpace(text) != "" {
		return json.RawMessage(text)
	}
	data, err := json.Marshal(text)
	if err != nil {
		return json.RawMessage(`""`)
	}
	return data
}
