package wire

import (
	"encoding/json"
	"strings"
)

// A Tool describes a tool, as MCP does.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// A Request is what a recorded request tells of its conversation.
type Request struct {
	Model, System string
	Tools         []Tool
	// User is the last text of the person, Results what the calls after it gave, when the
	// request ends in them.
	User          string
	Results       []Result
	EndsInResults bool
}

// A Result is what a call gave.
type Result struct {
	ID, Name string
	Output   json.RawMessage
}

// An OpenAITool is a tool in OpenAI's form, which Ollama's is too.
type OpenAITool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	} `json:"function"`
}

// Tool is the tool in MCP's form.
func (t *OpenAITool) Tool() Tool {
	return Tool{t.Function.Name, t.Function.Description, orAny(t.Function.Parameters)}
}

func orAny(schema json.RawMessage) json.RawMessage {
	if len(schema) == 0 {
		return json.RawMessage(`{"type":"object"}`)
	}
	return schema
}

// ReadRequest reads the body of a request.
func ReadRequest(provider string, body []byte) (*Request, error) {
	if provider == Gemini {
		return geminiRequest(body)
	}
	var in struct {
		Model    string       `json:"model"`
		Messages []Message    `json:"messages"`
		Tools    []OpenAITool `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	r := &Request{Model: in.Model}
	for i := range in.Tools {
		r.Tools = append(r.Tools, in.Tools[i].Tool())
	}
	for _, m := range in.Messages {
		text := TextOf(m.Content)
		switch m.Role {
		case "system", "developer":
			r.System = strings.TrimSpace(r.System + "\n" + text)
		case "user":
			r.said(text)
		case "tool":
			r.gave(Result{m.ToolCallID, m.ToolName + m.Name, JSONOf(text)})
		default:
			r.answered()
		}
	}
	return r, nil
}

func (r *Request) said(text string) { r.User, r.Results, r.EndsInResults = text, nil, false }
func (r *Request) answered()        { r.Results, r.EndsInResults = nil, false }
func (r *Request) gave(more ...Result) {
	r.Results, r.EndsInResults = append(r.Results, more...), true
}

func geminiRequest(body []byte) (*Request, error) {
	var in struct {
		Contents []content `json:"contents"`
		System   *content  `json:"systemInstruction"`
		Tools    []struct {
			Functions []struct {
				Name        string          `json:"name"`
				Description string          `json:"description"`
				Parameters  json.RawMessage `json:"parameters"`
				Schema      json.RawMessage `json:"parametersJsonSchema"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	r := &Request{}
	if in.System != nil {
		r.System = in.System.text()
	}
	for _, t := range in.Tools {
		for _, f := range t.Functions {
			schema := f.Schema
			if len(schema) == 0 {
				schema = lowerTypes(f.Parameters)
			}
			r.Tools = append(r.Tools, Tool{f.Name, f.Description, schema})
		}
	}
	for _, c := range in.Contents {
		var results []Result
		for _, p := range c.Parts {
			if f := p.FunctionResponse; f != nil {
				results = append(results, Result{f.ID, f.Name, f.Response})
			}
		}
		switch {
		case len(results) > 0:
			r.gave(results...)
		case c.Role == "model":
			r.answered()
		case c.text() != "":
			r.said(c.text())
		}
	}
	return r, nil
}

func (c *content) text() string {
	var texts []string
	for _, p := range c.Parts {
		if p.Text != "" && !p.Thought {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// JSONOf is a text as JSON: itself when it is some, else a string.
func JSONOf(text string) json.RawMessage {
	if json.Valid([]byte(text)) && strings.TrimSpace(text) != "" {
		return json.RawMessage(text)
	}
	return encode(text)
}

// lowerTypes writes Gemini's types in the words of JSON Schema: OBJECT as object.
func lowerTypes(raw json.RawMessage) json.RawMessage {
	var v any
	if json.Unmarshal(orAny(raw), &v) != nil {
		return orAny(nil)
	}
	var walk func(v any, names bool)
	walk = func(v any, names bool) {
		switch v := v.(type) {
		case object:
			for key, value := range v {
				if text, ok := value.(string); ok && key == "type" && !names {
					v[key] = strings.ToLower(text)
				}
				walk(value, key == "properties" && !names)
			}
		case []any:
			for _, item := range v {
				walk(item, false)
			}
		}
	}
	walk(v, false)
	return encode(v)
}
