package schemas_test

import (
	"encoding/json"
	"testing"

	"molar/schemas"
)

func TestToolResult_FoundNothing(t *testing.T) {
	reads, writes := true, false
	for _, test := range []struct {
		output string
		reads  bool
		want   bool
	}{
		{`{"results": []}`, false, true},
		{`{"results": [{"title": "x"}], "orders": []}`, true, false},
		{`""`, true, true},
		{`""`, false, false},
		{`[]`, true, true},
		{`"[]"`, true, true},
		{`null`, true, true},
		{`[]`, false, false},
		{`{"found": false, "orders": [], "next": ""}`, true, true},
		{`{"total": 0, "page": {"items": []}}`, true, true},
		{`{"total": 2, "orders": []}`, true, false},
		{`{"orders": [[]]}`, true, false},
		{`{"balance": 0}`, true, false},
		{`{}`, true, false},
		{`0`, true, false},
		{`"no orders"`, true, false},
	} {
		hint := &writes
		if test.reads {
			hint = &reads
		}
		r := schemas.ToolResult{Output: json.RawMessage(test.output)}
		if got := r.FoundNothing(schemas.ToolAnnotations{ReadOnlyHint: hint}); got != test.want {
			t.Errorf("%s, reads %t: %t, want %t", test.output, test.reads, got, test.want)
		}
	}
}
