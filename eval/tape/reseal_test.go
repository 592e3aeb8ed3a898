package tape_test

import (
	"strings"
	"testing"

	"molar/eval/tape"
)

func TestReseal(t *testing.T) {
	const line = `{"type":"mcp","server":"s","dir":"s2c","frame":{"jsonrpc":"2.0","id":1,"result":{"url":"http://127.0.0.1:4711"}},"sha":"0123456789ab"}` + "\n"
	const other = `{"type":"mark","mark":"turn"}` + "\n"
	first, err := tape.Reseal([]byte(line + other))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(first), "0123456789ab") || !strings.HasSuffix(string(first), other) {
		t.Errorf("got %s", first)
	}
	again, err := tape.Reseal(first)
	if err != nil || string(again) != string(first) {
		t.Errorf("a sealed tape became %s, %v", again, err)
	}
	moved, err := tape.Reseal([]byte(strings.Replace(string(first), "4711", "80", 1)))
	if err != nil || strings.Replace(string(moved), ":80", ":4711", 1) == string(first) {
		t.Errorf("another address has the same hash: %s, %v", moved, err)
	}
	if _, err := tape.Reseal([]byte("{")); err == nil {
		t.Error("half a line was taken")
	}
}
