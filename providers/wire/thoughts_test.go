package wire_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"molar/providers"
	"molar/schemas"
)

// Thoughts that a model writes into its answer are thinking on every wire, in passes with and
// without a reader, in any chunking.
func TestThinkingAloud(t *testing.T) {
	t.Parallel()
	const plan, answer = "Be brief; 1 < 2.", "Brush twice, not < once."
	const word = "The tag `<think>` opens, `</think>` closes."
	for name, c := range map[string]struct{ said, thinking, text string }{
		"think":           {"<think>\n" + plan + "</think>\n\n" + answer, "\n" + plan, answer},
		"thinking":        {"\n<thinking>" + plan + "</thinking>" + answer, plan, answer},
		"reasoning":       {"<reasoning>" + plan + "</reasoning>\n" + answer, plan, answer},
		"two blocks":      {"<think>One.</think>\n<think>Two.</think>\n" + answer, "One.Two.", answer},
		"only closed":     {plan + "</think>\n\n" + answer, plan, answer},
		"not closed":      {"<think>" + plan, plan, ""},
		"another tag":     {"<thin>" + answer, "", "<thin>" + answer},
		"the tag, a word": {word, "", word},
		"less than":       {"1 < 2", "", "1 < 2"},
		"harmony":         {"<|channel|>analysis<|message|>" + plan + "<|end|><|start|>assistant<|channel|>final<|message|>" + answer + "<|return|>", plan, answer},
		"harmony, whose last mark the server keeps": {"<|channel|>analysis<|message|>" + plan + "<|end|><|start|>assistant<|channel|>final<|message|>" + answer, plan, answer},
		"harmony, said before a call":               {"<|channel|>analysis<|message|>" + plan + "<|end|><|start|>assistant<|channel|>commentary<|message|>" + answer + "<|end|>", plan, answer},
		"harmony with the role before":              {"<|start|>assistant<|channel|>analysis<|message|>" + plan + "<|start|>assistant<|channel|>final <|constrain|>text<|message|>" + answer, plan, answer},
	} {
		for _, w := range wires() {
			for _, size := range []int{1, 3, 7, 1000} {
				for _, pass := range []providers.Pass{providers.PassAnswer, providers.PassGuardrail, providers.PassSummary} {
					req := question()
					req.Pass = pass
					got, _, err := read(t, w.over(t, whole(w.says(c.said, size))), req)
					if got.Text != c.text || got.Thinking != c.thinking || (err == nil) != (c.text != "") {
						t.Errorf("%s, %s in pieces of %d, %s: thinking %q, text %q, %v", w.name, name, size, pass, got.Thinking, got.Text, err)
					}
				}
			}
		}
	}
}

// A model whose template opens the block ends it without having begun it. The first time this is
// known only at the end of the thoughts; later it is remembered, until the model answers without
// a thought.
func TestThinkingAloud_OnlyEnds(t *testing.T) {
	t.Parallel()
	for _, w := range wires() {
		said := w.piece("The person wants ") + w.piece("brevity.\n</th") + w.piece("ink>\n\nBrush.") + w.end
		p := w.over(t, func() io.Reader { return strings.NewReader(said) })
		for try, want := range []string{"The person wants brevity.\nBrush.", "Brush.", "Floss, too.", "Floss, too."} {
			if try == 2 {
				said = w.piece("Floss, ") + w.piece("too.") + w.end
			}
			shown := ""
			for chunk, err := range p.Stream(t.Context(), question()) {
				if err != nil {
					t.Fatal(err)
				}
				shown += chunk.Text
			}
			if shown != want {
				t.Errorf("%s: %q was shown in try %d", w.name, shown, try)
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
			p := w.over(t, whole(w.says(text, 5)))
			req := providers.Request{
				Model: "m", Pass: providers.PassTool, Messages: question().Messages,
				Tools: []schemas.ToolInfo{{Name: "w__find", InputSchema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)}},
			}
			got, said, err := read(t, p, req)
			if len(said.Calls()) != 1 || got.Calls[0] != `w__find {"city":"Huế"}` || got.Text != "" || err != nil {
				t.Errorf("%s: %+v, %v", w.name, got, err)
			}
		}
	}
}
