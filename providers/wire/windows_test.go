package wire_test

import (
	"testing"

	"molar/providers/wire"
)

// The messages are those of services and servers; what they say in front of and behind the number
// differs, and most name the size of the prompt too.
func TestWindowIn(t *testing.T) {
	for message, want := range map[string]int{
		"This model's maximum context length is 8192 tokens. However, your messages resulted in 10240 tokens.":                             8192,
		"You passed 8193 input tokens and requested 0 output tokens. However, the model's context length is only 8192 tokens":              8192,
		"The decoder prompt (length 9000) is longer than the maximum model length of 4096.":                                                4096,
		"prompt is too long: 208310 tokens > 200000 maximum":                                                                               200_000,
		"The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).":                                          1_048_576,
		"request (9123 tokens) exceeds the available context size (4096 tokens), try increasing it":                                        4096,
		"Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 x": 4096,
		"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length":                           32_768,
		"This model's maximum prompt length is 131072 but the request contains 537812 tokens.":                                             131_072,
		"Please reduce the length of the messages or completion. Current length is 8211 while limit is 8192":                               8192,
		"inputs tokens + max_new_tokens must be <= 4096. Given: 3000 inputs tokens and 2000 max_new_tokens":                                4096,
		"This endpoint's maximum context length is 131,072 tokens. However, you requested about 200,000 tokens":                            131_072,
		"prompt too long; exceeded max context length by 512 tokens":                                                                       0,
		"the input length exceeds the context length":                                                                                      0,
		"Your input exceeds the context window of this model. Please adjust your input and try again.":                                     0,
	} {
		if got := wire.WindowIn(message); got != want {
			t.Errorf("%q names %d, want %d", message, got, want)
		}
		if !wire.IsOverflow(message) {
			t.Errorf("%q is no overflow", message)
		}
	}
}
