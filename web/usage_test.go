package web_test

import (
	"strings"
	"testing"

	"molar/agent/answer"
	"molar/schemas"
)

// Cached and reasoning tokens are in the fields that OpenAI's clients read.
func TestChat_UsageDetails(t *testing.T) {
	end := done()
	end.Done.Usage = schemas.Usage{PromptTokens: 30, CompletionTokens: 20, TotalTokens: 50, CachedTokens: 24, ReasoningTokens: 16}
	h := handler(t, play(nil, []answer.Event{start(), text("Hi"), end}...))
	const want = `"usage":{"prompt_tokens":30,"completion_tokens":20,"total_tokens":50,` +
		`"prompt_tokens_details":{"cached_tokens":24},"completion_tokens_details":{"reasoning_tokens":16}}`
	for _, body := range []string{`{` + question + `}`, `{"stream":true,"stream_options":{"include_usage":true},` + question + `}`} {
		if w := post(h, body); !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %s", body, w.Body)
		}
	}
}
