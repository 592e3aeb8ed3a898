package wire

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

// maxTools bounds the cache of lowered tools; clients may bring their own.
const maxTools = 4096

// A Tool is a tool in a service's form.
type Tool struct {
	Info schemas.ToolInfo
	// Wire is the tool in the service's form.
	Wire json.RawMessage
	// Params is the lowered schema of the arguments, Description the tool's description with what
	// the schema could not express.
	Params      json.RawMessage
	Description string
	// Wrapped is set if the arguments are offered as a property.
	Wrapped bool

	err error // why the tool cannot be lowered
}

// A ToolSet holds the tools of one request.
type ToolSet []*Tool

// Find returns the offered tool of that name, or nil.
func (s ToolSet) Find(name string) *Tool {
	for _, t := range s {
		if t.Info.Name == name {
			return t
		}
	}
	return nil
}

// Resolve returns the offered tool that a model means by a name: the offered name, that name after
// the service's namespace, or the tool's own name if only one tool has it; nil if no tool matches.
func (s ToolSet) Resolve(name string) *Tool {
	for _, prefix := range []string{"default_api.", "default_api:", "functions."} {
		name = strings.TrimPrefix(name, prefix)
	}
	if t := s.Find(name); t != nil {
		return t
	}
	var own *Tool
	for _, t := range s {
		if t.Info.ToolName != name || name == "" {
			continue
		}
		if own != nil {
			return nil
		}
		own = t
	}
	return own
}

// Called returns the call with the offered name and unwrapped arguments.
func (s ToolSet) Called(f schemas.FunctionCall) schemas.FunctionCall {
	t := s.Resolve(f.Name)
	if t == nil {
		return f
	}
	f.Name = t.Info.Name
	if t.Wrapped {
		f.Arguments = lower.Unwrap(f.Arguments)
	}
	return f
}

// Wrap returns the arguments of an earlier call in the form that the tool is offered in.
func (s ToolSet) Wrap(f schemas.FunctionCall) string {
	if t := s.Find(f.Name); t != nil && t.Wrapped {
		return lower.Wrap(f.Arguments)
	}
	return f.Arguments
}

// Wire returns the tools in the service's form.
func (s ToolSet) Wire() []json.RawMessage {
	var list []json.RawMessage
	for _, t := range s {
		list = append(list, t.Wire)
	}
	return list
}

// A Lowering converts a tool to a service's form: it sets Wire, Params, Description and Wrapped.
type Lowering func(t *Tool) error

// Tools caches lowered tools. It is safe for concurrent use.
type Tools struct {
	provider string
	lower    Lowering
	refusals *Refusals
	log      *slog.Logger

	mu    sync.Mutex
	tools map[string]*Tool
}

// NewTools returns an empty cache. refusals stores what services refuse; nil keeps it as long as
// the cache.
func NewTools(provider string, lower Lowering, refusals *Refusals, log *slog.Logger) *Tools {
	if refusals == nil {
		refusals = NewRefusals(nil, log)
	}
	return &Tools{provider: provider, lower: lower, refusals: refusals, log: log, tools: map[string]*Tool{}}
}

// Set returns the tools that can be offered, each once, in a request whose last try ended with
// the error after. It omits the others, since one would fail the whole request.
func (c *Tools) Set(infos []schemas.ToolInfo, after error) ToolSet {
	if len(infos) == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	set := make(ToolSet, 0, len(infos))
	taken := make(map[string]bool, len(infos))
	for _, s := range suspects(after) {
		taken[s.tool.Name] = true
	}
	for _, info := range infos {
		t := c.tool(info)
		if c.leftOut(t) == nil && !taken[info.Name] {
			taken[info.Name] = true
			set = append(set, t)
		}
	}
	return set
}

// LeftOut returns why tools cannot be offered, by name.
func (c *Tools) LeftOut(infos []schemas.ToolInfo) map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]string{}
	for _, info := range infos {
		if err := c.leftOut(c.tool(info)); err != nil {
			out[info.Name] = "not offered to " + c.provider + ": " + err.Error()
		}
	}
	return out
}

// leftOut returns why a tool cannot be offered now, or nil.
func (c *Tools) leftOut(t *Tool) error {
	if t.err != nil {
		return t.err
	}
	if r, refused := c.refusals.Refused(c.provider, t.Info); refused {
		return errors.New(r.String())
	}
	return nil
}

func (c *Tools) tool(info schemas.ToolInfo) *Tool {
	if t := c.tools[info.Name]; t != nil && same(t.Info, info) {
		return t
	}
	return c.add(info)
}

// same reports whether two tools have the same wire form.
func same(a, b schemas.ToolInfo) bool {
	return a.Description == b.Description && a.Title == b.Title && a.ToolName == b.ToolName && bytes.Equal(a.InputSchema, b.InputSchema)
}

func (c *Tools) add(info schemas.ToolInfo) *Tool {
	t := &Tool{Info: info}
	t.err = c.lower(t)
	if err := c.leftOut(t); err != nil {
		c.log.Warn("tool is not offered to "+c.provider, "tool", info.Name, "reason", err)
	}
	if len(c.tools) >= maxTools {
		c.tools = map[string]*Tool{}
	}
	c.tools[info.Name] = t
	return t
}

// Described returns the tool's description, or its title, followed by a hint.
func Described(info schemas.ToolInfo, hint string) string {
	description := info.Description
	if description == "" {
		description = info.Title
	}
	if hint != "" && !strings.Contains(description, hint) {
		description = strings.TrimSpace(description + "\n" + hint)
	}
	return description
}

// Arguments returns the canonical string of a call's arguments: the compact object, or "{}" if
// there are none. It unquotes an object that was quoted. Invalid JSON stays unchanged: the check of
// the arguments reports it.
func Arguments(raw []byte) string {
	raw = bytes.TrimSpace(raw)
	var inner string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &inner) == nil {
		raw = bytes.TrimSpace([]byte(inner))
	}
	if len(raw) == 0 || string(raw) == "null" {
		return "{}"
	}
	var buf bytes.Buffer
	if json.Compact(&buf, raw) != nil {
		return string(raw)
	}
	return buf.String()
}

// FunctionName turns a model's made-up name into one that services accept.
func FunctionName(s string) string {
	s = strings.Map(func(r rune) rune {
		if isNameRune(r) {
			return r
		}
		return '_'
	}, s)
	if s == "" || s[0] == '-' || '0' <= s[0] && s[0] <= '9' {
		s = "_" + s
	}
	return s[:min(len(s), maxToolName)]
}

// maxToolName is the length of a function name that all models accept.
const maxToolName = 64

// IsFunctionName reports whether services accept a function name.
func IsFunctionName(name string) bool { return name != "" && FunctionName(name) == name }

func isNameRune(r rune) bool {
	return r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}
