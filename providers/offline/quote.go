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
func quote(r schemas.ToolResult, vietnamese bool) string {
	v := decode(r.Output)
	if entries := entriesOf(v); len(entries) > 0 {
		return bestEntry(entries, vietnamese)
	}
	if s, isText := v.(string); isText {
		return sentences(strings.TrimSpace(s), maxQuoted)
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
	if schemas.CheckJSON(data) != nil {
		return string(data)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return decodeValue(dec)
}

// decodeValue reads JSON that is known to be whole.
func decodeValue(dec *json.Decoder) any {
	tok, _ := dec.Token()
	delim, nested := tok.(json.Delim)
	if !nested {
		return tok
	}
	var o object
	var list []any
	for dec.More() {
		if delim == '{' {
			key, _ := dec.Token()
			o.keys = append(o.keys, fmt.Sprint(key))
		}
		list = append(list, decodeValue(dec))
	}
	_, _ = dec.Token() // the closing one
	if delim == '{' {
		o.values = list
		return o
	}
	return list
}

// quoteValue writes v as lines, nested ones indented.
func quoteValue(b *strings.Builder, v any, indent string, depth int) {
	switch v := v.(type) {
	case object:
		for i, key := range v.keys {
			switch e := v.values[i]; {
			case empty(e) || isLink(e):
			case simple(e):
				fmt.Fprintf(b, "%s%s: %s\n", indent, key, scalar(e))
			case depth < maxDepth:
				fmt.Fprintf(b, "%s%s:\n", indent, key)
				quoteValue(b, e, indent+"  ", depth+1)
			}
		}
	case []any:
		for _, e := range v[:min(len(v), maxItems)] {
			quoteItem(b, e, indent, depth)
		}
		if len(v) > maxItems {
			fmt.Fprintf(b, "%s- … (+%d)\n", indent, len(v)-maxItems)
		}
	default:
		fmt.Fprintf(b, "%s%s\n", indent, scalar(v))
	}
}

// quoteItem writes an entry of a list: its simple fields on one line, the rest below.
func quoteItem(b *strings.Builder, v any, indent string, depth int) {
	o, isObject := v.(object)
	if simple(v) {
		fmt.Fprintf(b, "%s- %s\n", indent, scalar(v))
		return
	}
	var line []string
	var rest object
	for i, key := range o.keys {
		switch e := o.values[i]; {
		case !simple(e):
			rest.keys, rest.values = append(rest.keys, key), append(rest.values, e)
		case !empty(e) && !isLink(e):
			line = append(line, key+": "+scalar(e))
		}
	}
	if isObject {
		fmt.Fprintf(b, "%s- %s\n", indent, strings.Join(line, ", "))
		v = rest
	}
	if depth < maxDepth {
		quoteValue(b, v, indent+"  ", depth+1)
	}
}

// simple reports whether a value fits on a line: a scalar or a short list of them.
func simple(v any) bool {
	switch v := v.(type) {
	case object:
		return false
	case []any:
		return len(v) <= maxItems && !slices.ContainsFunc(v, func(e any) bool {
			_, isList := e.([]any)
			return isList || !simple(e)
		})
	}
	return true
}

func scalar(v any) string {
	switch v := v.(type) {
	case nil:
		return "–"
	case string:
		return sentences(strings.Join(strings.Fields(v), " "), maxLine)
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
