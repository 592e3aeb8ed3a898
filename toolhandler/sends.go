package toolhandler

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"molar/schemas"
)

// Sends returns the arguments through which a reader can send text to its server: URLs and other
// free text. It is empty for tools that are not readers, and for those with the rule NoEgress.
func Sends(tool schemas.Tool) []string {
	if class, _ := Classify(tool); class != Reads || tool.Rules.NoEgress {
		return nil
	}
	var schema struct {
		Properties map[string]struct {
			Type, Format string
			Enum         []any
			Const        any
		}
	}
	if json.Unmarshal(tool.InputSchema, &schema) != nil {
		return nil
	}
	var free []string
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		p := schema.Properties[name]
		fixed := []string{"uuid", "date", "date-time", "time", "duration", "ipv4", "ipv6"}
		if p.Type == "string" && len(p.Enum) == 0 && p.Const == nil && !slices.Contains(fixed, strings.ToLower(p.Format)) {
			free = append(free, name)
		}
	}
	return free
}
