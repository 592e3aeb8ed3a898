package offline

import (
	"encoding/json"
	"slices"
	"strings"
)

// A filling is the arguments for one tool, as far as the question gives them.
type filling struct {
	values  map[string]any
	more    map[string][]any // further values for a field, which ask for calls of their own
	from    []string         // where each value came from, for people
	missing []field          // required and not found
	typed   int              // required fields that a value in the question fills
	exact   int              // of these, fields that take values of one form only
	unused  int              // values of a particular form that the tool has no place for
}

// A filler fills the fields of one tool from one question.
type filler struct {
	*filling
	q    question
	tool indexed
	used []bool // of each value
}

// fill finds what is plain: values by the name before them or, where one field alone can
// hold them, by their form; members of enums; and words for the one required string.
func fill(q question, t indexed) *filling {
	f := filler{&filling{values: map[string]any{}, more: map[string][]any{}}, q, t, make([]bool, len(q.values))}
	f.named()
	f.alone()
	f.members()
	f.defaults()
	f.words()
	f.missing = f.open()
	for i, v := range q.values {
		if !f.used[i] && v.kind != isQuote && v.kind != isNumber {
			f.unused++
		}
	}
	return f.filling
}

// fit rewards values that fill required fields, and punishes required fields that
// nothing fits and particular values that the tool has no place for.
func (f *filling) fit() float64 {
	return min(0.35*float64(f.typed), 0.7) - min(0.1*float64(len(f.missing)), 0.4) - 0.3*float64(min(f.unused, 1))
}

// calls returns the arguments as JSON: of one call, or of one for each further value.
func (f *filling) calls() []string {
	out := []string{encode(f.values)}
	for name, values := range f.more {
		first := f.values[name]
		for _, v := range values[:min(len(values), maxCalls-1)] {
			f.values[name] = v
			out = append(out, encode(f.values))
		}
		f.values[name] = first
		break // one field varies; two would be guesses about pairs
	}
	return out
}

func encode(v any) string {
	data, err := json.Marshal(v)
	if err != nil { // numbers are finite and strings are strings
		return "{}"
	}
	return string(data)
}

// open returns the required fields that have no value.
func (f filler) open() []field {
	return slices.DeleteFunc(slices.Clone(f.tool.fields), func(fd field) bool { return !fd.required || f.values[fd.name] != nil })
}

func (f filler) set(fd field, v any, from string) {
	f.values[fd.name] = v
	f.from = append(f.from, fd.name+"="+clip(encode(v), 60)+" from "+from)
}

// take gives value i to a field that can hold it; where the field has a value of this
// kind, it is one more.
func (f filler) take(fd field, i int, named bool) bool {
	kind := f.q.values[i].kind
	v, ok := fd.read(f.q.values[i], named)
	switch {
	case !ok || f.used[i]:
		return false
	case f.values[fd.name] == nil:
		f.set(fd, v, string(kind))
	case fd.required:
		f.more[fd.name] = append(f.more[fd.name], v)
	default:
		return false
	}
	f.used[i] = true
	if fd.required {
		f.typed++
		if fd.Format != "" {
			f.exact++
		}
	}
	return true
}

// named takes values that stand right behind the name of a field.
func (f filler) named() {
	for i, v := range f.q.values {
		var before token
		for _, t := range f.q.tokens {
			if t.end <= v.start {
				before = t
			}
		}
		if before.key == "" || strings.ContainsAny(f.q.text[before.end:v.start], ".,;!?\n") {
			continue
		}
		for _, fd := range f.tool.fields {
			if slices.Contains(fd.keys, before.key) && f.take(fd, i, true) {
				break
			}
		}
	}
}

// alone takes values that only one open required field can hold, and the others of their
// kind with them.
func (f filler) alone() {
	for i, v := range f.q.values {
		open := slices.DeleteFunc(f.open(), func(fd field) bool { _, ok := fd.read(v, false); return !ok })
		if f.used[i] || len(open) != 1 {
			continue
		}
		for j := i; j < len(f.q.values); j++ {
			if f.q.values[j].kind == v.kind {
				f.take(open[0], j, false)
			}
		}
	}
}

// members takes the first member of an enum that the question says. For a field that is
// not required, the words of the tool's own name prove nothing.
func (f filler) members() {
	for _, fd := range f.tool.fields {
		for i, member := range fd.members() {
			unsaid := func(key string) bool {
				return !f.q.words[key] || !fd.required && slices.Contains(f.tool.name, key)
			}
			if words := keysOf(member); f.values[fd.name] == nil && len(words) > 0 && !slices.ContainsFunc(words, unsaid) {
				f.set(fd, fd.Enum[i], "a word of the question")
			}
		}
	}
}

// defaults fills what is required and has a default or only one value.
func (f filler) defaults() {
	for _, fd := range f.open() {
		if len(fd.Enum) == 1 {
			f.set(fd, fd.Enum[0], "the schema's only value")
		} else if len(fd.Default) > 0 && string(fd.Default) != "null" {
			f.set(fd, fd.Default, "the schema's default")
		}
	}
}

// words fills the one required string of a tool with the question, without the words at
// both ends that are verbs, say nothing, or are the tool's own.
func (f filler) words() {
	texts := slices.DeleteFunc(slices.Clone(f.tool.fields), func(fd field) bool {
		return !fd.required || fd.kind != "string" || len(fd.Enum) > 0
	})
	if len(texts) != 1 || texts[0].precise() || f.values[texts[0].name] != nil {
		return
	}
	fd := texts[0]
	own := func(t token) bool {
		return t.key == "" || isVerb(t.key) || f.tool.weight[t.key] >= inTitle || slices.Contains(fd.keys, t.key)
	}
	tokens := f.q.tokens
	for len(tokens) > 0 && own(tokens[0]) {
		tokens = tokens[1:]
	}
	for len(tokens) > 0 && own(tokens[len(tokens)-1]) {
		tokens = tokens[:len(tokens)-1]
	}
	if len(tokens) > 0 {
		f.set(fd, f.q.text[tokens[0].start:tokens[len(tokens)-1].end], "the words beside the tool's own")
		return
	}
	for i := range f.q.values {
		f.take(fd, i, true)
	}
}
