package importers

import (
	"encoding/json"
	"io"

	"molar/eval/tape"
)

// ExportOpenAI writes what a tape tells as OpenAI messages, one conversation a line.
func ExportOpenAI(w io.Writer, id, system string, story *tape.Story) error {
	line := openAILine{ID: id}
	text := func(s string) json.RawMessage {
		data, err := json.Marshal(s)
		if err != nil {
			return json.RawMessage(`""`)
		}
		return data
	}
	if system != "" {
		line.Messages = append(line.Messages, openAIMessage{Role: "system", Content: text(system)})
	}
	used := make(map[string]bool)
	for _, t := range story.Turns {
		line.Messages = append(line.Messages, openAIMessage{Role: "user", Content: text(t.User)})
		if len(t.Calls) > 0 {
			said := openAIMessage{Role: "assistant", Content: json.RawMessage("null")}
			for _, c := range t.Calls {
				call := openAICall{ID: c.Call.ID, Type: "function"}
				call.Function.Name, call.Function.Arguments = c.Call.Function.Name, c.Call.Function.Arguments
				said.ToolCalls = append(said.ToolCalls, call)
				if schema := story.Schemas[c.Server+"__"+c.Tool]; schema != nil && !used[call.Function.Name] {
					used[call.Function.Name] = true
					tool := openAITool{Type: "function"}
					tool.Function.Name, tool.Function.Parameters = call.Function.Name, schema
					line.Tools = append(line.Tools, tool)
				}
			}
			line.Messages = append(line.Messages, said)
			for _, c := range t.Calls {
				line.Messages = append(line.Messages, openAIMessage{Role: "tool", ToolCallID: c.Call.ID, Content: text(plainText(c.Output))})
			}
		}
		if t.Answer != "" {
			line.Messages = append(line.Messages, openAIMessage{Role: "assistant", Content: text(t.Answer)})
		}
	}
	if line.Tools == nil {
		line.Tools = []openAITool{}
	}
	out := struct {
		ID       string          `json:"id"`
		Messages []openAIMessage `json:"messages"`
		Tools    []openAITool    `json:"tools"`
	}{line.ID, line.Messages, line.Tools}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(out)
}
