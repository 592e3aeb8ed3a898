package bfcl

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// A language is one whose values reach the checker as text, to be read before they
// are compared.
type language struct {
	name string
	// read turns the text of a value of a declared type into the value; text that
	// is none stays text.
	read func(text, declared, item string) any
	// types maps the language's own names of types.
	types map[string]string
}

// foreign finds the language of a category; nil for Python.
func foreign(category string) *language {
	switch {
	case strings.Contains(category, "javascript"):
		return &language{name: "js", read: readJS, types: map[string]string{"Bigint": "integer"}}
	case strings.Contains(category, "java"):
		return &language{name: "java", read: readJava, types: map[string]string{
			"byte": "integer", "short": "integer", "long": "integer", "double": "float", "char": "string",
			"ArrayList": "array", "HashMap": "dict", "Hashtable": "dict", "Queue": "array", "Stack": "array",
		}}
	}
	return nil
}

// convert reads the text of an argument and gives its declared types Python's names.
func (l *language) convert(name string, p Param, value any) (Param, any, Verdict) {
	text, ok := value.(string)
	if !ok {
		return p, value, fault("type_error:"+l.name, "argument %q: expected text, got %s", name, kindOf(value))
	}
	item := ""
	if p.Type == "Array" || p.Type == "ArrayList" || p.Type == "array" {
		item = p.Item
	}
	value = l.read(text, p.Type, item)
	return Param{Type: l.python(p.Type), Item: l.python(item)}, value, valid()
}

func (l *language) python(declared string) string {
	if known, ok := l.types[declared]; ok {
		return known
	}
	return declared
}

// groups matches a pattern against the whole of or anywhere in text, as the pattern
// says, and returns the groups.
func groups(pattern, text string) []string {
	return regexp.MustCompile(pattern).FindStringSubmatch(text)
}

// A line end after a value is no part of it, as Python's patterns have it.
const (
	plainInt   = `^(-?\d+)\n?$`
	plainFloat = `^(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\n?$`
)

// numeral reads the first group of a pattern as a number of the wanted kind; other
// text stays text.
func numeral(pattern, text string, asFloat bool) any {
	m := groups(pattern, text)
	if m == nil {
		return text
	}
	if asFloat {
		return float(json.Number(m[1]))
	}
	return json.Number(m[1])
}

func truth(text string) any {
	switch text {
	case "true":
		return true
	case "false":
		return false
	}
	return text
}

func readJava(text, declared, item string) any {
	switch declared {
	case "byte", "short", "integer":
		return numeral(plainInt, text, false)
	case "long":
		return numeral(`^(-?\d+)[lL]\n?$`, text, false)
	case "float":
		return numeral(`^(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)[fF]\n?$`, text, true)
	case "double":
		return numeral(plainFloat, text, true)
	case "boolean":
		return truth(text)
	case "Array":
		if m := groups(`new\s+\w+\[\]\s*\{(.*?)\}`, text); m != nil {
			return javaItems(strings.Split(m[1], ","), item, false)
		}
	case "ArrayList":
		return javaList(text, item)
	case "HashMap":
		return javaMap(text)
	}
	return text
}

func javaList(text, item string) any {
	if m := groups(`new\s+ArrayList<\w*>\(Arrays\.asList\((.+?)\)\)`, text); m != nil {
		return javaItems(strings.Split(m[1], ","), item, true)
	}
	if m := groups(`(?s)new\s+ArrayList<\w*>\(\)\s*\{\{\s*(.+?)\s*\}\}`, text); m != nil {
		var items []string
		for _, add := range regexp.MustCompile(`add\((.+?)\)`).FindAllStringSubmatch(m[1], -1) {
			items = append(items, add[1])
		}
		return javaItems(items, item, true)
	}
	if groups(`new\s+ArrayList<\w*>\(\)`, text) != nil {
		return []any{}
	}
	return text
}

// javaItems reads the elements of a collection; in lists, quotes around texts go.
func javaItems(texts []string, item string, list bool) any {
	items := []any{}
	for _, text := range texts {
		text = strings.TrimSpace(text)
		switch {
		case list && (item == "char" || item == "String"):
			items = append(items, inner(text))
		case !list && text == "":
		case item != "":
			items = append(items, readJava(text, item, ""))
		default:
			items = append(items, javaValue(text))
		}
	}
	return items
}

func javaMap(text string) any {
	m := groups(`(?s)new\s+HashMap<.*?>\s*\(\)\s*\{\s*\{?\s*(.*?)\s*\}?\s*\}`, text)
	if m == nil {
		if groups(`new\s+HashMap<.*?>\s*\(\)`, text) != nil {
			return Object{}
		}
		return text
	}
	object := Object{}
	for _, put := range regexp.MustCompile(`put\("(.*?)",\s*(.*?)\)`).FindAllStringSubmatch(m[1], -1) {
		object = object.set(put[1], javaValue(strings.TrimSpace(put[2])))
	}
	return object
}

// javaValue reads a value whose type nobody declared.
func javaValue(text string) any {
	if m := groups(`^(-?\d+)[lL]$`, text); m != nil {
		return json.Number(m[1])
	}
	if m := groups(`^(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)[fF]$`, text); m != nil {
		return float(json.Number(m[1]))
	}
	if quoted(text, `"`) {
		return inner(text)
	}
	return loose(text)
}

// loose reads a truth value or a number, else leaves the text.
func loose(text string) any {
	if b, ok := truth(text).(bool); ok {
		return b
	}
	if m := groups(`^([+-]?)(\d+(?:_\d+)*)$`, text); m != nil {
		return json.Number(strings.TrimPrefix(m[1], "+") + strings.ReplaceAll(m[2], "_", ""))
	}
	if f, err := strconv.ParseFloat(text, 64); (err == nil || math.IsInf(f, 0)) && !strings.ContainsAny(text, "xX") {
		return f
	}
	return text
}

func quoted(text, quote string) bool {
	return strings.HasPrefix(text, quote) && strings.HasSuffix(text, quote)
}

// inner is text without its first and last character.
func inner(text string) string {
	runes := []rune(text)
	if len(runes) < 2 {
		return ""
	}
	return string(runes[1 : len(runes)-1])
}

func readJS(text, declared, item string) any {
	switch declared {
	case "String":
		if quoted(text, `"`) || quoted(text, "'") {
			return inner(text)
		}
	case "integer":
		return numeral(plainInt, text, false)
	case "float":
		return numeral(`^(-?\d+(?:\.\d+)?)\n?$`, text, true)
	case "Bigint":
		return numeral(`^(-?\d+)n\n?$`, text, false)
	case "Boolean":
		return truth(text)
	case "dict":
		return jsObject(strings.TrimSpace(text))
	case "array":
		return jsArray(strings.TrimSpace(text), item)
	}
	return text
}

func jsArray(text, item string) any {
	const nested = `^(?:\[\s*\[.*?\]\s*(?:,\s*\[.*?\]\s*)*\]|\bnew\s+Array\(\s*\[.*?\]\s*(?:,\s*\[.*?\]\s*)*\))`
	if m := groups(nested, text); m != nil {
		lists := []any{}
		for i, in := range regexp.MustCompile(`\[(.*?)\]`).FindAllStringSubmatch(m[0], -1) {
			body := strings.TrimSpace(in[1])
			if i == 0 {
				body = strings.TrimPrefix(body, "[")
			}
			list := []any{}
			for e := range strings.SplitSeq(body, ",") {
				list = append(list, jsValue(e))
			}
			lists = append(lists, list)
		}
		return lists
	}
	m := groups(`^(?:\[(.*?)\]|\bnew\s+Array\((.*?)\))`, text)
	if m == nil {
		return text
	}
	items := []any{}
	body := strings.TrimSpace(m[1] + m[2])
	if body == "" {
		return items
	}
	for e := range strings.SplitSeq(body, ",") {
		if item != "" {
			items = append(items, readJS(strings.TrimSpace(e), item, ""))
			continue
		}
		items = append(items, jsValue(e))
	}
	return items
}

func jsObject(text string) any {
	if text == "{}" {
		return Object{}
	}
	m := groups(`^\{(.*?)\}`, text)
	if m == nil {
		return text
	}
	object := Object{}
	for rest := m[1]; ; {
		colon := strings.IndexByte(rest, ':')
		if colon < 1 {
			return object
		}
		key := strings.Trim(strings.TrimSpace(rest[:colon]), `'"`)
		rest = strings.TrimLeft(rest[colon+1:], " \t\n")
		end, next := jsValueEnd(rest)
		object = object.set(key, jsMember(strings.TrimSpace(rest[:end])))
		rest = rest[next:]
	}
}

func jsMember(value string) any {
	switch {
	case strings.HasPrefix(value, "[") && strings.HasSuffix(value, "]"):
		return jsArray(value, "")
	case strings.HasPrefix(value, "{") && strings.HasSuffix(value, "}"):
		return jsObject(value)
	}
	return jsValue(strings.Trim(value, `'"`))
}

// jsValueEnd finds the comma after which another key follows.
func jsValueEnd(s string) (end, next int) {
	for i := range len(s) {
		if s[i] != ',' {
			continue
		}
		after := strings.TrimLeft(s[i+1:], " \t\n")
		colon, comma := strings.IndexByte(after, ':'), strings.IndexByte(after, ',')
		if colon > 0 && (comma < 0 || colon < comma) {
			return i, len(s) - len(after)
		}
	}
	return len(s), len(s)
}

func jsValue(text string) any {
	text = strings.TrimSpace(text)
	if quoted(text, `"`) || quoted(text, "'") {
		return inner(text)
	}
	return loose(text)
}
