package offer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

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
	// doublings is how often maxTool is doubled for the longest description of tools that are all offered.
	doublings = 8
)

// Tools take at most 1/WindowShare of a window, and defaultTokens, if no setting says otherwise.
const (
	WindowShare   = 4
	defaultTokens = 8000
)

// DefaultTokens is the room for tools in a window, in tokens; a window of 0 is unknown.
func DefaultTokens(window int) int {
	if window == 0 {
		return defaultTokens
	}
	return min(defaultTokens, window/WindowShare)
}

// Forms returns tools as a model is offered them in a room of bytes: whole if they all fit, else with the
// longest descriptions shortened as far as they must be for all to fit, else large ones in brief. all
// reports whether all fit; at most so many tools do.
func Forms(tools []schemas.ToolInfo, room, most int) (forms []schemas.ToolInfo, all bool) {
	whole, least := 0, 0
	for _, t := range tools {
		size := Size([]schemas.ToolInfo{t})
		whole, least = whole+size, least+size-max(0, len(t.Description)-maxTool)
	}
	all = len(tools) <= most && least <= room
	if all && whole <= room {
		return tools, true
	}
	forms = slices.Clone(tools)
	if !all {
		for i, t := range forms {
			forms[i] = brief(t, room)
		}
		return forms, false
	}
	for longest := maxTool << doublings; longest >= maxTool; longest /= 2 {
		size := 0
		for _, t := range tools {
			size += Size([]schemas.ToolInfo{t}) - max(0, len(t.Description)-longest)
		}
		if size <= room {
			for i, t := range forms {
				forms[i].Description = shorten(t.Description, longest)
			}
			break
		}
	}
	return forms, true
}

// shorten returns a description, or as many of its first sentences and lines as fit into most bytes with a
// mark that says that there is more.
func shorten(description string, most int) string {
	const mark = " …"
	if len(description) <= most {
		return description
	}
	end, room := 0, text.Border(description, most-len(mark))
	for {
		n := text.SentenceEnd(description[end:most])
		if n == 0 || len(strings.TrimRight(description[:end+n], " \n")) > room {
			break
		}
		end += n
	}
	if end < room/2 { // one long sentence
		end = max(end, strings.LastIndexAny(description[:room], " \n"))
	}
	if end <= 0 {
		end = room
	}
	return strings.TrimSpace(description[:end]) + mark
}

// Shortened describes how a tool's form is shorter than the whole tool, or returns "".
func Shortened(whole, form schemas.ToolInfo) string {
	var what []string
	if form.Description != whole.Description {
		what = append(what, fmt.Sprintf("%d of the %d characters of its description", utf8.RuneCountInString(form.Description), utf8.RuneCountInString(whole.Description)))
	}
	if !bytes.Equal(form.InputSchema, whole.InputSchema) {
		what = append(what, "its arguments in brief")
	}
	return strings.Join(what, ", ")
}

// brief returns a tool as it is offered in a room that has not all. Its calls are checked against its whole
// schema.
func brief(t schemas.ToolInfo, room int) schemas.ToolInfo {
	most := max(room/briefShare, leastBrief)
	if Size([]schemas.ToolInfo{t}) <= most {
		return t
	}
	whole := t
	if t.Description = shorten(t.Description, maxTool); Size([]schemas.ToolInfo{t}) <= most {
		return t
	}
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
