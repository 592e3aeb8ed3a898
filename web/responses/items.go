package responses

import (
	"encoding/json"
	"fmt"

	"molar/agent"
	"molar/schemas"
	"molar/web/wire"
)

// answerType is the type of the item that answers a question of a server.
const answerType = "molar:answer"

// An Item is an item of an input or of an earlier output, with the fields of all types.
type Item struct {
	Type        string          `json:"type"`
	ID          string          `json:"id"`
	Role        string          `json:"role"`
	Content     json.RawMessage `json:"content"`
	CallID      string          `json:"call_id"`
	Name        string          `json:"name"`
	Namespace   string          `json:"namespace"`
	Arguments   string          `json:"arguments"`
	Output      json.RawMessage `json:"output"`
	ServerLabel string          `json:"server_label"`
	Error       json.RawMessage `json:"error"`

	ApprovalRequestID string `json:"approval_request_id"`
	Approve           *bool  `json:"approve"`
	// Scope is how far the approval reaches: once, conversation or always.
	Scope            agent.Scope `json:"scope"`
	QuestionID       string      `json:"question_id"`
	Action           string      `json:"action"`
	EncryptedContent string      `json:"encrypted_content"`

	// Raw is the JSON of the item as it was received.
	Raw json.RawMessage `json:"-"`
}

// read reads an input: a text, or a list of items.
func read(raw json.RawMessage) ([]Item, error) {
	if !wire.IsSet(raw) {
		return nil, nil
	}
	if raw[0] == '"' {
		content, err := json.Marshal([]map[string]json.RawMessage{{"type": json.RawMessage(`"input_text"`), "text": raw}})
		if err != nil {
			return nil, err
		}
		return []Item{newMessage(schemas.RoleUser, content)}, nil
	}
	var list []json.RawMessage
	if raw[0] != '[' {
		return nil, wire.Invalid("input", "input must be a text or a list of items")
	}
	if err := wire.Decode(raw, &list, "input"); err != nil {
		return nil, err
	}
	items := make([]Item, len(list))
	for i, r := range list {
		if err := wire.Decode(r, &items[i], fmt.Sprintf("input[%d]", i)); err != nil {
			return nil, err
		}
		items[i].Raw = r
		if items[i].Type == "" {
			items[i].Type = map[bool]string{true: "message", false: "item_reference"}[items[i].Role != ""]
		}
	}
	return items, nil
}

func newMessage(role schemas.Role, content json.RawMessage) Item {
	it := Item{Type: "message", Role: string(role), Content: content}
	it.Raw, _ = json.Marshal(map[string]any{"type": it.Type, "role": it.Role, "content": content}) // content is JSON already
	return it
}

// decisions returns the decisions and answers of a person at the end of the items. The items before
// them are not needed, since the paused turn has them.
func decisions(items []Item) ([]Item, error) {
	last := len(items)
	for last > 0 && (items[last-1].Type == "mcp_approval_response" || items[last-1].Type == answerType) {
		last--
	}
	for i, it := range items[last:] {
		if it.Type == answerType {
			if it.QuestionID == "" {
				return nil, wire.Invalid(fmt.Sprintf("input[%d]", last+i), "a molar:answer needs question_id and action")
			}
			continue
		}
		if it.ApprovalRequestID == "" || it.Approve == nil {
			return nil, wire.Invalid(fmt.Sprintf("input[%d]", last+i), "an mcp_approval_response needs approval_request_id and approve")
		}
	}
	return items[last:], nil
}

// identified returns the items as JSON, each with an id, as they are listed.
func identified(items []Item, unique string) []json.RawMessage {
	list := make([]json.RawMessage, len(items))
	for i, it := range items {
		list[i] = it.Raw
		if it.ID != "" {
			continue
		}
		var fields map[string]json.RawMessage
		if json.Unmarshal(it.Raw, &fields) != nil {
			continue
		}
		fields["id"], _ = json.Marshal(fmt.Sprintf("in_%s_%d", unique, i)) // a string
		fields["type"], _ = json.Marshal(it.Type)
		if raw, err := json.Marshal(fields); err == nil {
			list[i] = raw
		}
	}
	return list
}
