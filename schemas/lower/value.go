package lower

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// A value is a parsed JSON value that keeps the order of its members and the
// digits of its numbers.
type value struct {
	// raw is the value's compact JSON text.
	raw []byte
	// str is the text of a string.
	str string
	arr []value
	obj []member
}

type member struct {
	key string
	val value
}

func (v value) isString() bool { return len(v.raw) > 0 && v.raw[0] == '"' }
func (v value) isArray() bool  { return len(v.raw) > 0 && v.raw[0] == '[' }
func (v value) isObject() bool { return len(v.raw) > 0 && v.raw[0] == '{' }
func (v value) isTrue() bool   { return string(v.raw) == "true" }
func (v value) isFalse() bool  { return string(v.raw) == "false" }

// typeName returns the JSON Schema type of the value.
func (v value) typeName() string {
	switch {
	case v.isString():
		return "string"
	case v.isObject():
		return "object"
	case v.isArray():
		return "array"
	case v.isTrue(), v.isFalse():
		return "boolean"
	case string(v.raw) == "null":
		return "null"
	case bytes.ContainsAny(v.raw, ".eE"):
		return "number"
	}
	return "integer"
}

// A parser reads valid compact JSON.
type parser struct {
	data []byte
	pos  int
	deep bool
	// members and items are stacks of the contents of open objects and arrays, innermost last, so
	// that each is copied out once in its final size.
	members []member
	items   []value
}

func (p *parser) value(depth int) value {
	start := p.pos
	var v value
	switch p.data[p.pos] {
	case '{':
		v.obj = p.object(depth)
	case '[':
		v.arr = p.array(depth)
	case '"':
		v.str = p.text()
	default:
		for p.pos < len(p.data) && strings.IndexByte(",]}", p.data[p.pos]) < 0 {
			p.pos++
		}
	}
	v.raw = p.data[start:p.pos:p.pos]
	return v
}

func (p *parser) object(depth int) []member {
	mine := len(p.members)
	p.pos++
	for p.data[p.pos] != '}' && p.enter(depth) {
		key := p.text()
		p.pos++ // the colon
		v := p.value(depth + 1)
		p.members = append(p.members, member{key, v})
		p.comma()
	}
	p.pos++
	members := slices.Clone(p.members[mine:])
	p.members = p.members[:mine]
	return members
}

func (p *parser) array(depth int) []value {
	mine := len(p.items)
	p.pos++
	for p.data[p.pos] != ']' && p.enter(depth) {
		v := p.value(depth + 1)
		p.items = append(p.items, v)
		p.comma()
	}
	p.pos++
	items := slices.Clone(p.items[mine:])
	p.items = p.items[:mine]
	return items
}

// enter reports whether the contents at depth may be read. If not, the parser gives up: it moves
// to the last byte, where every loop ends.
func (p *parser) enter(depth int) bool {
	if depth >= maxNesting {
		p.deep = true
	}
	if p.deep {
		p.pos = len(p.data) - 1
	}
	return !p.deep
}

func (p *parser) comma() {
	if p.pos >= len(p.data) {
		p.pos = len(p.data) - 1
	}
	if p.data[p.pos] == ',' {
		p.pos++
	}
}

// text reads a string.
func (p *parser) text() string {
	start := p.pos
	escaped := false
	for p.pos++; p.data[p.pos] != '"'; p.pos++ {
		if p.data[p.pos] == '\\' {
			escaped = true
			p.pos++
		}
	}
	p.pos++
	if !escaped {
		return string(p.data[start+1 : p.pos-1])
	}
	var s string
	_ = json.Unmarshal(p.data[start:p.pos], &s) // known to be valid
	return s
}

// appendString appends s as JSON.
func appendString(b []byte, s string) []byte {
	plain := utf8.ValidString(s)
	for i := 0; plain && i < len(s); i++ {
		plain = s[i] >= ' ' && s[i] != '"' && s[i] != '\\'
	}
	if plain {
		b = append(b, '"')
		b = append(b, s...)
		return append(b, '"')
	}
	quoted, _ := json.Marshal(s) // strings always marshal
	return append(b, quoted...)
}

func appendStrings(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, s)
	}
	return append(b, ']')
}

// cut shortens s to at most limit bytes, at a rune boundary, and marks the cut.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return strings.TrimRight(s[:limit], " ") + "…"
}
