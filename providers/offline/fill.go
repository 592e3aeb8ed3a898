package offline

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/mail"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"molar/schemas"
)

// A field is a property of a tool's input schema: the part of JSON Schema that this package reads,
// and below it the property's name and whether it is required.
type field struct {
	Ref              string           `json:"$ref"`
	Defs             map[string]field `json:"$defs"`
	Type             any
	Description      string
	Format           string
	Enum             []json.RawMessage
	Const, Default   json.RawMessage
	Minimum, Maximum *float64
	Properties       map[string]field
	Required         []string
	AnyOf            []field

	name     string
	keys     []string // of its name
	required bool
}

// UnmarshalJSON never fails: a property with an unusual schema becomes one without restrictions, so
// that the other properties stay usable.
func (f *field) UnmarshalJSON(data []byte) error {
	type plain field
	if json.Unmarshal(data, (*plain)(f)) != nil {
		*f = field{}
	}
	return nil
}

// maxFields bounds the work for one tool.
const maxFields = 64

// fieldsOf reads the fields of a tool: the required ones first, in the order of
// the schema's list, then the others by name.
func fieldsOf(tool schemas.ToolInfo) []field {
	var root field
	if json.Unmarshal(tool.InputSchema, &root) != nil {
		return nil
	}
	var fields []field
	for _, name := range slices.Concat(root.Required, slices.Sorted(maps.Keys(root.Properties))) {
		f, known := root.Properties[name]
		if !known || len(fields) == maxFields || slices.ContainsFunc(fields, func(f field) bool { return f.name == name }) {
			continue
		}
		f = f.resolve(root.Defs)
		f.name, f.keys, f.required = name, keysOf(name), slices.Contains(root.Required, name)
		for _, format := range []string{"uuid", "email", "url", "uri"} {
			if f.Format == "" && slices.Contains(f.keys, format) {
				f.Format = format
			}
		}
		fields = append(fields, f)
	}
	return fields
}

// resolve follows one local reference, and takes the first alternative that is not null.
func (f field) resolve(defs map[string]field) field {
	description := f.Description
	if i := slices.IndexFunc(f.AnyOf, func(a field) bool { return a.kind() != "null" }); i >= 0 {
		f = f.AnyOf[i]
	}
	if f.Ref != "" {
		f = defs[f.Ref[strings.LastIndexByte(f.Ref, '/')+1:]]
	}
	if f.Description = cmp.Or(description, f.Description); len(f.Const) > 0 {
		f.Enum = []json.RawMessage{f.Const}
	}
	return f
}

// kind returns the first type that is not null, or "string" without a type.
func (f field) kind() string {
	types, several := f.Type.([]any)
	for _, t := range append(types, f.Type) {
		if s, ok := t.(string); ok && (s != "null" || !several) {
			return s
		}
	}
	return "string"
}

// precise reports whether a field takes an identifier or a formatted value, not free text.
func (f field) precise() bool {
	return f.Format != "" || len(f.keys) > 0 && slices.Contains(keysOf("id ids key code number path file filename"), f.keys[len(f.keys)-1])
}

// members returns the values of an enum as text, 40 at most.
func (f field) members() []string {
	var out []string
	for _, raw := range f.Enum[:min(len(f.Enum), 40)] {
		out = append(out, strings.Trim(string(raw), `"`))
	}
	return out
}

// read returns a value in the field's type, and false if the schema does not allow it. named is set
// if the question names the field before the value: otherwise only a precise string field takes a
// number or an identifier.
func (f field) read(w word, named bool) (any, bool) {
	switch kind := f.kind(); {
	case w.kind == "", len(f.Enum) > 0:
		return nil, false
	case kind == "integer", kind == "number":
		n, err := strconv.ParseFloat(strings.ReplaceAll(w.text, ",", ""), 64)
		fits := w.kind == isNumber && err == nil && (f.Minimum == nil || n >= *f.Minimum) && (f.Maximum == nil || n <= *f.Maximum)
		return n, fits && (kind == "number" || n == float64(int64(n)))
	case kind != "string":
		return nil, false
	}
	switch f.Format {
	case "":
		return w.text, w.kind == isQuote || named || f.precise()
	case "uuid":
		return w.text, len(w.text) == 36 && uuid.Validate(w.text) == nil
	case "email":
		_, err := mail.ParseAddress(w.text)
		return w.text, err == nil
	case "url", "uri":
		return w.text, strings.HasPrefix(w.text, "http://") || strings.HasPrefix(w.text, "https://")
	case "date":
		_, err := time.Parse(time.DateOnly, w.text)
		return w.text, err == nil
	}
	return nil, false
}

// fill returns the arguments that a question contains for a tool, and the required fields without a
// value. It assigns a value by the field's name before it or, if only one field can hold it, by its
// form. It also uses members of enums, defaults, and the words of the question for the only required
// string. It never guesses which of two fields a value belongs to.
func (c candidate) fill(q question) (values map[string]any, missing []field) {
	values = map[string]any{}
	used := make([]bool, len(q.words))
	take := func(i int, named bool, may func(field) bool) {
		open := slices.DeleteFunc(slices.Clone(c.fields), func(f field) bool { return values[f.name] != nil || !may(f) })
		if len(open) == 1 && !used[i] {
			if v, fits := open[0].read(q.words[i], named); fits {
				values[open[0].name], used[i] = v, true
			}
		}
	}
	for i := range q.words {
		take(i, true, func(f field) bool { return slices.Contains(f.keys, q.nameBefore(i)) })
	}
	for i, w := range q.words {
		take(i, false, func(f field) bool { _, fits := f.read(w, false); return f.required && fits })
	}
	for _, f := range c.fields {
		if v := f.choose(q); v != nil && values[f.name] == nil {
			values[f.name] = v
		}
	}
	texts := slices.DeleteFunc(slices.Clone(c.fields), func(f field) bool { return !f.required || f.kind() != "string" || len(f.Enum) > 0 })
	if len(texts) == 1 && !texts[0].precise() && values[texts[0].name] == nil {
		if rest := c.rest(q, texts[0]); rest != "" {
			values[texts[0].name] = rest
		}
		for i := range q.words {
			take(i, true, func(f field) bool { return f.name == texts[0].name })
		}
	}
	missing = slices.DeleteFunc(slices.Clone(c.fields), func(f field) bool { return !f.required || values[f.name] != nil })
	return values, missing
}

// choose returns the first member of an enum that the question names, else, for a required field,
// the only member or the default.
func (f field) choose(q question) any {
	missing := func(key string) bool { return !q.keys[key] }
	for i, member := range f.members() {
		if words := keysOf(member); len(words) > 0 && !slices.ContainsFunc(words, missing) {
			return f.Enum[i]
		}
	}
	switch {
	case !f.required:
	case len(f.Enum) == 1:
		return f.Enum[0]
	case len(f.Default) > 0 && string(f.Default) != "null":
		return f.Default
	}
	return nil
}

// rest returns the question without function words, verbs, and words of the tool's and the field's
// names at both ends.
func (c candidate) rest(q question, f field) string {
	start, end := 0, 0
	for _, w := range q.words {
		if w.key == "" || isVerb(w.key) || c.worth[w.key] == inName || slices.Contains(f.keys, w.key) {
			continue
		}
		if end == 0 {
			start = w.start
		}
		end = w.end
	}
	return q.text[start:end]
}
