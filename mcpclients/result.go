package mcpclients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"molar/schemas"
)

// decodeResult reads the result of tools/call. It decodes the raw JSON itself, so
// that large integers stay exact and an unknown kind of content costs only itself.
func decodeResult(raw json.RawMessage, maxText int) (schemas.ToolResult, error) {
	var wire struct {
		Content    json.RawMessage `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    json.RawMessage `json:"isError"`
	}
	if err := json.Unmarshal(raw, &wire); err != nil {
		return schemas.ToolResult{}, fmt.Errorf("answer to tools/call: %w", err)
	}
	text, links := decodeContent(wire.Content)
	result := schemas.ToolResult{IsError: string(wire.IsError) == "true", Links: links}
	if !isNull(wire.Structured) {
		result.Output = jsonOutput(wire.Structured, maxText)
		if text == "" && result.Output == nil {
			text = strings.ToValidUTF8(string(wire.Structured), "\uFFFD")
		}
	}
	if result.Output == nil {
		result.Output = textOutput(text, maxText)
	}
	return result, nil
}

// textOutput is the text itself when it is a JSON object or array, else the text
// as a JSON string of at most maxText bytes of text.
func textOutput(text string, maxText int) json.RawMessage {
	trimmed := strings.TrimSpace(text)
	if strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		if out := jsonOutput(json.RawMessage(trimmed), maxText); out != nil {
			return out
		}
	}
	return stringOutput(text, maxText)
}

// jsonOutput returns strict JSON compacted, nil for what is no strict JSON. JSON
// that is too long becomes a string, as it would not be JSON once cut.
func jsonOutput(raw json.RawMessage, maxText int) json.RawMessage {
	if schemas.CheckJSON(raw) != nil {
		return nil
	}
	var buf bytes.Buffer
	if json.Compact(&buf, raw) != nil {
		return nil
	}
	if buf.Len() > maxText {
		return stringOutput(buf.String(), maxText)
	}
	return buf.Bytes()
}

func stringOutput(text string, maxText int) json.RawMessage {
	if len(text) > maxText {
		keep := runeBorder(text, maxText)
		text = fmt.Sprintf("%s\n[%d of %d bytes were left out]", text[:keep], len(text)-keep, len(text))
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // the output is read by a model, never by a browser
	if enc.Encode(text) != nil {
		return json.RawMessage(`""`)
	}
	return bytes.TrimSpace(buf.Bytes())
}

// A contentItem holds the fields of every kind of content.
type contentItem struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Data     string          `json:"data"`
	MIMEType string          `json:"mimeType"`
	URI      string          `json:"uri"`
	Name     string          `json:"name"`
	Title    string          `json:"title"`
	Resource json.RawMessage `json:"resource"`
}

// decodeContent turns the content list into text and links. Some servers send one
// string, or one item without a list.
func decodeContent(raw json.RawMessage) (string, []schemas.Source) {
	raw = bytes.TrimSpace(raw)
	if isNull(raw) {
		return "", nil
	}
	var items []json.RawMessage
	var plain string
	switch {
	case json.Unmarshal(raw, &plain) == nil:
		return plain, nil
	case json.Unmarshal(raw, &items) != nil:
		items = []json.RawMessage{raw}
	}
	var texts []string
	var links []schemas.Source
	for _, rawItem := range items {
		if isNull(rawItem) {
			continue
		}
		var item contentItem
		if json.Unmarshal(rawItem, &item) != nil {
			texts = append(texts, "[content that cannot be read was left out]")
			continue
		}
		texts = append(texts, item.describe())
		if link, ok := item.link(); ok {
			links = append(links, link)
		}
	}
	return strings.Join(texts, "\n"), links
}

// describe returns what the model reads of an item.
func (c *contentItem) describe() string {
	switch c.Type {
	case "text":
		return c.Text
	case "image", "audio":
		return mediaNote(c.Type, c.MIMEType, c.Data)
	case "resource":
		return describeResource(c.Resource)
	case "resource_link":
		return strings.TrimSpace(c.label() + " " + c.URI)
	default:
		return fmt.Sprintf("[content of the unknown kind %q was left out]", cutText(visible(c.Type), 40))
	}
}

func (c *contentItem) label() string {
	if c.Title != "" {
		return c.Title
	}
	return c.Name
}

// link returns the address of a resource link that a person can open.
func (c *contentItem) link() (schemas.Source, bool) {
	if c.Type != "resource_link" {
		return schemas.Source{}, false
	}
	u, err := url.Parse(c.URI)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return schemas.Source{}, false
	}
	title := visible(c.label())
	if title == "" {
		title = u.Host
	}
	return schemas.Source{Title: cutText(title, 200), URL: c.URI}, true
}

func describeResource(raw json.RawMessage) string {
	var r struct {
		URI      string  `json:"uri"`
		MIMEType string  `json:"mimeType"`
		Text     *string `json:"text"`
		Blob     string  `json:"blob"`
	}
	if json.Unmarshal(raw, &r) != nil {
		return "[a resource that cannot be read was left out]"
	}
	if r.Text != nil {
		return *r.Text
	}
	return mediaNote("resource "+cutText(visible(r.URI), 200), r.MIMEType, r.Blob)
}

// mediaNote stands for bytes that a model cannot read as text.
func mediaNote(kind, mimeType, base64 string) string {
	if mimeType == "" {
		mimeType = "unknown type"
	}
	return fmt.Sprintf("[%s, %s, %d bytes, left out]", kind, cutText(visible(mimeType), 80), len(base64)/4*3)
}
