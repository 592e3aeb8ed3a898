package openai

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"unicode/utf8"

	"molar/schemas"
	"molar/schemas/lower"
)

const (
	// maxTools bounds the cache; clients may bring tools of their own.
	maxTools = 4096
	// maxDescription is the longest description of a function that the API takes,
	// in characters. Half of it is for what the schema could not say.
	maxDescription = 1024
)

// A toolSet is the tools of one request, lowered.
type toolSet struct {
	wire []json.RawMessage
	// wrapped names the tools whose arguments are offered as a property.
	wrapped map[string]bool
}

// toolCache holds tools as they go over the wire, lowered at their first offer.
type toolCache struct {
	mu    sync.Mutex
	tools map[string]*wireTool
}

// A wireTool is a lowered tool, or the reason why it has none.
type wireTool struct {
	info    schemas.ToolInfo
	wire    json.RawMessage
	wrapped bool
	err     error
}

// of says whether the tool was lowered from this description.
func (t *wireTool) of(info schemas.ToolInfo) bool {
	return t.info.Description == info.Description && t.info.Title == info.Title && bytes.Equal(t.info.InputSchema, info.InputSchema)
}

// lower returns the tools that can be offered. Others are left out, and the
// reason is logged the first time.
func (c *toolCache) lower(tools []schemas.ToolInfo, log *slog.Logger) toolSet {
	c.mu.Lock()
	defer c.mu.Unlock()
	var set toolSet
	for _, info := range tools {
		t := c.tools[info.Name]
		if t == nil || !t.of(info) {
			t = c.add(info, log)
		}
		if t.err != nil {
			continue
		}
		set.wire = append(set.wire, t.wire)
		if t.wrapped {
			if set.wrapped == nil {
				set.wrapped = map[string]bool{}
			}
			set.wrapped[info.Name] = true
		}
	}
	return set
}

func (c *toolCache) add(info schemas.ToolInfo, log *slog.Logger) *wireTool {
	t := lowerTool(info)
	if t.err != nil {
		log.Warn("tool is not offered to openai", "tool", info.Name, "reason", t.err)
	}
	if c.tools == nil || len(c.tools) >= maxTools {
		c.tools = map[string]*wireTool{}
	}
	c.tools[info.Name] = t
	return t
}

func lowerTool(info schemas.ToolInfo) *wireTool {
	t := &wireTool{info: info}
	res, err := lower.ForOpenAI(info.InputSchema)
	if err != nil {
		t.err = err
		return t
	}
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	t.wrapped = res.Wrapped
	t.wire, t.err = json.Marshal(struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}{"function", function{info.Name, describe(info, res.Hint), res.Schema}})
	return t
}

// describe joins a tool's description and what its schema could not say. When
// they are too long together, the description gives way first.
func describe(info schemas.ToolInfo, hint string) string {
	text := info.Description
	if text == "" {
		text = info.Title
	}
	if hint == "" || strings.Contains(text, hint) {
		return cut(text, maxDescription)
	}
	hint = cut(hint, maxDescription/2)
	if text == "" {
		return hint
	}
	return cut(text, maxDescription-utf8.RuneCountInString(hint)-1) + "\n" + hint
}

// cut shortens s to at most limit characters and shows that it did.
func cut(s string, limit int) string {
	if len(s) <= limit || utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-1]) + "…"
}
