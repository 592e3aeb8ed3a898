package schemas_test

import (
	"errors"
	"strings"
	"testing"

	"molar/schemas"
)

func TestCheckJSON(t *testing.T) {
	tests := []struct {
		name, text string
		ok         bool
	}{
		{"object", `{"a":[1,{"b":null}],"c":"x"}`, true},
		{"scalar", ` 12 `, true},
		{"equal keys in different objects", `[{"a":1},{"a":2}]`, true},
		{"empty", ``, false},
		{"key twice", `{"a":1,"a":2}`, false},
		{"key twice but for case", `{"method":1,"Method":2}`, false},
		{"key twice but for an old form of s", `{"messages":1,"meſſages":2}`, false},
		{"key twice but for the Kelvin sign", `{"key":1,"\u212aey":2}`, false},
		{"key twice but for its escape", `{"a\"b":1,"\u0061\"b":2}`, false},
		{"key twice after many", `{"k0":0,"k1":0,"k2":0,"k3":0,"k4":0,"k5":0,"k6":0,"k7":0,"k8":0,"k9":0,"ka":0,"kb":0,"kc":0,"kd":0,"ke":0,"kf":0,"kg":0,"KG":0}`, false},
		{"a value like a key", `{"a":"b","b":["a","a,{"],"c":"\\"}`, true},
		{"NUL in a key", `{"a\u0000":1}`, false},
		{"two values", `{} {}`, false},
		{"cut", `{"a":`, false},
		{"invalid UTF-8", "\"\xff\"", false},
		{"trailing comma", `[1,]`, false},
		{"deep enough", strings.Repeat("[", schemas.MaxDepth) + strings.Repeat("]", schemas.MaxDepth), true},
		{"too deep", strings.Repeat("[", schemas.MaxDepth+1) + strings.Repeat("]", schemas.MaxDepth+1), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := schemas.CheckJSON([]byte(tt.text))
			if (err == nil) != tt.ok || err != nil && !errors.Is(err, schemas.ErrNotJSON) {
				t.Errorf("error %v, want ok %v", err, tt.ok)
			}
		})
	}
}

func BenchmarkCheckJSON(b *testing.B) {
	text := []byte(`{"jsonrpc":"2.0","id":7,"method":"memory/save_turn","params":{"conversation_id":"chat_1","user":"who is it?","answer":"` +
		strings.Repeat("a family of four, ", 60) + `","rounds":[{"message":{"role":"assistant","calls":[{"id":"1","name":"get"}]}}]}}`)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if err := schemas.CheckJSON(text); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzCheckJSON(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":null}]}`))
	f.Add([]byte(`{"a":1,"A":2}`))
	f.Add([]byte(`{"s":1,"ſ":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v any
		if err := schemas.Decode(data, &v); err == nil && schemas.CheckJSON(data) != nil {
			t.Errorf("decoded what the check refuses: %q", data)
		}
	})
}
