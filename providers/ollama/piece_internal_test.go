package ollama

import (
	"encoding/json"
	"reflect"
	"testing"
)

const pieceHead = `{"model":"qwen3:8b","created_at":"2025-07-07T20:22:19.184789Z","message":{"role":"assistant",`

func TestReadPiece(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][2]string{
		pieceHead + `"content":" răng"},"done":false}`:                                  {" răng", ""},
		pieceHead + `"content":""},"done":false}`:                                       {"", ""},
		pieceHead + `"content":"","thinking":"The person"},"done":false}`:               {"", "The person"},
		pieceHead + `"content":"1 < 2, 'x'","thinking":"{}"},"done":false}`:             {"1 < 2, 'x'", "{}"},
		`{"model":"","created_at":"","message":{"role":"","content":"a"},"done":false}`: {"a", ""},
	} {
		content, thinking, ok := readPiece([]byte(line))
		if got := [2]string{content, thinking}; !ok || got != want {
			t.Errorf("%s: got %q, %v", line, got, ok)
		}
	}
	for _, line := range []string{
		"", "{", pieceHead, pieceHead + `"content":"a`, pieceHead + `"content":"a"}`,
		pieceHead + `"content":"a"},"done":true}`,
		pieceHead + `"content":"a"},"done":false} `,
		pieceHead + `"content":"a"},"done":false,"error":"out of memory"}`,
		pieceHead + `"content":"a","tool_calls":[{"function":{"name":"f","arguments":{}}}]},"done":false}`,
		pieceHead + `"content":"a","Content":"b"},"done":false}`,
		pieceHead + `"content":"a\n"},"done":false}`,
		pieceHead + `"content":"\u003c"},"done":false}`,
		pieceHead + `"content":"\"},"done":false}`,
		pieceHead + "\"content\":\"a\tb\"},\"done\":false}",
		pieceHead + "\"content\":\"\xff\"},\"done\":false}",
		pieceHead + `"content":null},"done":false}`,
		`{"error":"model failed"}`,
	} {
		if content, thinking, ok := readPiece([]byte(line)); ok {
			t.Errorf("%s: read as %q, %q", line, content, thinking)
		}
	}
}

// encoding/json must read every line that is read by hand, as the same piece and nothing else.
func FuzzReadPiece(f *testing.F) {
	f.Add([]byte(pieceHead + `"content":" răng"},"done":false}`))
	f.Add([]byte(pieceHead + `"content":"","thinking":"hm"},"done":false}`))
	f.Add([]byte(pieceHead + `"content":"a\n\u003c\"b"},"done":false}`))
	f.Add([]byte(pieceHead + `"content":"a","tool_calls":[]},"done":false}`))
	f.Add([]byte(`{"model":"` + "\xff" + `","created_at":"","message":{"role":"","content":"` + "\xc3" + `"},"done":false}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		content, thinking, ok := readPiece(data)
		if !ok {
			return
		}
		var got, want chatLine
		want.Message.Content, want.Message.Thinking = content, thinking
		if err := json.Unmarshal(data, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: encoding/json reads %+v, %v", data, got, err)
		}
	})
}
