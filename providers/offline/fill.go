package offline

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"molar/schemas"
)

// A field is a property of a tool's input schema: the part of JSON Schema that is read here, and what
// follows from its place.
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

// UnmarshalJSON never fails: a server's odd property allows everything, and costs only
// itself.
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

// kind returns the first type that is not null, "string" where none is given.
func (f field) kind() string {
	types, several := f.Type.([]any)
	for _, t := range append(types, f.Type) {
		if s, ok := t.(string); ok && (s != "null" || !several) {
			return s
		}
	}
	return "string"
}

// precise reports whether a field wants a name that some system gave, never free words.
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

// read returns a value as the field wants it, and false where the schema does not allow it. A number
// or identifier is text only for a field that is precise, or named before it.
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
		free := w.kind == isQuote || w.kind == isURL || w.kind == isEmail
		return w.text, free || named || f.precise()
	case "date":
		_, err := time.Parse(time.DateOnly, w.text)
		return w.text, err == nil
	}
	return w.text, w.kind == map[string]kind{"uuid": isUUID, "email": isEmail, "url": isURL, "uri": isURL}[f.Format]
}

// A filling is the arguments for one tool, as far as a question gives them.
type filling struct {
	tool   candidate
	q      question
	used   []bool // of each word of the question
	values map[string]any
}

// fill finds what is plain: values by the name before them or, where one field alone can hold them,
// by their form; members of enums; defaults; and words for the one required string. Which of two
// fields a value is for is never guessed.
func (c candidate) fill(q question) *filling {
	f := &filling{c, q, make([]bool, len(q.words)), map[string]any{}}
	for i := range q.words {
		f.take(i, true, func(fd field) bool { return slices.Contains(fd.keys, q.nameBefore(i)) })
	}
	for i, w := range q.words {
		f.take(i, false, func(fd field) bool { _, fits := fd.read(w, false); return fd.required && fits })
	}
	for _, fd := range c.fields {
		f.choose(fd)
	}
	f.rest()
	return f
}

// missing returns the required fields without a value.
func (f *filling) missing() []field {
	return slices.DeleteFunc(slices.Clone(f.tool.fields), func(fd field) bool { return !fd.required || f.values[fd.name] != nil })
}

// take gives word i to the one open field of a kind, if it can hold it.
func (f *filling) take(i int, named bool, of func(field) bool) {
	open := slices.DeleteFunc(slices.Clone(f.tool.fields), func(fd field) bool { return f.values[fd.name] != nil || !of(fd) })
	if len(open) == 1 && !f.used[i] {
		if v, fits := open[0].read(f.q.words[i], named); fits {
			f.values[open[0].name], f.used[i] = v, true
		}
	}
}

// choose takes the first member of an enum that the question says, else what the schema gives for a
// required field. For an optional one, the words of the tool's own name prove nothing.
func (f *filling) choose(fd field) {
	unsaid := func(key string) bool { return !f.q.keys[key] || !fd.required && slices.Contains(f.tool.name, key) }
	said := slices.IndexFunc(fd.members(), func(member string) bool {
		words := keysOf(member)
		return len(words) > 0 && !slices.ContainsFunc(words, unsaid)
	})
	switch {
	case f.values[fd.name] != nil:
	case said >= 0:
		f.values[fd.name] = fd.Enum[said]
	case fd.required && len(fd.Enum) == 1:
		f.values[fd.name] = fd.Enum[0]
	case fd.required && len(fd.Default) > 0 && string(fd.Default) != "null":
		f.values[fd.name] = fd.Default
	}
}

// rest fills the one required string with the question, without the words at both ends that say
// nothing, say what to do, or are the tool's own; where none is left, with a value.
func (f *filling) rest() {
	texts := slices.DeleteFunc(slices.Clone(f.tool.fields), func(fd field) bool { return !fd.required || fd.kind() != "string" || len(fd.Enum) > 0 })
	if len(texts) != 1 || texts[0].precise() || f.values[texts[0].name] != nil {
		return
	}
	start, end := -1, 0
	for _, w := range f.q.words {
		if w.key == "" || isVerb(w.key) || f.tool.worth[w.key] >= inTitle || slices.Contains(texts[0].keys, w.key) {
			continue
		}
		if end = w.end; start < 0 {
			start = w.start
		}
	}
	if start >= 0 {
		f.values[texts[0].name] = f.q.text[start:end]
	}
	for i := range f.q.words {
		f.take(i, true, func(fd field) bool { return fd.name == texts[0].name })
	}
}

func encode(v any) string {
	data, err := json.Marshal(v)
	if err != nil { // numbers are finite and strings are strings
		return "{}"
	}
	return string(data)
}
