package mcpclients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"molar/schemas"
)

const (
	// maxDescription is how many bytes of a description are kept.
	maxDescription = 2 << 10
	// cutMark ends a text that was cut.
	cutMark = " […]"
	// namedLeftOut is how many left-out tools are named.
	namedLeftOut = 10
	// maxSkipped bounds the reasons kept for one server.
	maxSkipped = 100
)

// A toolSet gathers the tools of one server as its pages come in.
type toolSet struct {
	server  string
	tools   []schemas.ToolInfo
	skipped []string
	seen    map[string]bool
	left    int      // tools above MaxTools
	named   []string // the first of them
	dropped int      // reasons above maxSkipped
}

// add keeps a tool or the reason against it.
func (s *toolSet) add(raw json.RawMessage) {
	info, err := decodeTool(raw)
	switch {
	case err != nil:
		s.skip(fmt.Sprintf("%s: %v", toolLabel(raw), err))
	case s.seen[info.ToolName]:
		s.skip(info.ToolName + ": the server lists this name twice; the first is kept")
	case len(s.tools) >= MaxTools:
		s.left++
		if len(s.named) < namedLeftOut {
			s.named = append(s.named, info.ToolName)
		}
	default:
		s.seen[info.ToolName] = true
		info.Server = s.server
		s.tools = append(s.tools, info)
	}
}

func (s *toolSet) skip(reason string) {
	if len(s.skipped) >= maxSkipped {
		s.dropped++
		return
	}
	s.skipped = append(s.skipped, reason)
}

// reasons lists what was left out and why.
func (s *toolSet) reasons() []string {
	if s.left > 0 {
		names := strings.Join(s.named, ", ")
		if s.left > len(s.named) {
			names += ", …"
		}
		s.skipped = append(s.skipped, fmt.Sprintf("%d tools above the limit of %d were left out (%s): choose with includeTools", s.left, MaxTools, names))
	}
	if s.dropped > 0 {
		s.skipped = append(s.skipped, fmt.Sprintf("%d more tools were skipped", s.dropped))
	}
	return s.skipped
}

// toolLabel names a tool that may be malformed.
func toolLabel(raw json.RawMessage) string {
	var named struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(raw, &named) != nil && named.Name == "" {
		return "a tool without a usable name"
	}
	if named.Name == "" {
		return "a tool without a name"
	}
	return cutText(visible(named.Name), 80)
}

// decodeTool reads one entry of a tool list. Its schemas are kept as they came,
// since decoding them would lose keywords.
func decodeTool(raw json.RawMessage) (schemas.ToolInfo, error) {
	var tool struct {
		Name         string                  `json:"name"`
		Title        string                  `json:"title"`
		Description  string                  `json:"description"`
		InputSchema  json.RawMessage         `json:"inputSchema"`
		OutputSchema json.RawMessage         `json:"outputSchema"`
		Annotations  schemas.ToolAnnotations `json:"annotations"`
		Execution    struct {
			TaskSupport string `json:"taskSupport"`
		} `json:"execution"`
	}
	if err := schemas.Decode(raw, &tool); err != nil {
		return schemas.ToolInfo{}, err
	}
	if err := validateName(tool.Name); err != nil {
		return schemas.ToolInfo{}, fmt.Errorf("its name %w", err)
	}
	if tool.Execution.TaskSupport == "required" {
		return schemas.ToolInfo{}, errors.New("it runs only as a task, which needs another kind of call")
	}
	input, err := schemaObject("inputSchema", tool.InputSchema)
	if err != nil {
		return schemas.ToolInfo{}, err
	}
	if input == nil {
		input = json.RawMessage(`{"type":"object"}`)
	}
	output, err := schemaObject("outputSchema", tool.OutputSchema)
	if err != nil {
		return schemas.ToolInfo{}, err
	}
	return schemas.ToolInfo{
		ToolName: tool.Name, Title: cutText(visible(tool.Title), 200),
		Description: cutText(visible(tool.Description), maxDescription),
		InputSchema: input, OutputSchema: output, Annotations: tool.Annotations,
	}, nil
}

// schemaObject returns nil for an absent schema.
func schemaObject(field string, raw json.RawMessage) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if isNull(raw) {
		return nil, nil
	}
	if raw[0] != '{' {
		return nil, fmt.Errorf("its %s is not an object", field)
	}
	return raw, nil
}

// cutText shortens s to at most limit bytes, at the border of a rune and with a
// mark.
func cutText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return s[:runeBorder(s, max(0, limit-len(cutMark)))] + cutMark
}

// runeBorder returns the largest border of a rune in s that is at most n.
func runeBorder(s string, n int) int {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}
