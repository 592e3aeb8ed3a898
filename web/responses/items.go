package responses

import (
	"encoding/json"
	"fmt"

	"molar/schemas"
	"molar/schemas/responses"
	"molar/web/wire"
)

// answerType is the type of the item that answers a question of a server.
const answerType = "molar:answer"

// read reads an input: a text, or a list of items.
func read(raw json.RawMessage) ([]responses.Item, error) {
	if !wire.IsSet(raw) {
		return nil, nil
	}
	if raw[0] == '"' {
		content, err := json.Marshal([]map[string]json.RawMessage{{"type": json.RawMessage(`"input_text"`), "text": raw}})
		if err != nil {
			return nil, err
		}
		return []responses.Item{newMessage(schemas.RoleUser, content)}, nil
	}
	if raw[0] != '[' {
		return nil, wire.Invalid("input", "input must be a text or a list of items")
	}
	return readList(raw, "input")
}

// readList reads a list of items. at is its path in errors.
func readList(raw json.RawMessage, at string) ([]responses.Item, error) {
	var list []json.RawMessage
	if !wire.IsSet(raw) {
		return nil, nil
	}
	if raw[0] != '[' {
		return nil, wire.Invalid(at, "%s must be a list of items", at)
	}
	if err := wire.Decode(raw, &list, at); err != nil {
		return nil, err
	}
	items := make([]responses.Item, len(list))
	for i, r := range list {
		if err := wire.Decode(r, &items[i], fmt.Sprintf("%s[%d]", at, i)); err != nil {
			return nil, err
		}
		items[i].Raw = r
		if items[i].Type == "" {
			items[i].Type = map[bool]string{true: "message", false: "item_reference"}[items[i].Role != ""]
		}
	}
	return items, nil
}

func newMessage(role schemas.Role, content json.RawMessage) responses.Item {
	it := responses.Item{Type: "message", Role: string(role), Content: content}
	it.Raw, _ = json.Marshal(map[string]any{"type": it.Type, "role": it.Role, "content": content}) // content is JSON already
	return it
}

// decisions returns the decisions and answers of a person at the end of the items. The items before
// them are not needed, since the paused turn has them.
func decisions(items []responses.Item) ([]responses.Item, error) {
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
func identified(items []responses.Item, unique string) []json.RawMessage {
	list := make([]json.RawMessage, len(items))
	for i, it := range items {
		list[i] = identify(it, fmt.Sprintf("in_%s_%d", unique, i))
	}
	return list
}

// identify returns an item as it is listed: with an id, its own or this one, a type and a status,
// and with the text of a message as a part.
func identify(it responses.Item, id string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(it.Raw, &fields) != nil {
		return it.Raw
	}
	if it.ID == "" {
		fields["id"], _ = json.Marshal(id) // a string
	}
	fields["type"], _ = json.Marshal(it.Type)
	if it.Type == "message" && len(it.Content) > 0 && it.Content[0] == '"' {
		part := map[string]any{"type": "input_text", "text": it.Content}
		if it.Role == string(schemas.RoleAssistant) {
			part = map[string]any{"type": "output_text", "text": it.Content, "annotations": []any{}, "logprobs": []any{}}
		}
		fields["content"], _ = json.Marshal([]any{part}) // it.Content is JSON already
	}
	switch it.Type {
	case "message", "function_call", "function_call_output":
		if !wire.IsSet(fields["status"]) {
			fields["status"] = json.RawMessage(`"completed"`)
		}
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return it.Raw
	}
	return raw
}
