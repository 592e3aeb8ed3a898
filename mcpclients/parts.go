package mcpclients

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"molar/internal/text"
	"molar/schemas"
)

// messages reads the answer to prompts/get, at most maxText bytes of it. The messages are of role
// user or assistant and hold text only; any other role becomes user.
func messages(raw json.RawMessage, maxText int) ([]schemas.Message, error) {
	var answer struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, err
	}
	var messages []schemas.Message
	for _, wire := range answer.Messages {
		content, _ := readContent(wire.Content)
		content = text.Shorten(strings.ToValidUTF8(content, "\uFFFD"), maxText)
		maxText -= len(content)
		role := schemas.RoleUser
		if wire.Role == string(schemas.RoleAssistant) {
			role = schemas.RoleAssistant
		}
		if content != "" {
			messages = append(messages, schemas.Text(role, content))
		}
	}
	return messages, nil
}

// readResource reads the answer to resources/read: its text, cut at maxText bytes, and the files that
// some models can be shown. It is an error if there is neither.
func readResource(raw json.RawMessage, maxText int) (string, []schemas.Part, error) {
	var answer struct {
		Contents []resource `json:"contents"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return "", nil, err
	}
	var r reading
	readable, kinds := false, ""
	for _, c := range answer.Contents {
		content, ok := r.embedded(&c)
		if r.texts, readable = append(r.texts, content), readable || ok; !ok {
			kinds = " but " + text.Visible(c.MIMEType)
		}
	}
	if !readable {
		return "", nil, fmt.Errorf("holds no text%s; choose another", kinds)
	}
	return text.Shorten(strings.ToValidUTF8(r.text(), "\uFFFD"), maxText), r.media, nil
}

// A resource is the content of one resource.
type resource struct {
	URI      string  `json:"uri"`
	MIMEType string  `json:"mimeType"`
	Text     *string `json:"text"`
	Blob     string  `json:"blob"`
}

// text returns the text of a resource, including one sent as bytes.
func (r *resource) text() (string, bool) {
	if r.Text != nil {
		return *r.Text, true
	}
	if !strings.HasPrefix(r.MIMEType, "text/") && !strings.HasPrefix(r.MIMEType, "application/json") {
		return "", false
	}
	data, err := base64.StdEncoding.DecodeString(r.Blob)
	return string(data), err == nil && utf8.Valid(data)
}
