package importers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// readAnswer takes a recorded response: its bytes as a stream of the wire, and what it
// says. A whole answer becomes a stream of one event, since Molar asks for streams.
func readAnswer(provider, body string) (convoStep, error) {
	switch provider {
	case "gemini":
		return geminiAnswer(body)
	case "ollama":
		return ollamaAnswer(body)
	}
	return openAIAnswer(body)
}

// events are the data of server-sent events; a body without any is one event, and a
// JSON list one for each of its items.
func events(body string) (list []json.RawMessage, streamed bool) {
	trimmed := strings.TrimSpace(body)
	if strings.HasPrefix(trimmed, "{") {
		return []json.RawMessage{json.RawMessage(trimmed)}, false
	}
	if strings.HasPrefix(trimmed, "[") && json.Unmarshal([]byte(trimmed), &list) == nil {
		return list, false
	}
	for line := range strings.Lines(body) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data:")
		if data = strings.TrimSpace(data); ok && strings.HasPrefix(data, "{") {
			list = append(list, json.RawMessage(data))
		}
	}
	return list, true
}

// cutEvents splits a stream after each event, so that it is served in pieces.
func cutEvents(body string) [][]byte {
	var chunks [][]byte
	rest := body
	for rest != "" {
		end := len(rest)
		for _, sep := range []string{"\r\n\r\n", "\n\n"} {
			if i := strings.Index(rest, sep); i >= 0 && i+len(sep) < end {
				end = i + len(sep)
			}
		}
		chunks = append(chunks, []byte(rest[:end]))
		rest = rest[end:]
	}
	return chunks
}

func geminiAnswer(body string) (convoStep, error) {
	step := convoStep{contentType: "text/event-stream"}
	list, streamed := events(body)
	if len(list) == 0 {
		return step, errors.New("there is no event in it")
	}
	for i, raw := range list {
		var r struct {
			Candidates []struct {
				Content geminiContent `json:"content"`
			} `json:"candidates"`
		}
		if err := json.Unmarshal(raw, &r); err != nil {
			return step, fmt.Errorf("event %d: %w", i+1, err)
		}
		if len(r.Candidates) > 0 {
			for _, p := range r.Candidates[0].Content.Parts {
				switch {
				case p.FunctionCall != nil:
					args := "{}"
					if len(p.FunctionCall.Args) > 0 {
						args = string(p.FunctionCall.Args)
					}
					step.calls = append(step.calls, convoCall{id: p.FunctionCall.ID, name: p.FunctionCall.Name, arguments: args})
				case !p.Thought:
					step.text += p.Text
				}
			}
		}
		if !streamed {
			step.chunks = append(step.chunks, event(raw))
		}
	}
	if streamed {
		step.chunks = cutEvents(body)
	}
	return step, nil
}

// event writes one server-sent event, on one line.
func event(raw json.RawMessage) []byte {
	var b bytes.Buffer
	b.WriteString("data: ")
	if json.Compact(&b, raw) != nil {
		b.Write(raw)
	}
	b.WriteString("\n\n")
	return b.Bytes()
}

type openAIDelta struct {
	Content   json.RawMessage `json:"content"`
	ToolCalls []struct {
		Index *int   `json:"index"`
		ID    string `json:"id"`
		Type  string `json:"type,omitempty"`

		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

func openAIAnswer(body string) (convoStep, error) {
	step := convoStep{contentType: "text/event-stream"}
	list, streamed := events(body)
	if len(list) == 0 {
		return step, errors.New("there is no event in it")
	}
	byIndex := make(map[int]*convoCall)
	for i, raw := range list {
		var r struct {
			Choices []struct {
				Index   int         `json:"index"`
				Delta   openAIDelta `json:"delta"`
				Message openAIDelta `json:"message"`
			} `json:"choices"`
		}
		if err := json.Unmarshal(raw, &r); err != nil {
			return step, fmt.Errorf("event %d: %w", i+1, err)
		}
		if !streamed && len(r.Choices) > 1 {
			return step, errors.New("several choices have no one truth")
		}
		for _, choice := range r.Choices {
			d := choice.Delta
			if !streamed {
				d = choice.Message
			}
			if choice.Index == 0 {
				step.text += textOf(d.Content)
				d.collect(byIndex)
			}
		}
		if !streamed {
			chunks, err := streamOf(raw)
			if err != nil {
				return step, err
			}
			step.chunks = append(step.chunks, chunks...)
		}
	}
	var order []int
	for i := range byIndex {
		order = append(order, i)
	}
	slices.Sort(order)
	for _, i := range order {
		if byIndex[i].arguments == "" {
			byIndex[i].arguments = "{}"
		}
		step.calls = append(step.calls, *byIndex[i])
	}
	if streamed {
		step.chunks = cutEvents(body)
	}
	return step, nil
}

// collect puts the pieces of calls together.
func (d *openAIDelta) collect(byIndex map[int]*convoCall) {
	for n, piece := range d.ToolCalls {
		i := n
		if piece.Index != nil {
			i = *piece.Index
		} else if piece.ID == "" && len(byIndex) > 0 {
			i = len(byIndex) - 1
		}
		if piece.Index == nil && piece.ID != "" && byIndex[i] != nil && byIndex[i].id != piece.ID {
			i = len(byIndex)
		}
		call := byIndex[i]
		if call == nil {
			call = &convoCall{}
			byIndex[i] = call
		}
		if piece.ID != "" {
			call.id = piece.ID
		}
		call.name += piece.Function.Name
		text := textOf(piece.Function.Arguments)
		if text == "" && len(piece.Function.Arguments) > 0 && piece.Function.Arguments[0] == '{' {
			text = string(piece.Function.Arguments)
		}
		call.arguments += text
	}
}

// streamOf writes a whole answer as the stream of the same answer.
func streamOf(raw json.RawMessage) ([][]byte, error) {
	var whole map[string]any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&whole); err != nil {
		return nil, err
	}
	choices, _ := whole["choices"].([]any)
	for _, c := range choices {
		choice, _ := c.(map[string]any)
		message, _ := choice["message"].(map[string]any)
		calls, _ := message["tool_calls"].([]any)
		for i, call := range calls {
			if object, ok := call.(map[string]any); ok {
				object["index"] = i
			}
		}
		choice["delta"] = message
		delete(choice, "message")
	}
	whole["object"] = "chat.completion.chunk"
	data, err := json.Marshal(whole)
	if err != nil {
		return nil, err
	}
	return [][]byte{event(data), []byte("data: [DONE]\n\n")}, nil
}

func ollamaAnswer(body string) (convoStep, error) {
	step := convoStep{contentType: "application/x-ndjson"}
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		var r struct {
			Message struct {
				Content   string `json:"content"`
				ToolCalls []struct {
					Function struct {
						Name      string          `json:"name"`
						Arguments json.RawMessage `json:"arguments"`
					} `json:"function"`
				} `json:"tool_calls"`
			} `json:"message"`
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return step, err
		}
		step.text += r.Message.Content
		for _, call := range r.Message.ToolCalls {
			step.calls = append(step.calls, convoCall{name: call.Function.Name, arguments: string(call.Function.Arguments)})
		}
		step.chunks = append(step.chunks, []byte(line+"\n"))
	}
	if len(step.chunks) == 0 {
		return step, errors.New("there is no message in it")
	}
	return step, nil
}
