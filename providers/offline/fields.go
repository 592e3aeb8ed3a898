package offline

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"molar/schemas"
)

// A field is a property of a tool's input schema.
type field struct {
	property
	name     string
	keys     []string // of its name
	kind     string   // of JSON Schema; "string" where none is given
	required bool
	pattern  *regexp.Regexp
}

// property is the part of JSON Schema that is read here.
type property struct {
	Ref         string              `json:"$ref"`
	Defs        map[string]property `json:"$defs"`
	Type        any                 `json:"type"`
	Description string              `json:"description"`
	Format      string              `json:"format"`
	Pattern     string              `json:"pattern"`
	Enum        []json.RawMessage   `json:"enum"`
	Const       json.RawMessage     `json:"const"`
	Default     json.RawMessage     `json:"default"`
	Minimum     *float64            `json:"minimum"`
	Maximum     *float64            `json:"maximum"`
	Properties  map[string]property `json:"properties"`
	Required    []string            `json:"required"`
	AnyOf       []property          `json:"anyOf"`
}

// UnmarshalJSON never fails: a server's odd property allows everything, and costs only
// itself.
func (p *property) UnmarshalJSON(data []byte) error {
	type plain property
	if json.Unmarshal(data, (*plain)(p)) != nil {
		*p = property{}
	}
	return nil
}

// maxFields bounds the work for one tool.
const maxFields = 64

// fieldsOf reads the fields of a tool: the required ones first, in the order of
// the schema's list, then the others by name.
func fieldsOf(tool schemas.ToolInfo) []field {
	var root property
	if json.Unmarshal(tool.InputSchema, &root) != nil {
		return nil
	}
	place := func(name string) int {
		if i := slices.Index(root.Required, name); i >= 0 {
			return i
		}
		return len(root.Required)
	}
	names := slices.Sorted(maps.Keys(root.Properties))
	slices.SortStableFunc(names, func(a, b string) int { return place(a) - place(b) })
	var fields []field
	for _, n := range names[:min(len(names), maxFields)] {
		f := newField(n, root.Properties[n].resolve(root.Defs))
		f.required = place(n) < len(root.Required)
		fields = append(fields, f)
	}
	return fields
}

func newField(name string, p property) field {
	f := field{property: p, name: name, keys: keysOf(name), kind: p.kind()}
	if len(p.Const) > 0 {
		f.Enum = []json.RawMessage{p.Const}
	}
	if p.Pattern != "" {
		f.pattern, _ = regexp.Compile(p.Pattern) // ECMA patterns that Go lacks are left to the server
	}
	for _, format := range []string{"uuid", "email", "url", "uri"} {
		if f.Format == "" && slices.Contains(f.keys, format) {
			f.Format = format
		}
	}
	return f
}

// resolve follows one local reference, and takes the first alternative that is not null.
func (p property) resolve(defs map[string]property) property {
	description := p.Description
	if i := slices.IndexFunc(p.AnyOf, func(a property) bool { return a.kind() != "null" }); i >= 0 {
		p = p.AnyOf[i]
	}
	if p.Ref != "" {
		p = defs[p.Ref[strings.LastIndexByte(p.Ref, '/')+1:]]
	}
	if description != "" {
		p.Description = description
	}
	return p
}

// kind returns the first type that is not null.
func (p property) kind() string {
	types, _ := p.Type.([]any)
	for _, t := range append(types, p.Type) {
		if s, ok := t.(string); ok && (s != "null" || len(types) == 0) {
			return s
		}
	}
	if len(p.Properties) > 0 {
		return "object"
	}
	return "string"
}

// precise reports whether a field wants a name that some system gave, never free words.
func (f field) precise() bool {
	last := strings.Fields(strings.ToLower(strings.ReplaceAll(splitName(f.name), "_", " ")))
	return f.Format != "" || f.pattern != nil ||
		len(last) > 0 && slices.Contains([]string{"id", "ids", "key", "code", "number", "path", "file", "filename"}, last[len(last)-1])
}

// members returns the values of an enum as text, 40 at most.
func (f field) members() []string {
	var out []string
	for _, raw := range f.Enum[:min(len(f.Enum), 40)] {
		out = append(out, strings.Trim(string(raw), `"`))
	}
	return out
}

// read returns a value as the field wants it, and false where the schema does not allow it.
// A number or identifier is text only for a field that is precise, or named before it.
func (f field) read(v value, named bool) (any, bool) {
	switch {
	case len(f.Enum) > 0:
		return nil, false
	case f.kind == "integer", f.kind == "number":
		return f.number(v.text)
	case f.kind != "string", f.pattern != nil && !f.pattern.MatchString(v.text):
		return nil, false
	}
	switch f.Format {
	case "":
		return v.text, v.kind != isNumber && v.kind != isCode || named || f.precise()
	case "uuid":
		return v.text, uuid.Validate(v.text) == nil
	case "email":
		return v.text, v.kind == isEmail
	case "uri", "url", "uri-reference":
		return v.text, v.kind == isURL
	}
	return nil, false
}

func (f field) number(text string) (any, bool) {
	n, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64)
	switch {
	case err != nil, n < -(1 << 53), n > 1<<53, f.Minimum != nil && n < *f.Minimum, f.Maximum != nil && n > *f.Maximum:
		return nil, false
	case f.kind == "integer":
		return int64(n), n == float64(int64(n))
	}
	return n, true
}
