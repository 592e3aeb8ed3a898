package config_test

import (
	"strings"
	"testing"
)

func TestLoad_Budgets(t *testing.T) {
	endpoint := "llm:\n  provider: fast\n  providers:\n    fast: {api: openai, base_url: http://127.0.0.1:1/v1, model: m"
	for name, tt := range map[string]struct{ text, want string }{
		"good":           {endpoint + ", price: {input: 1, output: 2}}\nbudgets: {all: {per: month, money: 2}}", ""},
		"tokens":         {"budgets: {person: {per: day, tokens: 20}}", ""},
		"no price":       {endpoint + "}\nbudgets: {all: {per: month, money: 2}}", `llm.providers.fast.price: budgets count money, and the endpoint "fast" may answer`},
		"an assistant's": {endpoint + ", price: {input: 1}}\nbudgets: {all: {per: month, money: 2}}\nassistants: {x: {description: x, model: m}}", ""},
		"its price":      {endpoint + ", price: {input: 1}}\nbudgets: {all: {per: month, money: 2}}\nassistants: {x: {description: x, model: dear}}", `assistants.x.model: budgets count money, and "dear" has no price`},
		"no period":      {"budgets: {all: {tokens: 2}}", "budgets.all.per"},
		"nothing":        {"budgets: {key: {per: day}}", "budgets.key: want tokens or money"},
		"unknown group":  {"budgets: {groups: {ghosts: {per: day, tokens: 2}}}", `there is no group "ghosts"`},
		"unknown period": {"budgets: {all: {per: week, tokens: 2}}", "budgets.all.per"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, tt.text)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}
