package importers

import (
	"encoding/json"
	"strings"

	"molar/eval/tape"
)

// A history is what a recorded request tells of the conversation.
type history struct {
	model, system string
	tools         []tape.ToolDef
	user          string
	results       []historyResult // of the last messages
	endsInResults bool
}

type historyResult struct {
	id, name string
	output   json.RawMessage
}

func readHistory(provider string, body []byte) (*history, error) {
	if provider == "gemini" {
		return geminiHistory(body)
	}
	return openAIHistory(body)
}

// openAIHistory reads the request of OpenAI's wire, and of Ollama's, which is alike.
func openAIHistory(body []byte) (*history, error) {
	var r struct {
		Model    string `json:"model"`
		Messages []struct {
			Role       string          `json:"role"`
			Content    json.RawMessage `json:"content"`
			ToolCallID string          `json:"tool_call_id"`
			ToolName   string          `json:"tool_name"`
			Name       string          `json:"name"`
		} `json:"messages"`
		Tools []openAITool `json:"tools"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, err
	}
	h := &history{model: r.Model}
	for i := range r.Tools {
		h.tools = append(h.tools, r.Tools[i].def())
	}
	for _, m := range r.Messages {
		text := textOf(m.Content)
		switch m.Role {
		case "system", "developer":
			h.system = strings.TrimSpace(h.system + "\n" + text)
		case "user":
			h.user, h.results, h.endsInResults = text, nil, false
		case "tool":
			name := m.ToolName
			if name == "" {
				name = m.Name
			}
			h.results = append(h.results, historyResult{id: m.ToolCallID, name: name, output: jsonOf(text)})
			h.endsInResults = true
		default:
			h.results, h.endsInResults = nil, false
		}
	}
	return h, nil
}

type geminiPart struct {
	Text         string `json:"text"`
	Thought      bool   `json:"thought"`
	FunctionCall *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	FunctionResponse *struct {
		ID       string          `json:"id"`
		Name     string          `json:"name"`
		Response json.RawMessage `json:"response"`
	} `json:"functionResponse"`
}

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

func geminiHistory(body []byte) (*history, error) {
	var r struct {
		Contents []geminiContent `json:"contents"`
		System   *geminiContent  `json:"systemInstruction"`
		Tools    []struct {
			Functions []struct {
				Name        string          `json:"name"`
				Description string          `json:"description"`
				Parameters  json.RawMessage `json:"parameters"`
				Schema      json.RawMessage `json:"parametersJsonSchema"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, err
	}
	h := &history{}
	if r.System != nil {
		h.system = r.System.text()
	}
	for _, t := range r.Tools {
		for _, f := range t.Functions {
			schema := f.Schema
			if len(schema) == 0 {
				schema = lowerTypes(f.Parameters)
			}
			h.tools = append(h.tools, tape.ToolDef{Name: f.Name, Description: f.Description, InputSchema: schema})
		}
	}
	for _, c := range r.Contents {
		var results []historyResult
		for _, p := range c.Parts {
			if f := p.FunctionResponse; f != nil {
				results = append(results, historyResult{id: f.ID, name: f.Name, output: f.Response})
			}
		}
		switch {
		case len(results) > 0:
			h.results, h.endsInResults = append(h.results, results...), true
		case c.Role == "model":
			h.results, h.endsInResults = nil, false
		case c.text() != "":
			h.user, h.results, h.endsInResults = c.text(), nil, false
		}
	}
	return h, nil
}

func (c *geminiContent) text() string {
	var texts []string
	for _, p := range c.Parts {
		if p.Text != "" && !p.Thought {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// lowerTypes writes Gemini's types in the words of JSON Schema: OBJECT as object.
func lowerTypes(raw json.RawMessage) json.RawMessage {
	var v any
	if len(raw) == 0 || json.Unmarshal(raw, &v) != nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	var walk func(v any, names bool) any
	walk = func(v any, names bool) any {
		switch v := v.(type) {
		case map[string]any:
			for key, value := range v {
				if text, ok := value.(string); ok && key == "type" && !names {
					v[key] = strings.ToLower(text)
					continue
				}
				v[key] = walk(value, key == "properties" && !names)
			}
		case []any:
			for i := range v {
				v[i] = walk(v[i], false)
			}
		}
		return v
	}
	data, err := json.Marshal(walk(v, false))
	if err != nil {
		return json.RawMessage(`{"type":"object"}`)
	}
	return data
}
