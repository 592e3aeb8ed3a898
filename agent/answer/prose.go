package answer

import (
	"encoding/json"
	"strings"

	"molar/internal/text"
)

// Prose returns the strings in a JSON value, one a line, without the names of fields: what the watch
// over the subject reads of it.
func Prose(said string) string {
	var value any
	if json.Unmarshal([]byte(said), &value) != nil {
		return said
	}
	var all []string
	text.MapStrings(value, func(s string) string {
		all = append(all, s)
		return s
	})
	return strings.Join(all, "\n")
}
