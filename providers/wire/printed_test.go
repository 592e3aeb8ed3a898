package wire_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"molar/providers"
	"molar/providers/chain"
	"molar/schemas"
)

// A call that a model prints as text is a call on every wire, by the offered or the own name of
// the tool, in any printed form; none of its text is shown.
func TestPrintedCalls(t *testing.T) {
	t.Parallel()
	tool := schemas.ToolInfo{
		Name: "family__get_family_details", Server: "family", ToolName: "get_family_details",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"familyId":{"type":"string"}},"required":["familyId"]}`),
	}
	forms := map[string]string{
		"a list of calls": `{"tool_calls":[{"id":"uuid-1234","function":{"name":"%s","arguments":"{\"familyId\":\"1a\"}"}}]}`,
		"pretty":          "{\n  \"tool_calls\": [\n    {\n      \"id\": \"uuid-1234\",\n      \"function\": {\n        \"name\": \"%s\",\n        \"arguments\": \"{\\\"familyId\\\":\\\"1a\\\"}\"\n      }\n    }\n  ]\n}",
		"fenced":          "```json\n{\"tool_calls\":[{\"id\":\"uuid-1234\",\"function\":{\"name\":\"%s\",\"arguments\":\"{\\\"familyId\\\":\\\"1a\\\"}\"}}]}\n```",
		"tagged":          "<tool_call>\n{\"name\":\"%s\",\"arguments\":{\"familyId\":\"1a\"}}\n</tool_call>",
		"after thoughts":  "<think>I look it up.</think>\n{\"name\":\"%s\",\"arguments\":{\"familyId\":\"1a\"}}",
	}
	for form, text := range forms {
		for _, called := range []string{tool.Name, tool.ToolName} {
			for _, w := range wires() {
				p := w.over(t, whole(w.says(fmt.Sprintf(text, called), 4)))
				req := providers.Request{
					Model: "m", Pass: providers.PassTool, Tools: []schemas.ToolInfo{tool},
					Messages: question().Messages,
				}
				got, _, err := read(t, p, req)
				if err != nil || got.Text != "" || len(got.Calls) != 1 || got.Calls[0] != `family__get_family_details {"familyId":"1a"}` {
					t.Errorf("%s, %s as %s: %+v, %v", w.name, form, called, got, err)
				}
				req.ForbidCalls = true
				if got, _, _ := read(t, p, req); len(got.Calls) > 0 {
					t.Errorf("%s, %s as %s, forbidden: %+v", w.name, form, called, got)
				}
			}
		}
	}
}

// An empty answer is requested again from every API, and is an error if the answers stay empty.
func TestEmptyAnswers(t *testing.T) {
	t.Parallel()
	for _, w := range wires() {
		for name, nothing := range map[string]string{"empty": w.end, "thoughts alone": w.thought("Let me see.") + w.end, "thoughts in the text": w.piece("<think>Let me see.</think>") + w.end} {
			for _, answers := range []int{2, 9} { // the number of the first answer with content
				asked := 0
				s := &service{}
				s.body = func() io.Reader {
					if asked++; asked <= answers {
						return strings.NewReader(nothing)
					}
					return strings.NewReader(w.says("Brush.", 3))
				}
				p := w.on(t, s)
				req := providers.Request{Model: "m", Pass: providers.PassAnswer, Messages: question().Messages}
				got, _, err := read(t, chain.Again(p, 0), req)
				if answers == 2 && (err != nil || got.Text != "Brush.") || answers == 9 && (err == nil || asked != 3) {
					t.Errorf("%s, %s: %+v after %d requests, %v", w.name, name, got, asked, err)
				}
			}
		}
	}
}
