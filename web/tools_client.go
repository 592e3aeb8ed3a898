package web

import (
	"encoding/json"
	"fmt"

	"molar/schemas"
)

// maxClientTools is how many tools a client may bring, and maxToolName how long the
// name of one may be.
const (
	maxClientTools = 128
	maxToolName    = 64
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

// A toolChoice is what a request says of tools.
type toolChoice struct {
	tools []schemas.ToolInfo
	// none offers no tool at all, must makes the model call one; name says which.
	none, must bool
	name       string
}

// tools reads the tools that the client brings, and the choice among them and those
// of the servers.
func (q *chatRequest) tools() (toolChoice, error) {
	var c toolChoice
	if err := c.readChoice(q.ToolChoice); err != nil || c.none {
		return c, err
	}
	if len(q.Functions) > 0 {
		return c, unsupported("functions", "functions is an older form that is not taken; declare them as tools")
	}
	if len(q.Tools) > maxClientTools {
		return c, invalid("tools", "%d tools are more than the %d that a request may bring", len(q.Tools), maxClientTools)
	}
	seen := make(map[string]bool, len(q.Tools))
	for i, t := range q.Tools {
		tool, err := t.read(fmt.Sprintf("tools[%d]", i))
		if err != nil {
			return c, err
		}
		if seen[tool.Name] {
			return c, invalid(fmt.Sprintf("tools[%d].function.name", i), "the tool %q is declared twice", tool.Name)
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
		return schemas.ToolInfo{}, unsupported(at+".type", fmt.Sprintf("a tool of type %q cannot be called here; use function", clip(t.Type, 40)))
	case !isToolName(name):
		return schemas.ToolInfo{}, invalid(at+".function.name", "a tool's name is 1 to %d characters of A-Z a-z 0-9 _ -", maxToolName)
	case len(parameters) == 0 || string(parameters) == "null":
		parameters = json.RawMessage(`{"type":"object","properties":{}}`)
	case parameters[0] != '{':
		return schemas.ToolInfo{}, invalid(at+".function.parameters", "%s.function.parameters must be a JSON Schema object", at)
	}
	return schemas.ToolInfo{Name: name, ToolName: name, Description: t.Function.Description, InputSchema: parameters}, nil
}

// isToolName matches the names that OpenAI's API takes for a function.
func isToolName(s string) bool {
	if s == "" || len(s) > maxToolName {
		return false
	}
	for _, c := range []byte(s) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// readChoice reads tool_choice: a word, or an object that names a function.
func (c *toolChoice) readChoice(raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if raw[0] == '"' {
		var word string
		if err := decode(raw, &word, "tool_choice"); err != nil {
			return err
		}
		switch word {
		case "none":
			c.none = true
		case "auto":
		case "required":
			c.must = true
		default:
			return invalid("tool_choice", "tool_choice %q is not known; use none, auto, required or an object that names a function", clip(word, 40))
		}
		return nil
	}
	var named wireTool
	if raw[0] != '{' || json.Unmarshal(raw, &named) != nil {
		return invalid("tool_choice", "tool_choice must be a string or an object")
	}
	if named.Type != "function" || !isToolName(named.Function.Name) {
		return invalid("tool_choice", `an object in tool_choice must be {"type":"function","function":{"name":"…"}}`)
	}
	c.must, c.name = true, named.Function.Name
	return nil
}
