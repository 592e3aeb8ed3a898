package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// Of says which wire an address speaks, and the model that it names; "" for none.
func Of(address string) (provider, model string) {
	path := address
	if u, err := url.Parse(address); err == nil {
		path = u.Path
	}
	if m := regexp.MustCompile(`models/([^/:]+):(?:stream)?[gG]enerateContent$`).FindStringSubmatch(path); m != nil {
		return Gemini, m[1]
	}
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return OpenAI, ""
	case strings.HasSuffix(path, "/api/chat"):
		return Ollama, ""
	}
	return "", ""
}

// A Message is one of OpenAI's wire and of Ollama's, whole or as a delta.
type Message struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCalls  []ToolCall      `json:"tool_calls,omitempty"`
	ToolCallID string          `json:"tool_call_id,omitempty"`
	ToolName   string          `json:"tool_name,omitempty"`
	Name       string          `json:"name,omitempty"`
}

// A ToolCall is a call in a message, whole or as a delta. Arguments are text or an object.
type ToolCall struct {
	Index    *int   `json:"index,omitempty"`
	ID       string `json:"id"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// Answer is what the message says and calls.
func (m *Message) Answer() Answer {
	var a Answer
	a.message(m)
	return a
}

type content struct {
	Role  string `json:"role"`
	Parts []struct {
		Text         string `json:"text"`
		Thought      bool   `json:"thought"`
		FunctionCall *struct {
			ID   string          `json:"id"`
			Name string          `json:"name"`
			Args json.RawMessage `json:"args"`
		} `json:"functionCall"`
		FunctionResponse *struct {
			ID       string          `json:"id"`
			Name     string          `json:"name"`
			Response json.RawMessage `json:"response"`
		} `json:"functionResponse"`
	} `json:"parts"`
}

// An answered is one event of an answer, or a whole one, of any wire.
type answered struct {
	Candidates []struct {
		Content content `json:"content"`
	} `json:"candidates"`
	Choices []struct {
		Index   int      `json:"index"`
		Delta   *Message `json:"delta"`
		Message *Message `json:"message"`
	} `json:"choices"`
	Message *Message `json:"message"`
}

// ReadAnswer reads a recorded response: what it says, and its bytes as a stream, since
// that is what Molar asks for.
func ReadAnswer(provider, body string) (Answer, Stream, error) {
	list, streamed := events(body)
	if len(list) == 0 {
		return Answer{}, Stream{}, errors.New("there is no event in it")
	}
	var a Answer
	s := Stream{ContentType: sse}
	for i, raw := range list {
		var e answered
		if err := json.Unmarshal(raw, &e); err != nil {
			return a, s, fmt.Errorf("event %d: %w", i+1, err)
		}
		if err := a.add(&e); err != nil {
			return a, s, err
		}
		switch {
		case provider == Ollama:
			s.ContentType = "application/x-ndjson"
			s.Chunks = append(s.Chunks, append(encode(raw), '\n'))
		case provider == Gemini && !streamed:
			s.Chunks = append(s.Chunks, event(raw))
		case !streamed:
			chunks, err := streamOf(raw)
			if err != nil {
				return a, s, err
			}
			s.Chunks = append(s.Chunks, chunks...)
		}
	}
	if streamed && provider != Ollama {
		s.Chunks = cutEvents(body)
	}
	return a, s, nil
}

// add takes one event into the answer.
func (a *Answer) add(e *answered) error {
	if len(e.Candidates) > 0 {
		for _, p := range e.Candidates[0].Content.Parts {
			switch {
			case p.FunctionCall != nil:
				a.Calls = append(a.Calls, Call{p.FunctionCall.ID, p.FunctionCall.Name, argumentsText(p.FunctionCall.Args)})
			case !p.Thought:
				a.Text += p.Text
			}
		}
	}
	if e.Message != nil {
		a.message(e.Message)
	}
	for _, c := range e.Choices {
		if c.Message != nil && len(e.Choices) > 1 {
			return errors.New("several choices have no one truth")
		}
		if c.Index != 0 {
			continue
		}
		if c.Delta != nil {
			a.message(c.Delta)
		} else if c.Message != nil {
			a.message(c.Message)
		}
	}
	return nil
}

// message takes a message in; calls of deltas are put together by their index.
func (a *Answer) message(m *Message) {
	a.Text += TextOf(m.Content)
	for _, c := range m.ToolCalls {
		i := len(a.Calls)
		if c.Index != nil && *c.Index >= 0 && *c.Index < i {
			i = *c.Index
		}
		if i == len(a.Calls) {
			a.Calls = append(a.Calls, Call{})
		}
		to := &a.Calls[i]
		if c.ID != "" {
			to.ID = c.ID
		}
		to.Name += c.Function.Name
		if len(c.Function.Arguments) > 0 {
			to.Arguments += argumentsText(c.Function.Arguments)
		}
	}
}

// argumentsText are arguments as text, whether they are text or an object.
func argumentsText(raw json.RawMessage) string {
	var text string
	switch {
	case len(raw) == 0:
		return "{}"
	case json.Unmarshal(raw, &text) == nil:
		return text
	}
	return string(raw)
}

// events are the objects of a body: the data of server-sent events, lines, the items of
// a list, or the body itself.
func events(body string) (list []json.RawMessage, streamed bool) {
	trimmed := strings.TrimSpace(body)
	if json.Valid([]byte(trimmed)) && strings.HasPrefix(trimmed, "{") {
		return []json.RawMessage{json.RawMessage(trimmed)}, false
	}
	if strings.HasPrefix(trimmed, "[") && json.Unmarshal([]byte(trimmed), &list) == nil {
		return list, false
	}
	for line := range strings.Lines(body) {
		data := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "data:"))
		if strings.HasPrefix(data, "{") {
			list = append(list, json.RawMessage(data))
		}
	}
	return list, true
}

// cutEvents splits a stream after each event, so that it is served in pieces.
func cutEvents(body string) [][]byte {
	var chunks [][]byte
	for _, e := range strings.SplitAfter(strings.ReplaceAll(body, "\r\n", "\n"), "\n\n") {
		if e != "" {
			chunks = append(chunks, []byte(e))
		}
	}
	return chunks
}

// streamOf writes a whole answer of OpenAI's wire as the stream of the same answer.
func streamOf(raw json.RawMessage) ([][]byte, error) {
	var whole object
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&whole); err != nil {
		return nil, err
	}
	choices, _ := whole["choices"].([]any)
	for _, c := range choices {
		choice, _ := c.(object)
		said, _ := choice["message"].(object)
		calls, _ := said["tool_calls"].([]any)
		for i, call := range calls {
			if o, ok := call.(object); ok {
				o["index"] = i
			}
		}
		choice["delta"] = said
		delete(choice, "message")
	}
	whole["object"] = "chat.completion.chunk"
	return [][]byte{event(whole), []byte("data: [DONE]\n\n")}, nil
}

// TextOf reads a content: a text, or a list of parts.
func TextOf(raw json.RawMessage) string {
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
