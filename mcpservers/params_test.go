package mcpservers_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"molar/mcpservers"
)

// The names of params are read by another parser than their values: both must see the same ones.
func FuzzDecodeParams(f *testing.F) {
	for _, params := range []string{
		``, `{}`, " {\n}\t", `{ "a" : 1 , "b_2":{"C":[{}]}}`, `{"A":1}`, `{"\u0061":"}"}`, `{"a\"":1}`, `{"":0}`, `[]`, `{"a":1,"a":2}`, `{"a":"\\"}`, `{"á":1}`, `{"a":1}x`,
	} {
		f.Add(params)
	}
	plain := regexp.MustCompile(`^[a-z0-9_]*$`)
	f.Fuzz(func(t *testing.T, params string) {
		if params == "" || params[0] != '{' { // how a request brings them
			return
		}
		var names map[string]json.RawMessage
		want := json.Unmarshal([]byte(params), &names) == nil
		for name := range names {
			want = want && plain.MatchString(name)
		}
		var into struct{}
		if err := mcpservers.DecodeParams(json.RawMessage(params), &into); (err == nil) != want {
			t.Errorf("%q: %v, want accepted: %t", params, err, want)
		}
	})
}
