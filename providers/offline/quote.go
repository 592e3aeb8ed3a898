package offline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"molar/schemas"
)

// Limits of what is quoted of one result.
const (
	maxQuoted = 2000 // runes of plain text
	maxLine   = 300  // runes of one value
	maxItems  = 20   // entries of a list
	maxDepth  = 4
)

// quote tells a result in lines that a person can read; links are left to whoever
// lists the sources.
func quote(r schemas.ToolResult) string {
	v := decode(r.Output)
	if s, isText := v.(string); isText {
		return quoteText(s)
	}
	if entries := entriesOf(v); len(entries) > 0 {
		return paragraphs(entries)
	}
	var b strings.Builder
	quoteValue(&b, v, "", 0)
	return strings.TrimRight(b.String(), "\n")
}

// An object keeps the order of its keys, which a server chose for readers.
type object struct {
	keys   []string
	values []any
}

// decode reads JSON with the order of keys kept. Text that is no JSON is quoted as it
// is.
func decode(data json.RawMessage) any {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if v, err := decodeValue(dec, 0); err == nil {
		return v
	}
	return string(data)
}

func decodeValue(dec *json.Decoder, depth int) (any, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := tok.(json.Delim)
	if !ok {
		return tok, nil
	}
	if depth > schemas.MaxDepth {
		return nil, schemas.ErrNotJSON
	}
	var o object
	var list []any
	for dec.More() {
		if delim == '{' {
			key, err := dec.Token()
			if err != nil {
				return nil, err
			}
			o.keys = append(o.keys, fmt.Sprint(key))
		}
		v, err := decodeValue(dec, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if delim == '{' {
		o.values = list
		return o, nil
	}
	return list, nil
}

// quoteValue writes v as lines, nested ones indented.
func quoteValue(b *strings.Builder, v any, indent string, depth int) {
	switch v := v.(type) {
	case object:
		for i, key := range v.keys {
			quoteField(b, key, v.values[i], indent, depth)
		}
	case []any:
		for i, e := range v {
			if i == maxItems {
				fmt.Fprintf(b, "%s- … (+%d)\n", indent, len(v)-maxItems)
				return
			}
			quoteItem(b, e, indent, depth)
		}
	default:
		fmt.Fprintf(b, "%s%s\n", indent, scalar(v))
	}
}

func quoteField(b *strings.Builder, key string, v any, indent string, depth int) {
	switch {
	case empty(v) || isLink(v):
	case simple(v):
		fmt.Fprintf(b, "%s%s: %s\n", indent, key, scalar(v))
	case depth < maxDepth:
		fmt.Fprintf(b, "%s%s:\n", indent, key)
		quoteValue(b, v, indent+"  ", depth+1)
	}
}

// quoteItem writes an entry of a list: its simple fields on one line, the rest below.
func quoteItem(b *strings.Builder, v any, indent string, depth int) {
	o, ok := v.(object)
	if !ok {
		if simple(v) {
			fmt.Fprintf(b, "%s- %s\n", indent, scalar(v))
		} else if depth < maxDepth {
			quoteValue(b, v, indent+"  ", depth+1)
		}
		return
	}
	var line []string
	for i, key := range o.keys {
		if simple(o.values[i]) && !empty(o.values[i]) && !isLink(o.values[i]) {
			line = append(line, key+": "+scalar(o.values[i]))
		}
	}
	fmt.Fprintf(b, "%s- %s\n", indent, strings.Join(line, ", "))
	for i, key := range o.keys {
		if !simple(o.values[i]) {
			quoteField(b, key, o.values[i], indent+"  ", depth+1)
		}
	}
}

// simple reports whether a value fits on a line: a scalar or a short list of them.
func simple(v any) bool {
	switch v := v.(type) {
	case object:
		return false
	case []any:
		return len(v) <= maxItems && !slices.ContainsFunc(v, func(e any) bool {
			_, isObject := e.(object)
			_, isList := e.([]any)
			return isObject || isList
		})
	}
	return true
}

func scalar(v any) string {
	switch v := v.(type) {
	case nil:
		return "–"
	case string:
		return clip(strings.Join(strings.Fields(v), " "), maxLine)
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, scalar(e))
		}
		return clip(strings.Join(parts, ", "), maxLine)
	}
	return fmt.Sprint(v)
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return strings.TrimSpace(v) == ""
	case []any:
		return len(v) == 0
	case object:
		return len(v.keys) == 0 || !slices.ContainsFunc(v.values, func(e any) bool { return !empty(e) })
	}
	return false
}

func isLink(v any) bool {
	s, ok := v.(string)
	return ok && (strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://"))
}

// clip cuts text to limit runes and marks the cut.
func clip(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return strings.TrimSpace(string(runes[:limit])) + "…"
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
