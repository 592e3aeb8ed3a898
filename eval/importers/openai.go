package importers

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"molar/eval/wire"
)

// openAILine is a conversation in OpenAI's form: its messages, or a request with its
// response as logs hold them.
type openAILine struct {
	ID       string            `json:"id"`
	Messages []wire.Message    `json:"messages"`
	Tools    []wire.OpenAITool `json:"tools"`
	Choices  []openAIChoice    `json:"choices"`
	Request  *openAILine       `json:"request"`
	Response *openAILine       `json:"response"`
}

type openAIChoice struct {
	Message *wire.Message `json:"message"`
}

// whole takes request and response together, with the answer as the last message.
func (l openAILine) whole() (openAILine, error) {
	if l.Request != nil {
		l.Messages, l.Tools = l.Request.Messages, l.Request.Tools
	}
	if l.Response != nil {
		l.Choices = l.Response.Choices
	}
	switch {
	case len(l.Choices) > 1:
		return l, errors.New("several choices have no one truth: keep one as the assistant's message")
	case len(l.Choices) == 1 && l.Choices[0].Message != nil:
		said := *l.Choices[0].Message
		said.Role = "assistant"
		l.Messages = append(l.Messages, said)
	}
	return l, nil
}

// OpenAI reads conversations in OpenAI's form: messages, or requests with their responses,
// one after the other or in a list. Several choices have no one truth and are refused.
func OpenAI(name string, data []byte) ([]Imported, error) {
	var all []Imported
	for v, err := range values(data) {
		var line openAILine
		if err == nil {
			err = json.Unmarshal(v.raw, &line)
		}
		if err == nil {
			line, err = line.whole()
		}
		var imported Imported
		if err == nil {
			if line.ID == "" {
				line.ID = fmt.Sprintf("%s-%d", baseName(name), v.line)
			}
			imported, err = line.imported()
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, v.line, err)
		}
		all = append(all, imported)
	}
	return all, nil
}

func (l *openAILine) imported() (Imported, error) {
	c, err := l.convo()
	if err != nil {
		return Imported{}, err
	}
	return c.build()
}

// convo takes the messages apart into turns.
func (l *openAILine) convo() (*convo, error) {
	c := &convo{id: l.ID, source: "openai", provider: "openai", model: "imported", tags: []string{"imported", "openai"}}
	for _, t := range l.Tools {
		c.tools = append(c.tools, t.Tool())
	}
	for i, m := range l.Messages {
		text := wire.TextOf(m.Content)
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
			a := m.Answer()
			t.steps = append(t.steps, step(a, a.Stream(wire.OpenAI, ""))) // as it would have come
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

// result gives a call its output.
func (c *convo) result(id, text string) bool {
	for t := range c.turns {
		for s := range c.turns[t].steps {
			for i := range c.turns[t].steps[s].calls {
				call := &c.turns[t].steps[s].calls[i]
				if call.ID == id && call.output == nil {
					call.output = wire.JSONOf(text)
					return true
				}
			}
		}
	}
	return false
}
