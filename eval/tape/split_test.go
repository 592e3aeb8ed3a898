package tape_test

import (
	"bytes"
	"strings"
	"testing"

	"molar/eval/edge"
	"molar/eval/tape"
)

// TestSplit_verdict: a verdict that a conversation had from memory goes with it, so that
// a host that has not judged yet can replay it.
func TestSplit_verdict(t *testing.T) {
	text := head + strings.Join([]string{
		`{"type":"user","turn":1,"conversation":"chat_a","text":"Is it so?"}`,
		`{"type":"model_request","seq":1,"turn":1,"pass":"guardrail","body":{"q":"Is it so?"}}`,
		`{"type":"model_chunk","seq":1,"n":1,"raw":"YES"}`,
		`{"type":"model_end","seq":1,"n":1}`,
		`{"type":"guardrail","turn":1,"decision":"pass"}`,
		`{"type":"answer","turn":1,"text":"first"}`,
		`{"type":"user","turn":2,"conversation":"chat_b","text":"is it so?"}`,
		`{"type":"guardrail","turn":2,"decision":"pass"}`,
		`{"type":"answer","turn":2,"text":"second"}`,
		`{"type":"user","turn":3,"conversation":"chat_c","text":"Another?"}`,
		`{"type":"guardrail","turn":3,"decision":"pass"}`,
		`{"type":"answer","turn":3,"text":"third"}`, ``,
	}, "\n")
	parts, err := tape.Split("t", strings.NewReader(text), func(c string) string { return c })
	if err != nil || len(parts) != 3 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	for i, want := range []int{1, 1, 0} {
		if n := strings.Count(string(parts[i].Tape), `"pass":"guardrail"`); n != want {
			t.Errorf("part %d has %d verdicts, want %d", i, n, want)
		}
		p, err := edge.NewPlayer(edge.PlayerConfig{Name: "p", File: bytes.NewReader(parts[i].Tape), Size: int64(len(parts[i].Tape))})
		if err != nil {
			t.Fatal(err)
		}
		causes, follows := p.Finish()
		for _, d := range append(causes, follows...) {
			if i == 1 && strings.Contains(d.Where, "guardrail") {
				t.Errorf("a verdict from memory that nobody asked for is drift: %+v", d)
			}
		}
	}
}

// TestSplit takes two conversations apart whose turns and summaries are interleaved.
func TestSplit(t *testing.T) {
	text := head + strings.Join([]string{
		`{"type":"mcp","server":"s","dir":"c2s","frame":{"jsonrpc":"2.0","id":1,"method":"tools/list"}}`,
		`{"type":"mcp","server":"s","dir":"s2c","frame":{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}}`,
		`{"type":"user","turn":1,"conversation":"chat_a","assistant":"x","text":"Hello"}`,
		`{"type":"model_request","seq":1,"turn":1,"pass":"answer","body":{"q":"Hello"}}`,
		`{"type":"user","turn":2,"conversation":"chat_b","assistant":"x","text":"Hello"}`,
		`{"type":"model_chunk","seq":1,"n":1,"raw":"one"}`,
		`{"type":"model_end","seq":1}`,
		`{"type":"answer","turn":1,"text":"first","done":{"model_calls":1,"tool_calls":0,"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}}}`,
		`{"type":"answer","turn":2,"text":"second"}`,
		`{"type":"model_request","seq":2,"pass":"summary","body":{"q":"Hello second"}}`,
		`{"type":"model_end","seq":2}`,
		`{"type":"user","turn":3,"conversation":"chat_a","assistant":"x","text":"More"}`,
		`{"type":"answer","turn":3,"text":"third"}`,
		`{"type":"us`, // torn
	}, "\n")
	parts, err := tape.Split("t", strings.NewReader(text), func(c string) string { return "case-" + c })
	if err != nil || len(parts) != 2 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	for i, want := range []struct {
		turns     int
		questions string
		summary   bool
	}{{2, "Hello first,More third,", false}, {1, "Hello second,", true}} {
		story, err := tape.Tell("t", bytes.NewReader(parts[i].Tape))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, turn := range story.Turns {
			got += turn.User + " " + turn.Answer + ","
		}
		if got != want.questions || parts[i].Turns != want.turns || story.Header.Case != "case-"+parts[i].Conversation {
			t.Errorf("part %d: %d turns, %q, header %+v", i, parts[i].Turns, got, story.Header)
		}
		if has := strings.Contains(string(parts[i].Tape), `"pass":"summary"`); has != want.summary {
			t.Errorf("part %d holds a summary: %v", i, has)
		}
		if !strings.Contains(string(parts[i].Tape), "tools/list") {
			t.Errorf("part %d lacks the list of tools", i)
		}
	}
}
