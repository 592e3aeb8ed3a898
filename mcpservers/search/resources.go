package search

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"molar/mcpservers"
	"molar/mcpservers/knowledge"
	"molar/schemas"
)

const (
	// statusURI is the resource of what all folders have read, as a list of [schemas.KnowledgeStatus].
	statusURI = "knowledge://status"
	// documentURI is the template of a document as a [schemas.Document]. from is the number of the part
	// that comes first.
	documentURI = "knowledge://{name}/{+file}{?from}"
	mimeJSON    = "application/json"
	// documentBytes is how much text of a document one answer holds; its field next says where to read on.
	documentBytes = 1 << 20
)

// addResources announces the documents; [tools.readResource] reads them. The status is for hosts, and is
// not listed.
func (t *tools) addResources(s *server.MCPServer) {
	s.AddResourceTemplate(mcp.NewResourceTemplate(documentURI, "Document",
		mcp.WithTemplateDescription("The text of a document of a folder of knowledge, in parts with their places"), mcp.WithTemplateMIMEType(mimeJSON)), nil)
}

// readResource answers resources/read.
func (t *tools) readResource(ctx context.Context, params json.RawMessage) (any, error) {
	var p struct {
		URI string `json:"uri"`
	}
	if err := json.Unmarshal(params, &p); err != nil || p.URI == "" {
		return nil, mcpservers.InvalidParams("uri is missing")
	}
	content, err := t.resource(ctx, p.URI)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &mcpservers.RPCError{Code: mcpservers.CodeResourceNotFound, Message: fmt.Sprintf("Resource not found: %s", p.URI)}
	}
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	return mcp.ReadResourceResult{Contents: []mcp.ResourceContents{mcp.TextResourceContents{URI: p.URI, MIMEType: mimeJSON, Text: string(text)}}}, nil
}

// resource returns what a URI names, or [fs.ErrNotExist].
func (t *tools) resource(ctx context.Context, uri string) (any, error) {
	if uri == statusURI {
		all := make([]schemas.KnowledgeStatus, len(t.folders))
		for i, f := range t.folders {
			all[i] = f.Status()
		}
		return all, nil
	}
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "knowledge" {
		return nil, fs.ErrNotExist
	}
	i := slices.IndexFunc(t.folders, func(f *knowledge.Folder) bool { return f.Name() == u.Host })
	if i < 0 {
		return nil, fs.ErrNotExist
	}
	from := 0
	if text := u.Query().Get("from"); text != "" {
		if from, err = strconv.Atoi(text); err != nil || from < 0 {
			return nil, mcpservers.InvalidParams("from is %q: want the number of a part, such as the next of an answer", text)
		}
	}
	d, err := t.folders[i].Document(ctx, strings.TrimPrefix(u.Path, "/"))
	if err != nil {
		return nil, err
	}
	return piece(d, from), nil
}

// piece returns a document with as many of its parts, from one on, as one answer may hold.
func piece(d schemas.Document, from int) schemas.Document {
	from = min(from, len(d.Parts))
	to, size := from, 0
	for to < len(d.Parts) && (to == from || size+len(d.Parts[to].Text) <= documentBytes) {
		size += len(d.Parts[to].Text)
		to++
	}
	if to < len(d.Parts) {
		d.Next = to
	}
	d.Parts = d.Parts[from:to]
	return d
}
