package openai_test

import (
	"strings"
	"testing"
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
