package answer

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Prose returns the strings in a JSON value, one a line, without the names of fields: what the watch
// over the subject reads of it.
func Prose(text string) string {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return text
	}
	return strings.Join(stringsIn(nil, value), "\n")
}

func stringsIn(all []string, value any) []string {
	switch v := value.(type) {
	case string:
		return append(all, v)
	case []any:
		for _, e := range v {
			all = stringsIn(all, e)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = stringsIn(all, v[name])
		}
	}
	return all
}
