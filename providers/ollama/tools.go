package ollama

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"

	"molar/schemas"
	"molar/schemas/lower"
)

// maxTools bounds the cache of lowered tools; clients may bring tools of their own.
const maxTools = 4096

// A toolSet is the tools of one request, lowered.
type toolSet []*wireTool

// find returns the offered tool of that name, or nil.
func (s toolSet) find(name string) *wireTool {
	for _, t := range s {
		if t.name == name {
			return t
		}
	}
	return nil
}

// wrapped says whether the arguments of a tool are offered as a property.
func (s toolSet) wrapped(name string) bool {
	t := s.find(name)
	return t != nil && t.wrapped
}

// wire returns the tools as they go over the wire.
func (s toolSet) wire() []json.RawMessage {
	list := make([]json.RawMessage, len(s))
	for i, t := range s {
		list[i] = t.wire
	}
	return list
}

// toolCache holds tools as they go over the wire, lowered at their first offer.
type toolCache struct {
	mu    sync.Mutex
	tools map[string]*wireTool
}

// A wireTool is a lowered tool, or the reason why it has none.
type wireTool struct {
	name        string
	schema      json.RawMessage // the original
	description string          // the original

	params  json.RawMessage // the lowered schema
	says    string          // the description with what the schema could not say
	wire    json.RawMessage
	wrapped bool
	err     error
}

// lower returns the tools that can be offered. Others are left out, and the
// reason is logged the first time.
func (c *toolCache) lower(tools []schemas.ToolInfo, log *slog.Logger) toolSet {
	c.mu.Lock()
	defer c.mu.Unlock()
	set := make(toolSet, 0, len(tools))
	for _, info := range tools {
		t := c.tools[info.Name]
		if t == nil || t.description != info.Description || !bytes.Equal(t.schema, info.InputSchema) {
			t = c.add(info, log)
		}
		if t.err == nil {
			set = append(set, t)
		}
	}
	return set
}

func (c *toolCache) add(info schemas.ToolInfo, log *slog.Logger) *wireTool {
	t := lowerTool(info)
	if t.err != nil {
		log.Warn("tool is not offered to ollama", "tool", info.Name, "reason", t.err)
	}
	if c.tools == nil || len(c.tools) >= maxTools {
		c.tools = map[string]*wireTool{}
	}
	c.tools[info.Name] = t
	return t
}

func lowerTool(info schemas.ToolInfo) *wireTool {
	t := &wireTool{name: info.Name, schema: info.InputSchema, description: info.Description}
	res, err := lower.ForOllama(info.InputSchema)
	if err != nil {
		t.err = err
		return t
	}
	description := info.Description
	if description == "" {
		description = info.Title
	}
	if res.Hint != "" && !strings.Contains(description, res.Hint) {
		description = strings.TrimSpace(description + "\n" + res.Hint)
	}
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	t.params, t.says, t.wrapped = res.Schema, description, res.Wrapped
	t.wire, t.err = json.Marshal(struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}{"function", function{info.Name, description, res.Schema}})
	return t
}
