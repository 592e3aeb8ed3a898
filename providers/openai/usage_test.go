package openai_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"molar/schemas"
)

// Services count the tokens that they took from their cache in fields of their own.
func TestStream_CachedTokens(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]string{
		"OpenAI":                              `{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":7}}}`,
		"DeepSeek":                            `{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1,"prompt_cache_hit_tokens":7,"prompt_cache_miss_tokens":2}}`,
		"llama.cpp":                           `{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1},"timings":{"cache_n":7,"prompt_n":2}}`,
		"llama.cpp, usage before the timings": strings.TrimSuffix(stop, "}") + `,"usage":{"prompt_tokens":9,"completion_tokens":1},"timings":{"cache_n":7}}`,
	} {
		a := ask(t.Context(), at(t, newFake(t, stream(say("ab"), stop, last, done))), question("hi"))
		if a.err != nil || a.usage.CachedTokens != 7 || a.usage.TotalTokens != 10 {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// What services report of a call: their own figure of its cost, and thinking as a part of the output.
func TestUsage(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		usage string
		want  schemas.Usage
	}{
		"OpenRouter":              {`{"prompt_tokens":194,"completion_tokens":2,"total_tokens":196,"cost":0.00014,"is_byok":false,"cost_details":{"upstream_inference_cost":null}}`, schemas.Usage{PromptTokens: 194, CompletionTokens: 2, TotalTokens: 196, Cost: schemas.NewCost(0.00014)}},
		"a free model":            {`{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3,"cost":0}`, schemas.Usage{PromptTokens: 1, CompletionTokens: 2, TotalTokens: 3}},
		"Perplexity":              {`{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3,"cost":{"input_tokens_cost":0.001,"total_cost":0.006}}`, schemas.Usage{PromptTokens: 1, CompletionTokens: 2, TotalTokens: 3, Cost: schemas.NewCost(0.006)}},
		"a form nobody knows":     {`{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3,"cost":"cheap"}`, schemas.Usage{PromptTokens: 1, CompletionTokens: 2, TotalTokens: 3}},
		"null":                    {`{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3,"cost":null}`, schemas.Usage{PromptTokens: 1, CompletionTokens: 2, TotalTokens: 3}},
		"thinking in the output":  {`{"prompt_tokens":10,"completion_tokens":50,"total_tokens":60,"completion_tokens_details":{"reasoning_tokens":40}}`, schemas.Usage{PromptTokens: 10, CompletionTokens: 50, TotalTokens: 60, ReasoningTokens: 40}},
		"thinking beside it, xAI": {`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":55,"completion_tokens_details":{"reasoning_tokens":40}}`, schemas.Usage{PromptTokens: 10, CompletionTokens: 45, TotalTokens: 55, ReasoningTokens: 40}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: {\"choices\":[],\"usage\":%s}\n\ndata: [DONE]\n\n", tt.usage)
			})
			var got schemas.Usage
			for chunk, err := range at(t, f).Stream(t.Context(), question("Hi")) {
				if err != nil {
					t.Fatal(err)
				}
				if chunk.Usage != nil {
					got = *chunk.Usage
				}
			}
			if got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
}
