package text

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// MapStrings replaces the strings in a decoded JSON value, but for the names of fields, by what edit
// returns of them, and returns the value. Fields are in the order of their names.
func MapStrings(value any, edit func(string) string) any {
	switch v := value.(type) {
	case string:
		return edit(v)
	case []any:
		for i := range v {
			v[i] = MapStrings(v[i], edit)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			v[name] = MapStrings(v[name], edit)
		}
	}
	return value
}

// EditJSON is MapStrings for JSON text. It returns a text that is no JSON value as it is.
func EditJSON(raw string, edit func(string) string) string {
	dec := json.NewDecoder(strings.NewReader(raw))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil {
		return raw
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(MapStrings(value, edit)) != nil {
		return raw
	}
	return strings.TrimSpace(b.String())
}
