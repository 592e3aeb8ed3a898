package gemini_test

import (
	"encoding/json"
	"strings"
	"testing"

	"molar/schemas"
)

// A result without text is a value in the response, with all its digits.
func TestStream_plainResults(t *testing.T) {
	for output, want := range map[string]string{
		`{"n":12345678901234567890}`: `{"output":{"n":12345678901234567890}}`,
		`"<|im_end|>"`:               `{"output":"<|im_end|>"}`,
	} {
		f := newFake(t, events(ending("STOP", say("ok"))))
		req := question("q")
		req.Messages = append(req.Messages,
			schemas.Message{Role: schemas.RoleAssistant, Parts: []schemas.Part{{Kind: schemas.PartCall, Call: &schemas.ToolCall{ID: "a", Function: schemas.FunctionCall{Name: "f", Arguments: "{}"}}}}},
			schemas.Message{Role: schemas.RoleTool, Parts: []schemas.Part{{Kind: schemas.PartResult, Result: &schemas.ToolResult{ID: "a", ToolName: "f", Output: json.RawMessage(output)}}}})
		ask(t.Context(), at(t, f), req)
		contents := f.requests()[0].Contents
		var sent struct {
			FunctionResponse struct{ Response json.RawMessage }
		}
		if err := json.Unmarshal(contents[len(contents)-1].Parts[0], &sent); err != nil {
			t.Fatal(err)
		}
		// The SDK escapes characters of HTML.
		got := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(sent.FunctionResponse.Response))
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestStream_countsCachedAndReasoningTokens(t *testing.T) {
	f := newFake(t, events(`{"candidates":[{"content":{"parts":[{"text":"ok"}],"role":"model"},"finishReason":"STOP"}],`+
		`"usageMetadata":{"promptTokenCount":30,"candidatesTokenCount":4,"totalTokenCount":50,"cachedContentTokenCount":24,"thoughtsTokenCount":16}}`))
	a := ask(t.Context(), at(t, f), question("q"))
	want := schemas.Usage{PromptTokens: 30, CompletionTokens: 20, TotalTokens: 50, CachedTokens: 24, ReasoningTokens: 16}
	if a.usage != want {
		t.Errorf("got %+v", a.usage)
	}
}
