package chat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"molar/agent"
	"molar/schemas"
	"molar/web/wire"
)

// A wireMessage is a message in OpenAI's form. Content is a string, null or a list of parts.
type wireMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCalls  []wireCall      `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`
	Name       string          `json:"name"`
	Refusal    *string         `json:"refusal"`
}

type wireCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type wirePart struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Refusal  string `json:"refusal"`
	ImageURL struct {
		URL string `json:"url"`
	} `json:"image_url"`
	File  wire.File        `json:"file"`
	Audio wire.Audio       `json:"input_audio"`
	Molar *wire.PartFields `json:"molar"`
}

// A messageList is the decoded messages of a request.
type messageList struct {
	system   []string
	messages []schemas.Message
	// history is set if there are messages other than system texts and one question.
	history bool
	// results are the results of the client's own tools in the last messages.
	results []schemas.ToolResult
	// attached are the text files attached to the last question.
	attached []agent.Attachment
	// files is approximately how many bytes of the body are files.
	files int
	// open are the calls so far without results, in their order.
	open []schemas.ToolCall
}

// readMessages checks the messages and converts them to the canonical form, in which the
// results of one message's calls are consecutive.
func readMessages(raw []json.RawMessage) (*messageList, error) {
	l := &messageList{}
	question, last := -1, ""
	for i, r := range raw {
		at := fmt.Sprintf("messages[%d]", i)
		var m wireMessage
		if err := wire.Decode(r, &m, at); err != nil {
			return nil, err
		}
		if err := l.add(m, at); err != nil {
			return nil, err
		}
		if m.Role == "user" {
			l.history = l.history || question >= 0
			question = i
		}
		last = m.Role
	}
	if err := l.unanswered("messages"); err != nil {
		return nil, err
	}
	if last == "tool" {
		for _, p := range l.messages[len(l.messages)-1].Parts {
			l.results = append(l.results, *p.Result)
		}
	}
	return l, l.checkQuestion(question)
}

// checkQuestion refuses messages without a question, or whose last question has no text. question
// is the index of the last message of role user, or -1.
func (l *messageList) checkQuestion(question int) error {
	if question < 0 {
		return wire.Invalid("messages", "messages must hold a message of role user")
	}
	for _, m := range slices.Backward(l.messages) {
		if m.Role == schemas.RoleUser {
			if strings.TrimSpace(m.Said()) == "" {
				return wire.Invalid(fmt.Sprintf("messages[%d].content", question), "the last message of role user has no text")
			}
			break
		}
	}
	return nil
}

func (l *messageList) add(m wireMessage, at string) error {
	if m.Role != "tool" {
		if err := l.unanswered(at); err != nil {
			return err
		}
	}
	parts, err := readContent(m.Content, at+".content", m.Role == "user")
	if err != nil {
		return err
	}
	switch m.Role {
	case "system", "developer":
		if text := (schemas.Message{Parts: parts}).Said(); text != "" {
			l.system = append(l.system, text)
		}
	case "user":
		wire.Settle(l.messages, l.attached)
		if parts, l.attached, err = wire.Attach(parts, at+".content"); err != nil {
			return err
		}
		l.files += wire.FileBytes(parts, l.attached)
		l.messages = append(l.messages, schemas.Message{Role: schemas.RoleUser, Parts: parts})
	case "assistant":
		return l.addAssistant(m, parts, at)
	case "tool":
		return l.addResult(m, parts, at)
	case "":
		return wire.Invalid(at+".role", "%s.role is missing", at)
	default:
		return wire.Invalid(at+".role", "role %q is not known; use system, developer, user, assistant or tool", m.Role)
	}
	return nil
}

func (l *messageList) addAssistant(m wireMessage, parts []schemas.Part, at string) error {
	l.history = true
	if m.Refusal != nil {
		parts = append(parts, textPart(*m.Refusal)...)
	}
	for i, c := range m.ToolCalls {
		if c.ID == "" || c.Function.Name == "" {
			return wire.Invalid(fmt.Sprintf("%s.tool_calls[%d]", at, i), "a tool call needs an id and a function name")
		}
		call := schemas.ToolCall{ID: c.ID, Function: schemas.FunctionCall(c.Function)}
		parts = append(parts, schemas.Part{Kind: schemas.PartCall, Call: &call})
		l.open = append(l.open, call)
	}
	l.messages = append(l.messages, schemas.Message{Role: schemas.RoleAssistant, Parts: parts})
	return nil
}

// addResult pairs a tool message with its call and collects the results in one message.
func (l *messageList) addResult(m wireMessage, parts []schemas.Part, at string) error {
	i := slices.IndexFunc(l.open, func(c schemas.ToolCall) bool { return c.ID == m.ToolCallID })
	if i < 0 {
		return wire.Invalid(at+".tool_call_id", "tool_call_id %q answers no tool call of the message before it", m.ToolCallID)
	}
	text := schemas.Message{Parts: parts}.Said()
	result := schemas.ToolResult{ToolName: l.open[i].Function.Name, ID: m.ToolCallID, Output: wire.AsJSON(text)}
	l.open = slices.Delete(l.open, i, i+1)
	part := schemas.Part{Kind: schemas.PartResult, Text: text, Result: &result}
	if end := len(l.messages) - 1; l.messages[end].Role == schemas.RoleTool {
		l.messages[end].Parts = append(l.messages[end].Parts, part)
		return nil
	}
	l.messages = append(l.messages, schemas.Message{Role: schemas.RoleTool, Parts: []schemas.Part{part}})
	return nil
}

// unanswered returns an error if a call has no result, which models do not accept.
func (l *messageList) unanswered(at string) error {
	if len(l.open) == 0 {
		return nil
	}
	return wire.Invalid(at, "the tool call %q has no message of role tool that answers it", l.open[0].ID)
}

// readContent reads a message's content: a string, null or a list of parts.
func readContent(raw json.RawMessage, at string, media bool) ([]schemas.Part, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	switch raw[0] {
	case '"':
		var text string
		if err := wire.Decode(raw, &text, at); err != nil {
			return nil, err
		}
		return textPart(text), nil
	case '[':
		var list []json.RawMessage
		if err := wire.Decode(raw, &list, at); err != nil {
			return nil, err
		}
		var parts []schemas.Part
		for i, r := range list {
			p, err := readPart(r, fmt.Sprintf("%s[%d]", at, i), media)
			if err != nil {
				return nil, err
			}
			parts = append(parts, p...)
		}
		return parts, nil
	}
	return nil, wire.Invalid(at, "%s must be a string, null or a list of parts", at)
}

func readPart(raw json.RawMessage, at string, media bool) ([]schemas.Part, error) {
	var p wirePart
	if err := wire.Decode(raw, &p, at); err != nil {
		return nil, err
	}
	switch {
	case p.Type == "text":
		return wire.TextParts(p.Text, p.Molar, at)
	case p.Type == "refusal":
		return textPart(p.Refusal), nil
	case p.Type == "image_url" && media:
		return wire.Image(p.ImageURL.URL, at+".image_url.url")
	case p.Type == "file" && media:
		return p.File.Parts(at + ".file")
	case p.Type == "input_audio" && media:
		return p.Audio.Parts(at + ".input_audio")
	case p.Type == "image_url", p.Type == "file", p.Type == "input_audio":
		return nil, wire.Invalid(at+".type", "only messages of role user may hold images and files")
	}
	return nil, wire.Invalid(at+".type", "a content part of type %q is not supported; use text, image_url, file or input_audio", p.Type)
}

func textPart(text string) []schemas.Part {
	if text == "" {
		return nil
	}
	return []schemas.Part{{Kind: schemas.PartText, Text: text}}
}
