package importers

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"molar/eval/cassettes"
	"molar/eval/tape"
)

// readOpenAI reads conversations in OpenAI's format: messages, or requests with their responses,
// consecutive or in a list. It rejects responses with several choices, since it is unknown which
// one is right.
func readOpenAI(name string, data []byte) ([]Imported, error) {
	var all []Imported
	for v, err := range cassettes.Values(data) {
		var c *conversation
		if err == nil {
			c, err = openAIConversation(v.Raw)
		}
		var imported Imported
		if err == nil {
			if c.id == "" {
				c.id = fmt.Sprintf("%s-%d", baseName(name), v.Line)
			}
			imported, err = c.build()
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, v.Line, err)
		}
		all = append(all, imported)
	}
	return all, nil
}

// openAIConversation splits messages into turns. A response becomes the last message.
func openAIConversation(raw []byte) (*conversation, error) {
	var line struct {
		ID       string          `json:"id"`
		Choices  json.RawMessage `json:"choices"`
		Request  json.RawMessage `json:"request"`
		Response json.RawMessage `json:"response"`
	}
	if err := json.Unmarshal(raw, &line); err != nil {
		return nil, err
	}
	request, response := raw, line.Response
	if line.Request != nil {
		request = line.Request
	}
	if response == nil && line.Choices != nil {
		response = raw
	}
	parsed, err := tape.ReadRequest(request)
	if err != nil {
		return nil, err
	}
	messages := parsed.Messages()
	if response != nil {
		answer, _, err := tape.ReadAnswer(tape.OpenAI, string(response))
		if err != nil {
			return nil, err
		}
		messages = append(messages, tape.Message{Role: "assistant", Text: answer.Text, Calls: answer.Calls})
	}
	c := &conversation{id: line.ID, source: "openai", provider: tape.OpenAI, model: "imported", tags: []string{"imported", "openai"}, tools: parsed.Tools()}
	for i, m := range messages {
		if err := c.message(m); err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
	}
	if len(c.turns) == 0 {
		return nil, errors.New("there is no user message")
	}
	return c, nil
}

func (c *conversation) message(m tape.Message) error {
	switch m.Role {
	case tape.KindSystem:
		c.system = strings.TrimSpace(c.system + "\n" + m.Text)
	case "user":
		c.turns = append(c.turns, conversationTurn{user: m.Text})
	case "assistant":
		if len(c.turns) == 0 {
			return errors.New("the assistant speaks before the user")
		}
		a := tape.WireAnswer{Text: m.Text, Calls: m.Calls}
		c.addAnswer(a, a.Stream(tape.OpenAI, "")) // as a service would stream it
	case "tool":
		if left := takeResults(c.lastCalls(), m.Results); len(left) > 0 {
			return fmt.Errorf("no call has the id %q", left[0].ID)
		}
	default:
		return fmt.Errorf("role %q is not known", m.Role)
	}
	return nil
}
