package offer

import (
	"bytes"
	"encoding/json"
	"strings"

	"molar/internal/text"
	"molar/schemas"
	"molar/schemas/lower"
)

const (
	// Tools that do not all fit are offered in brief: each in 1/briefShare of the room or leastBrief
	// bytes, as far as its required arguments allow, so that more of them fit.
	briefShare, leastBrief = 16, 400
	// maxTool and maxArgument bound the descriptions of a tool in brief and of its arguments, in
	// bytes.
	maxTool, maxArgument = 240, 80
)

// brief returns a tool as it is offered in a room. Its calls are checked against its whole schema.
func brief(t schemas.ToolInfo, room int) schemas.ToolInfo {
	most := max(room/briefShare, leastBrief)
	if Size([]schemas.ToolInfo{t}) <= most {
		return t
	}
	whole := t
	t.Description = text.Clip(strings.TrimSpace(t.Description), maxTool, "…")
	lowered, err := lower.ForOpenAI(t.InputSchema) // resolves its references
	if err != nil {
		return whole
	}
	decoder := json.NewDecoder(bytes.NewReader(lowered.Schema))
	decoder.UseNumber()
	var schema map[string]any
	if decoder.Decode(&schema) != nil {
		return whole
	}
	describe(schema)
	for depth := maxDepth; depth >= 0; depth-- {
		var b bytes.Buffer
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(false)
		if encoder.Encode(shallow(schema, depth)) != nil {
			return whole
		}
		if t.InputSchema = bytes.TrimSpace(b.Bytes()); Size([]schemas.ToolInfo{t}) <= most {
			break
		}
	}
	if Size([]schemas.ToolInfo{t}) >= Size([]schemas.ToolInfo{whole}) {
		return whole
	}
	return t
}

// describe shortens the descriptions in a schema.
func describe(schema map[string]any) {
	for key, value := range schema {
		switch inner := value.(type) {
		case string:
			if key == "description" {
				schema[key] = text.Clip(strings.TrimSpace(inner), maxArgument, "…")
			}
		case map[string]any:
			describe(inner)
		case []any:
			for _, v := range inner {
				if m, ok := v.(map[string]any); ok {
					describe(m)
				}
			}
		}
	}
}
