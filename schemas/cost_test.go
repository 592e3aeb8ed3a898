package schemas_test

import (
	"encoding/json"
	"testing"

	"molar/schemas"
)

func TestPrice(t *testing.T) {
	t.Parallel()
	usage := schemas.Usage{PromptTokens: 1000, CompletionTokens: 200, TotalTokens: 1200, CachedTokens: 400, ReasoningTokens: 150}
	for name, tt := range map[string]struct {
		price schemas.Price
		usage schemas.Usage
		want  string
	}{
		"input and output":        {schemas.Price{Input: 2.5, Output: 10}, usage, "0.0045"}, // thinking is a part of the output
		"a cache":                 {schemas.Price{Input: 2.5, Cached: new(0.25), Output: 10}, usage, "0.0036"},
		"a free cache":            {schemas.Price{Input: 2.5, Cached: new(0.0), Output: 10}, usage, "0.0035"},
		"less than a cent":        {schemas.Price{Input: 0.0375}, schemas.Usage{PromptTokens: 1}, "0.000000038"},
		"more cached than prompt": {schemas.Price{Input: 1}, schemas.Usage{PromptTokens: 1e6, CachedTokens: 2e6}, "1"},
		"no price":                {schemas.Price{}, usage, "0"},
	} {
		if got := tt.price.Of(tt.usage).String(); got != tt.want || tt.price.IsSet() != (name != "no price") {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// Sums are exact, and a cost that is not known is left out.
func TestCost(t *testing.T) {
	t.Parallel()
	var sum schemas.Usage
	for range 10 {
		sum = sum.Add(schemas.Usage{Cost: schemas.NewCost(0.1)})
	}
	if got := sum.Cost.String(); got != "1" {
		t.Errorf("ten times 0.1 are %s", got)
	}
	for in, want := range map[schemas.Cost]string{
		0:                     `{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}`,
		schemas.NewCost(1.25): `{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0,"cost":1.25}`,
	} {
		data, err := json.Marshal(schemas.Usage{Cost: in})
		if err != nil || string(data) != want {
			t.Errorf("%s, %v", data, err)
		}
		var back schemas.Usage
		if err := json.Unmarshal(data, &back); err != nil || back.Cost != in {
			t.Errorf("%s is read as %v, %v", data, back.Cost, err)
		}
	}
	if schemas.NewCost(-1) != 0 || schemas.NewCost(1e300) != 0 {
		t.Error("an impossible amount is a cost")
	}
}
