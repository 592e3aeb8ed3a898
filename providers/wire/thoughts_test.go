package wire_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"molar/providers"
	"molar/schemas"
)

// What a model thinks aloud in its answer is thinking on every wire, in the passes that
// people read along and in those that nobody does, however the answer is cut.
func TestThinkingAloud(t *testing.T) {
	t.Parallel()
	const plan, answer = "Be brief; 1 < 2.", "Brush twice, not < once."
	for name, said := range map[string]string{
		"think":       "<think>" + plan + "</think>\n\n" + answer,
		"thinking":    "\n<thinking>" + plan + "</thinking>" + answer,
		"reasoning":   "<reasoning>" + plan + "</reasoning>\n" + answer,
		"only closed": plan + "</think>\n\n" + answer,
		"harmony":     "<|channel|>analysis<|message|>" + plan + "<|end|><|start|>assistant<|channel|>final<|message|>" + answer + "<|return|>",
		"harmony, whose last mark the server keeps": "<|channel|>analysis<|message|>" + plan + "<|end|><|start|>assistant<|channel|>final<|message|>" + answer,
		"harmony with the role before":              "<|start|>assistant<|channel|>analysis<|message|>" + plan + "<|start|>assistant<|channel|>final <|constrain|>text<|message|>" + answer,
	} {
		for _, w := range wires() {
			for _, size := range []int{1, 7, 1000} {
				for _, pass := range []providers.Pass{providers.PassAnswer, providers.PassGuardrail, providers.PassSummary} {
					t.Run(fmt.Sprint(w.name, "/", name, "/", size, "/", pass), func(t *testing.T) {
						t.Parallel()
						p, err := w.open(&http.Client{Transport: &service{body: whole(w.says(said, size))}})
						if err != nil {
							t.Fatal(err)
						}
						var text, thinking string
						req := providers.Request{Model: "m", Pass: pass, Messages: []schemas.Message{schemas.Text(schemas.RoleUser, "q")}}
						for c, err := range p.Stream(t.Context(), req) {
							if err != nil {
								t.Fatal(err)
							}
							if c.Retract {
								text, thinking = "", thinking+text
							}
							text += c.Text
							thinking += c.Thinking
						}
						if text != answer || !strings.Contains(thinking, plan) {
							t.Errorf("thinking %q, text %q", thinking, text)
						}
					})
				}
			}
		}
	}
}

// A call in a message to a function is a call.
func TestThinkingAloud_HarmonyCall(t *testing.T) {
	t.Parallel()
	const said = `<|channel|>analysis<|message|>I look it up.<|end|><|start|>assistant<|channel|>commentary to=functions.w__find <|constrain|>json<|message|>{"city":"Huế"}<|call|>`
	for _, w := range wires() {
		for _, text := range []string{said, strings.TrimSuffix(said, "<|call|>"), strings.Replace(said, "<|channel|>commentary to=functions.w__find", " to=functions.w__find<|channel|>commentary", 1)} {
			p, err := w.open(&http.Client{Transport: &service{body: whole(w.says(text, 5))}})
			if err != nil {
				t.Fatal(err)
			}
			req := providers.Request{
				Model: "m", Pass: providers.PassTool, Messages: []schemas.Message{schemas.Text(schemas.RoleUser, "q")},
				Tools: []schemas.ToolInfo{{Name: "w__find", InputSchema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)}},
			}
			got, said, err := read(t, p, req)
			if len(said.Calls()) != 1 || got.Calls[0] != `w__find {"city":"Huế"}` || got.Text != "" || err != nil {
				t.Errorf("%s: %+v, %v", w.name, got, err)
			}
		}
	}
}
