package chat

import (
	"encoding/json"
	"fmt"

	"molar/schemas"
	"molar/web/wire"
)

// A wireTool is a tool that the client declares and runs.
type wireTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// A toolChoice is a request's choice among the tools.
type toolChoice struct {
	tools []schemas.ToolInfo
	// none means that no tool is offered, must that the model has to call one: name, if set.
	none, must bool
	name       string
}

// tools reads the client's tools and tool_choice.
func (q *chatRequest) tools() (toolChoice, error) {
	var c toolChoice
	if err := c.readChoice(q.ToolChoice); err != nil || c.none {
		return c, err
	}
	if len(q.Functions) > 0 {
		return c, wire.Unsupported("functions", "functions is an older form that is not supported; declare them as tools")
	}
	if len(q.Tools) > wire.MaxTools {
		return c, wire.Invalid("tools", "%d tools are more than the %d that a request may bring", len(q.Tools), wire.MaxTools)
	}
	seen := make(map[string]bool, len(q.Tools))
	for i, t := range q.Tools {
		tool, err := t.read(fmt.Sprintf("tools[%d]", i))
		if err != nil {
			return c, err
		}
		if seen[tool.Name] {
			return c, wire.Invalid(fmt.Sprintf("tools[%d].function.name", i), "the tool %q is declared twice", tool.Name)
		}
		seen[tool.Name] = true
		c.tools = append(c.tools, tool)
	}
	return c, nil
}

func (t wireTool) read(at string) (schemas.ToolInfo, error) {
	name, parameters := t.Function.Name, t.Function.Parameters
	switch {
	case t.Type != "" && t.Type != "function":
		return schemas.ToolInfo{}, wire.Unsupported(at+".type", fmt.Sprintf("a tool of type %q cannot be called here; use function", wire.Clip(t.Type, 40)))
	case !wire.IsToolName(name):
		return schemas.ToolInfo{}, wire.Invalid(at+".function.name", "a tool's name is 1 to %d characters of A-Z a-z 0-9 _ -", wire.MaxToolName)
	case len(parameters) == 0 || string(parameters) == "null":
		parameters = json.RawMessage(`{"type":"object","properties":{}}`)
	case parameters[0] != '{':
		return schemas.ToolInfo{}, wire.Invalid(at+".function.parameters", "%s.function.parameters must be a JSON Schema object", at)
	}
	return schemas.ToolInfo{Name: name, ToolName: name, Description: t.Function.Description, InputSchema: parameters}, nil
}

// readChoice reads tool_choice: a word, or an object that names a function.
func (c *toolChoice) readChoice(raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if raw[0] == '"' {
		var word string
		if err := wire.Decode(raw, &word, "tool_choice"); err != nil {
			return err
		}
		switch word {
		case "none":
			c.none = true
		case "auto":
		case "required":
			c.must = true
		default:
			return wire.Invalid("tool_choice", "tool_choice %q is not known; use none, auto, required or an object that names a function", wire.Clip(word, 40))
		}
		return nil
	}
	var named wireTool
	if raw[0] != '{' || json.Unmarshal(raw, &named) != nil {
		return wire.Invalid("tool_choice", "tool_choice must be a string or an object")
	}
	if named.Type != "function" || !wire.IsToolName(named.Function.Name) {
		return wire.Invalid("tool_choice", `an object in tool_choice must be {"type":"function","function":{"name":"…"}}`)
	}
	c.must, c.name = true, named.Function.Name
	return nil
}
