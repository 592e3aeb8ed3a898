package mcpclients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"molar/internal/text"
	"molar/mcpclients/transport"
	"molar/schemas"
)

const (
	// maxDescription bounds a description against floods, in bytes. What a model is shown of it depends on
	// the room for tools.
	maxDescription = 64 << 10
	// MaxTools bounds the tools of one server, maxPages the pages of its list.
	MaxTools = 2000
	maxPages = 500
	// namedLeftOut bounds how many left-out tools are named.
	namedLeftOut = 10
	// maxSkipped bounds the reasons kept for one server.
	maxSkipped = 100
)

// A toolSet gathers the tools of one server as its pages come in.
type toolSet struct {
	server  string
	tools   []schemas.ToolInfo
	skipped []string
	seen    map[string]bool
	left    int      // tools above MaxTools
	named   []string // the first of them
	dropped int      // reasons above maxSkipped
}

// add keeps a tool, or the reason why it is skipped.
func (s *toolSet) add(raw json.RawMessage) {
	info, err := decodeTool(raw)
	switch {
	case err != nil:
		s.skip(fmt.Sprintf("%s: %v", toolLabel(raw), err))
	case s.seen[info.ToolName]:
		s.skip(info.ToolName + ": the server lists this name twice; the first is kept")
	case len(s.tools) >= MaxTools:
		s.left++
		if len(s.named) < namedLeftOut {
			s.named = append(s.named, info.ToolName)
		}
	default:
		s.seen[info.ToolName] = true
		if n := len(info.Description); n > maxDescription {
			info.Description = text.Shorten(info.Description, maxDescription)
			s.skip(fmt.Sprintf("%s: only the first %d of the %d bytes of its description are kept", info.ToolName, maxDescription, n))
		}
		info.Server = s.server
		s.tools = append(s.tools, info)
	}
}

func (s *toolSet) skip(reason string) {
	if len(s.skipped) >= maxSkipped {
		s.dropped++
		return
	}
	s.skipped = append(s.skipped, reason)
}

// reasons returns what was left out and why.
func (s *toolSet) reasons() []string {
	if s.left > 0 {
		names := strings.Join(s.named, ", ")
		if s.left > len(s.named) {
			names += ", …"
		}
		s.skipped = append(s.skipped, fmt.Sprintf("%d tools above the limit of %d were left out (%s): choose with includeTools", s.left, MaxTools, names))
	}
	if s.dropped > 0 {
		s.skipped = append(s.skipped, fmt.Sprintf("%d more tools were skipped", s.dropped))
	}
	return s.skipped
}

// toolLabel names a tool that may be malformed.
func toolLabel(raw json.RawMessage) string {
	var named struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(raw, &named) != nil && named.Name == "" {
		return "a tool without a usable name"
	}
	if named.Name == "" {
		return "a tool without a name"
	}
	return text.Shorten(text.Visible(named.Name), 80)
}

// decodeTool reads one entry of a tool list. It keeps schemas raw, since decoding would lose
// keywords.
func decodeTool(raw json.RawMessage) (schemas.ToolInfo, error) {
	var tool struct {
		Name         string                  `json:"name"`
		Title        string                  `json:"title"`
		Description  string                  `json:"description"`
		InputSchema  json.RawMessage         `json:"inputSchema"`
		OutputSchema json.RawMessage         `json:"outputSchema"`
		Annotations  schemas.ToolAnnotations `json:"annotations"`
		Execution    struct {
			TaskSupport string `json:"taskSupport"`
		} `json:"execution"`
	}
	if err := schemas.Decode(raw, &tool); err != nil {
		return schemas.ToolInfo{}, err
	}
	if err := transport.ValidateName(tool.Name); err != nil {
		return schemas.ToolInfo{}, fmt.Errorf("its name %w", err)
	}
	if tool.Execution.TaskSupport == "required" {
		return schemas.ToolInfo{}, errors.New("it runs only as a task, which needs another kind of call")
	}
	input, err := schemaObject("inputSchema", tool.InputSchema)
	if err != nil {
		return schemas.ToolInfo{}, err
	}
	if input == nil {
		input = json.RawMessage(`{"type":"object"}`)
	}
	if !takesObject(input) {
		return schemas.ToolInfo{}, errors.New("its inputSchema takes no object, which the arguments of every call are")
	}
	output, err := schemaObject("outputSchema", tool.OutputSchema)
	if err != nil {
		return schemas.ToolInfo{}, err
	}
	return schemas.ToolInfo{
		ToolName: tool.Name, Title: text.Shorten(text.Visible(tool.Title), 200),
		Description: text.Visible(tool.Description),
		InputSchema: input, OutputSchema: output, Annotations: tool.Annotations,
	}, nil
}

// schemaObject returns the schema, nil if it is absent.
func schemaObject(field string, raw json.RawMessage) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if transport.IsNull(raw) {
		return nil, nil
	}
	if raw[0] != '{' {
		return nil, fmt.Errorf("its %s is not an object", field)
	}
	return raw, nil
}

// takesObject reports whether the types at the root of a schema, if it names known ones alone, include an
// object.
func takesObject(schema json.RawMessage) bool {
	var root struct {
		Type any `json:"type"`
	}
	if json.Unmarshal(schema, &root) != nil {
		return true
	}
	types, isList := root.Type.([]any)
	if !isList {
		types = []any{root.Type}
	}
	return slices.ContainsFunc(types, func(name any) bool {
		return !slices.Contains([]any{"array", "string", "number", "integer", "boolean", "null"}, name)
	}) || len(types) == 0
}

// A toolPage is one page of tools/list.
type toolPage struct {
	Tools      []json.RawMessage `json:"tools"`
	NextCursor string            `json:"nextCursor"`
}

// list reads the whole list, page by page. It skips a malformed tool, with the reason, and keeps
// the others.
func list(ctx context.Context, conn transport.Conn, server string) (tools []schemas.ToolInfo, skipped []string, err error) {
	set := toolSet{server: server, seen: map[string]bool{}}
	seen := map[string]bool{}
	cursor := ""
	for range maxPages {
		page, err := requestPage(ctx, conn, cursor)
		if err != nil {
			return nil, nil, err
		}
		for _, raw := range page.Tools {
			set.add(raw)
		}
		cursor = page.NextCursor
		if cursor == "" {
			return set.tools, set.reasons(), nil
		}
		if seen[cursor] {
			return nil, nil, fmt.Errorf("tools/list repeats the page cursor %q without end", text.Shorten(cursor, 60))
		}
		seen[cursor] = true
	}
	set.skipped = append(set.skipped, fmt.Sprintf("the tool list goes on after %d pages; the rest was not read", maxPages))
	return set.tools, set.reasons(), nil
}

func requestPage(ctx context.Context, conn transport.Conn, cursor string) (toolPage, error) {
	params := json.RawMessage(`{}`)
	if cursor != "" {
		var err error
		if params, err = json.Marshal(map[string]string{"cursor": cursor}); err != nil {
			return toolPage{}, err
		}
	}
	raw, err := conn.Request(ctx, transport.MethodListTools, params)
	if err != nil {
		return toolPage{}, err
	}
	var page toolPage
	if err := json.Unmarshal(raw, &page); err != nil {
		return toolPage{}, fmt.Errorf("answer to tools/list: %w", err)
	}
	return page, nil
}
