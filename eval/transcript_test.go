package eval_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"molar/eval"
	"molar/eval/tape"
)

// TestTranscript: a changed word is one changed line, also where a long result is cut, and no line is long.
func TestTranscript(t *testing.T) {
	transcript := func(word string) []string {
		var b bytes.Buffer
		w := tape.NewBuilder(&b, tape.Header{Case: "a", Route: tape.Route{Provider: "openai", Model: "m"}})
		w.Server("s", []tape.Tool{{Name: "f", InputSchema: json.RawMessage(`{"type":"object"}`)}})
		w.User("Who is there?")
		w.Exchange("answer", "POST", "/chat/completions", json.RawMessage(`{"messages":[{"role":"system","content":"Be `+word+`."}]}`), 200, "text/event-stream", []byte("data: [DONE]\n\n"))
		w.Call(1, "s", "f", call("s__f", `{"n":1}`), tape.Output(strings.Repeat("x", 500)+word), false)
		w.Answer(strings.Repeat("Ă", 400) + strings.Repeat(" word", 100) + " " + word)
		read, err := tape.Read("t", b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		return eval.Transcript(read)
	}
	was, now := transcript("brief"), transcript("short")
	if len(was) != len(now) {
		t.Fatalf("%q\n%q", was, now)
	}
	changed := 0
	for i, line := range was {
		if line != now[i] {
			changed++
		}
		if len(line) > 200 || !utf8.ValidString(line) {
			t.Errorf("line %q", line)
		}
	}
	if changed != 3 || !strings.Contains(strings.Join(was, "\n"), "  system, answer pass: Be brief.") {
		t.Errorf("%d lines changed:\n%s", changed, strings.Join(was, "\n"))
	}
}
