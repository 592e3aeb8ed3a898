package mcpclients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"molar/internal/text"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// readResult reads the result of tools/call. It decodes the raw JSON itself, so that large integers
// stay exact and an item of an unknown kind affects no other.
func readResult(raw json.RawMessage, maxText int) (schemas.ToolResult, error) {
	var wire struct {
		Content    json.RawMessage `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    json.RawMessage `json:"isError"`
	}
	if err := json.Unmarshal(raw, &wire); err != nil {
		return schemas.ToolResult{}, fmt.Errorf("answer to tools/call: %w", err)
	}
	r := read(wire.Content)
	text := r.text()
	result := schemas.ToolResult{IsError: string(wire.IsError) == "true", Links: r.links, Resources: r.resources, Media: r.media}
	if !transport.IsNull(wire.Structured) {
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

// textOutput returns the text itself if it is a JSON object or array, else the text as a JSON
// string of at most maxText bytes of text.
func textOutput(text string, maxText int) json.RawMessage {
	trimmed := strings.TrimSpace(text)
	if strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		if out := jsonOutput(json.RawMessage(trimmed), maxText); out != nil {
			return out
		}
	}
	return quoted(withoutDataURLs(text), maxText)
}

// jsonOutput returns strict JSON, compacted and without base64 bytes, or nil if raw is not strict
// JSON. JSON that is too long becomes a string, since it would be invalid once cut.
func jsonOutput(raw json.RawMessage, maxText int) json.RawMessage {
	if schemas.CheckJSON(raw) != nil {
		return nil
	}
	var buf bytes.Buffer
	if json.Compact(&buf, raw) != nil {
		return nil
	}
	out := withoutBytes(buf.Bytes())
	if len(out) > maxText {
		return quoted(string(out), maxText)
	}
	return out
}

// quoted returns a text as a JSON string of at most maxText bytes of text.
func quoted(content string, maxText int) json.RawMessage {
	if len(content) > maxText {
		keep := text.Border(content, maxText)
		content = fmt.Sprintf("%s\n[%d of %d bytes were left out]", content[:keep], len(content)-keep, len(content))
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // the output is read by a model, never by a browser
	if enc.Encode(content) != nil {
		return json.RawMessage(`""`)
	}
	return bytes.TrimSpace(buf.Bytes())
}

// A contentItem holds the fields of every kind of content.
type contentItem struct {
	Type     string   `json:"type"`
	Text     string   `json:"text"`
	Data     string   `json:"data"`
	MIMEType string   `json:"mimeType"`
	URI      string   `json:"uri"`
	Name     string   `json:"name"`
	Title    string   `json:"title"`
	Resource resource `json:"resource"`
}

// readContent returns the text of a content list and the links that a person can open.
func readContent(raw json.RawMessage) (string, []schemas.Source) {
	r := read(raw)
	return r.text(), r.links
}

// maxResources bounds the resource links of one result.
const maxResources = 100

// A reading collects the contents of a content list.
type reading struct {
	texts []string
	// links are for people, resources can be read from the server.
	links     []schemas.Source
	resources []schemas.ResourceLink
	media     []schemas.Part
}

func (r *reading) text() string { return strings.Join(r.texts, "\n") }

// read reads the content list. Some servers send one string, or one item without a list.
func read(raw json.RawMessage) *reading {
	r := &reading{}
	raw = bytes.TrimSpace(raw)
	if transport.IsNull(raw) {
		return r
	}
	var items []json.RawMessage
	var plain string
	switch {
	case raw[0] == '"' && json.Unmarshal(raw, &plain) == nil:
		r.texts = []string{plain}
		return r
	case json.Unmarshal(raw, &items) != nil:
		items = []json.RawMessage{raw}
	}
	for _, rawItem := range items {
		if transport.IsNull(rawItem) {
			continue
		}
		var item contentItem
		if json.Unmarshal(rawItem, &item) != nil {
			r.texts = append(r.texts, "[content that cannot be read was left out]")
			continue
		}
		r.add(&item)
	}
	return r
}

// add reads one item.
func (r *reading) add(c *contentItem) {
	content := ""
	switch c.Type {
	case "text":
		content = c.Text
	case "image", "audio":
		content = r.bytes(c.Type, "", c.MIMEType, c.Data)
	case "resource":
		content, _ = r.embedded(&c.Resource)
	case "resource_link":
		content = strings.TrimSpace(c.label() + " " + c.URI)
	default:
		content = fmt.Sprintf("[content of the unknown kind %q was left out]", text.Shorten(text.Visible(c.Type), 40))
	}
	r.texts = append(r.texts, content)
	if link, ok := c.link(); ok {
		r.links = append(r.links, link)
	}
	if c.Type == "resource_link" && c.URI != "" && len(r.resources) < maxResources {
		r.resources = append(r.resources, schemas.ResourceLink{URI: c.URI, Title: text.Shorten(text.Visible(c.label()), 200)})
	}
}

// embedded reads an embedded resource. It returns its text or note, and whether the resource is
// text or media, so more than the note.
func (r *reading) embedded(res *resource) (content string, ok bool) {
	if text, ok := res.text(); ok {
		return text, true
	}
	uri, before := text.Shorten(text.Visible(res.URI), 200), len(r.media)
	content = r.bytes("resource "+uri, uri, res.MIMEType, res.Blob)
	return content, len(r.media) > before
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
	title := text.Visible(c.label())
	if title == "" {
		title = u.Host
	}
	return schemas.Source{Title: text.Shorten(title, 200), URL: c.URI}, true
}
