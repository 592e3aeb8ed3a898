package lower_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/schemas/lower"
)

// checkAnthropic checks what the service's refusals say of input_schema: no alternatives at the top, and
// plain names of its properties.
func checkAnthropic(t *testing.T, raw json.RawMessage) {
	t.Helper()
	var root map[string]json.RawMessage
	var properties map[string]json.RawMessage
	if err := json.Unmarshal(raw, &root); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		if root[key] != nil {
			t.Errorf("%s at the top of %s", key, raw)
		}
	}
	if err := json.Unmarshal(root["properties"], &properties); err != nil {
		t.Errorf("no properties in %s", raw)
	}
	for name := range properties {
		if !regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`).MatchString(name) {
			t.Errorf("a property %q in %s", name, raw)
		}
	}
}

func TestForAnthropic(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 65)
	for name, tt := range map[string]struct {
		in, want string
		wrapped  bool
	}{
		"plain":        {`{"properties":{"a.b-c_1":{"type":"string"}},"required":["a.b-c_1"]}`, `{"type":"object","properties":{"a.b-c_1":{"type":"string"}},"required":["a.b-c_1"]}`, false},
		"nothing":      {``, `{"type":"object","properties":{}}`, false},
		"brackets":     {`{"properties":{"filter[id]":{"type":"string"}}}`, `{"type":"object","properties":{"input":{"type":"object","properties":{"filter[id]":{"type":"string"}}}},"required":["input"]}`, true},
		"a long name":  {`{"properties":{"` + long + `":{"type":"string"}}}`, `{"type":"object","properties":{"input":{"type":"object","properties":{"` + long + `":{"type":"string"}}}},"required":["input"]}`, true},
		"deeper down":  {`{"properties":{"a":{"type":"object","properties":{"é":{"type":"string"}}}}}`, `{"type":"object","properties":{"a":{"type":"object","properties":{"é":{"type":"string"}}}}}`, false},
		"alternatives": {`{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"required":["a"]},{}]}`, `{"type":"object","properties":{"a":{"type":"string"}}}`, false},
	} {
		got, err := lower.ForAnthropic(json.RawMessage(tt.in))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, string(got.Schema)); diff != "" || got.Wrapped != tt.wrapped {
			t.Errorf("%s: wrapped %v %s", name, got.Wrapped, diff)
		}
		checkAnthropic(t, got.Schema)
	}
	if _, err := lower.ForAnthropic(json.RawMessage(`false`)); !errors.Is(err, lower.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

func TestForAnthropicAnswer(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ in, want string }{
		"closed":       {`{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"enum":[1,2]}}}}}`, `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"integer","enum":[1,2]}},"additionalProperties":false}},"additionalProperties":false}`},
		"bounds":       {`{"type":"object","properties":{"n":{"type":"integer","minimum":1,"format":"int32"},"d":{"type":"string","format":"date"}}}`, `{"type":"object","properties":{"n":{"type":"integer","description":">= 1; format: int32"},"d":{"type":"string","format":"date"}},"additionalProperties":false}`},
		"lists":        {`{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"null"}]},"maxItems":3}`, `{"type":"array","description":"at most 3 items","items":{"anyOf":[{"type":"string"},{"type":"null"}]}}`},
		"a word":       {`{"enum":["YES","NO"]}`, `{"type":"string","enum":["YES","NO"]}`},
		"a map":        {`{"type":"object","additionalProperties":{"type":"string"}}`, ""},
		"anything":     {`{"type":"object","properties":{"a":{}}}`, ""},
		"any list":     {`{"type":"array"}`, ""},
		"nothing fits": {`{"enum":[]}`, ""},
	} {
		got, kept, err := lower.ForAnthropicAnswer(json.RawMessage(tt.in))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, string(got)); diff != "" || kept != (tt.want != "") {
			t.Errorf("%s: kept %v %s", name, kept, diff)
		}
	}
	if _, _, err := lower.ForAnthropicAnswer(json.RawMessage(`{`)); !errors.Is(err, lower.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}
