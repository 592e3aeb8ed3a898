package responses

import (
	"encoding/json"

	"molar/schemas"
	"molar/schemas/responses"
)

// conversationItems are the items of a conversation, with the stored files of its questions.
type conversationItems struct {
	All []json.RawMessage
	// Data reads a file.
	Data func(schemas.File) ([]byte, error)
	// Last is the newest turn.
	Last lastTurn
	// files are the files of the added messages, by the id of the item.
	files map[string][]schemas.File
}

// A lastTurn is the newest turn of a conversation.
type lastTurn struct {
	// ID and Parent are its id and that of the turn before it.
	ID, Parent string
	Imported   bool
	// First is the index of its first item.
	First int
}

// Add adds a stored message as an item. files are all files of the conversation.
func (k *conversationItems) Add(id string, m schemas.StoredMessage, files []schemas.File) error {
	o := responses.Message{Type: "message", ID: id, Status: responses.StatusCompleted, Role: string(m.Role)}
	if m.Role == schemas.RoleAssistant {
		part := responses.NewText(m.Content)
		part.Annotations = citations(m.Content, m.Sources)
		o.Phase, o.Content = "final_answer", []any{part}
	} else {
		o.Content = []any{responses.TextPart{Type: "input_text", Text: m.Content}}
		for _, f := range files {
			if f.Seq == m.Seq {
				if k.files == nil {
					k.files = map[string][]schemas.File{}
				}
				k.files[id] = append(k.files[id], f)
			}
		}
	}
	raw, err := json.Marshal(o)
	k.All = append(k.All, raw)
	return err
}

// Whole returns an item with the content of its files, in the form in which a request sends them.
func (k *conversationItems) Whole(raw json.RawMessage) (json.RawMessage, error) {
	files := k.files[idOf(raw)]
	if len(files) == 0 {
		return raw, nil
	}
	var message map[string]any
	if err := json.Unmarshal(raw, &message); err != nil {
		return nil, err
	}
	content, _ := message["content"].([]any)
	for _, f := range files {
		data, err := k.Data(f)
		if err != nil {
			return nil, err
		}
		file := schemas.FilePart(f.Name, f.Media, data)
		part := map[string]string{"type": "input_file", "filename": f.Name, "file_data": file.Text}
		if file.Kind == schemas.PartImage {
			part = map[string]string{"type": "input_image", "detail": "auto", "image_url": file.Text}
		}
		content = append(content, part)
	}
	message["content"] = content
	return json.Marshal(message)
}
