package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"molar/internal/store"
	"molar/mcpservers"
	"molar/schemas"
)

const (
	// uriPrefix precedes a conversation's id, escaped as in a URL path.
	uriPrefix = "memory://conversation/"
	mimeJSON  = "application/json"
	// resourcePage bounds the resources of one answer.
	resourcePage = 1000
)

// resource is a conversation as an MCP resource.
type resource struct {
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Description string `json:"description"`
	MIMEType    string `json:"mimeType"`
}

type resourcesParams struct {
	Owner  string `json:"owner"`
	Cursor string `json:"cursor"`
}

func (m *memory) listResources(ctx context.Context, p resourcesParams) (any, error) {
	page, err := m.store.List(ctx, store.ListRequest{Owner: p.Owner, Limit: resourcePage, After: p.Cursor})
	if err != nil {
		return nil, err
	}
	resources := make([]resource, len(page.Conversations))
	for i, c := range page.Conversations {
		resources[i] = resource{
			URI:         uriPrefix + url.PathEscape(c.ID),
			Name:        "Conversation " + c.ID,
			Description: "Conversation history for " + c.ID,
			MIMEType:    mimeJSON,
		}
	}
	return struct {
		Resources  []resource `json:"resources"`
		NextCursor string     `json:"nextCursor,omitempty"`
	}{resources, page.Next}, nil
}

// template describes the URIs of all conversations.
type template struct {
	URITemplate string `json:"uriTemplate"`
	Name        string `json:"name"`
	Description string `json:"description"`
	MIMEType    string `json:"mimeType"`
}

func (m *memory) listTemplates(context.Context, struct{}) (any, error) {
	return struct {
		ResourceTemplates []template `json:"resourceTemplates"`
	}{[]template{{
		URITemplate: uriPrefix + "{id}",
		Name:        "Conversation",
		Description: "History and summary of a conversation",
		MIMEType:    mimeJSON,
	}}}, nil
}

type readParams struct {
	URI   string `json:"uri"`
	Owner string `json:"owner"`
}

// contents is the answer to reading a resource.
type contents struct {
	URI      string `json:"uri"`
	MIMEType string `json:"mimeType"`
	Text     string `json:"text"`
}

func (m *memory) readResource(ctx context.Context, p readParams) (any, error) {
	if p.URI == "" {
		return nil, mcpservers.InvalidParams("uri is missing")
	}
	missing := &mcpservers.RPCError{
		Code: mcpservers.CodeResourceNotFound, Message: fmt.Sprintf("Resource not found: %s", p.URI),
	}
	escaped, ok := strings.CutPrefix(p.URI, uriPrefix)
	id, err := url.PathUnescape(escaped)
	if !ok || err != nil || id == "" {
		return nil, missing
	}
	_, known, err := m.store.Conversation(ctx, p.Owner, id)
	if err != nil {
		return nil, err
	}
	if !known {
		return nil, missing
	}
	text, err := m.history(ctx, p.Owner, id)
	return struct {
		Contents []contents `json:"contents"`
	}{[]contents{{URI: p.URI, MIMEType: mimeJSON, Text: text}}}, err
}

// history returns the text of a conversation resource, with all its branches: JSON in JSON.
func (m *memory) history(ctx context.Context, owner, id string) (string, error) {
	messages, _, err := m.store.Messages(ctx, owner, id, store.MessageRange{Branch: store.Branch{Tree: true}})
	if err != nil {
		return "", err
	}
	summary, err := m.store.Summary(ctx, owner, id)
	if err != nil {
		return "", err
	}
	type line struct {
		Role      schemas.Role `json:"role"`
		Content   string       `json:"content"`
		Timestamp time.Time    `json:"timestamp"`
	}
	var doc struct {
		Messages []line `json:"messages"`
		Summary  struct {
			Text string `json:"text"`
			// UpdatedAt is null if there was never a summary.
			UpdatedAt *time.Time `json:"updated_at"`
		} `json:"summary"`
	}
	doc.Messages = make([]line, 0, len(messages))
	for _, s := range messages {
		if s.Status != schemas.StatusRunning {
			doc.Messages = append(doc.Messages, line{Role: s.Role, Content: s.Content, Timestamp: s.Timestamp})
		}
	}
	doc.Summary.Text = summary.Text
	if !summary.UpdatedAt.IsZero() {
		doc.Summary.UpdatedAt = &summary.UpdatedAt
	}
	text, err := json.Marshal(doc)
	return string(text), err
}
