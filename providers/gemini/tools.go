package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"

	"molar/schemas"
	"molar/schemas/lower"
)

const (
	// maxTools bounds the cache of lowered tools; clients may bring tools of their own.
	maxTools = 4096
	// maxToolName is the length of a function's name that all models take.
	maxToolName = 64
)

// A toolSet is the tools of one request, lowered.
type toolSet struct {
	wire  []json.RawMessage
	names []string
	// offered holds every name; it is true for tools whose arguments are offered as
	// a property.
	offered map[string]bool
}

// called is the offered name that the model meant: it sometimes writes the name
// of its own namespace before it.
func (s toolSet) called(name string) string {
	if _, known := s.offered[name]; known {
		return name
	}
	for _, prefix := range []string{"default_api.", "default_api:"} {
		if rest, found := strings.CutPrefix(name, prefix); found {
			if _, known := s.offered[rest]; known {
				return rest
			}
		}
	}
	return name
}

// toolCache holds tools as they go over the wire, lowered at their first offer.
type toolCache struct {
	mu    sync.Mutex
	tools map[string]*wireTool
}

// A wireTool is a lowered tool, or the reason why it has none.
type wireTool struct {
	schema      json.RawMessage
	description string
	wire        json.RawMessage
	wrapped     bool
	err         error
}

// lower returns the tools that can be offered. One that cannot is left out, since
// it would sink the whole request; the reason is logged the first time.
func (c *toolCache) lower(tools []schemas.ToolInfo, log *slog.Logger) toolSet {
	if len(tools) == 0 {
		return toolSet{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	set := toolSet{offered: make(map[string]bool, len(tools))}
	for _, info := range tools {
		t := c.tools[info.Name]
		if t == nil || t.description != described(info) || !bytes.Equal(t.schema, info.InputSchema) {
			t = c.add(info, log)
		}
		if _, twice := set.offered[info.Name]; twice || t.err != nil {
			continue
		}
		set.offered[info.Name] = t.wrapped
		set.names = append(set.names, info.Name)
		set.wire = append(set.wire, t.wire)
	}
	return set
}

func (c *toolCache) add(info schemas.ToolInfo, log *slog.Logger) *wireTool {
	t := lowerTool(info)
	if t.err != nil {
		log.Warn("tool is not offered to gemini", "tool", info.Name, "reason", t.err)
	}
	if c.tools == nil || len(c.tools) >= maxTools {
		c.tools = map[string]*wireTool{}
	}
	c.tools[info.Name] = t
	return t
}

func described(info schemas.ToolInfo) string {
	if info.Description == "" {
		return info.Title
	}
	return info.Description
}

func lowerTool(info schemas.ToolInfo) *wireTool {
	t := &wireTool{schema: info.InputSchema, description: described(info)}
	if !validName(info.Name) {
		t.err = errors.New("its name is no function name: a letter or _, then letters, digits, _ and -, at most 64")
		return t
	}
	res, err := lower.ForGemini(info.InputSchema)
	if err != nil {
		t.err = err
		return t
	}
	description := t.description
	if res.Hint != "" && !strings.Contains(description, res.Hint) {
		description = strings.TrimSpace(description + "\n" + res.Hint)
	}
	if string(res.Schema) == `{"type":"object"}` {
		res.Schema = nil // some models refuse an object without properties
	}
	t.wrapped = res.Wrapped
	t.wire, t.err = json.Marshal(struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parametersJsonSchema,omitempty"`
	}{info.Name, description, res.Schema})
	return t
}

// validName says whether a name can be a function's.
func validName(name string) bool {
	if name == "" || len(name) > maxToolName || name[0] == '-' || '0' <= name[0] && name[0] <= '9' {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool { return !isNameRune(r) })
}

func isNameRune(r rune) bool {
	return r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}
