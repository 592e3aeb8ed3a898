package _test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"molar/agent"
	"molar/schemas"
)

// needle stands at a place of a long result that no prompt shows at first.
const needle = "the key is under the third stone"

// longResult returns a result of 176 kB with the needle at 150 kB.
func longResult() string {
	var b strings.Builder
	for i := 0; b.Len() < 176_000; i++ {
		if b.Len() > 150_000 && b.Len() < 150_100 {
			b.WriteString("Line: " + needle + ".\n")
		}
		fmt.Fprintf(&b, "Line %d of the register, which goes on and on.\n", i)
	}
	return quote(b.String())
}

// strict makes the model refuse prompts that leave no room for an answer in its window: Ollama in
// the window that the request asks for. A token has three bytes. The refusal names the window where names is set.
func (m *model) strict(t *testing.T, window int, names bool) {
	m.refuses = func(b string) string {
		tokens := window
		if m.wire.name == "ollama" {
			tokens = min(cmp.Or(window, 32_768), cmp.Or(numCtx(t, b), 4096))
		}
		if len(b)/3 <= tokens {
			return ""
		}
		if !names {
			return m.wire.tooLong
		}
		overflow := fmt.Sprintf(`{"error":{"message":"This model's maximum context length is %d tokens. However, your messages resulted in %d tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`, tokens, len(b)/3)
		return map[string]string{
			"ollama": m.wire.tooLong, "openai": overflow, "responses": overflow,
			"anthropic": fmt.Sprintf(`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: %d tokens > %d maximum"}}`, len(b)/3, tokens),
			"gemini":    fmt.Sprintf(`{"error":{"code":400,"message":"The input token count (%d) exceeds the maximum number of tokens allowed (%d).","status":"INVALID_ARGUMENT"}}`, len(b)/3, tokens),
		}[m.wire.name]
	}
}

// Whatever the tools return, a model that refuses what is too long refuses nothing if its window is
// known, and finds what stands deep in a long result. If its window is not known, one refusal is
// enough to learn it, and the next turn fits at once.
func TestFit_longResults(t *testing.T) {
	if testing.Short() {
		t.Skip("it is slow: it fits long results into windows, one request after the other")
	}
	for _, tt := range []struct {
		name             string
		window           int
		known, names     bool
		results, refused int
	}{
		{"4096, one", 4096, true, true, 1, 0},
		{"4096, five", 4096, true, true, 5, 0},
		{"8192, one", 8192, true, true, 1, 0},
		{"8192, five", 8192, true, true, 5, 0},
		{"32768, one", 32_768, true, true, 1, 0},
		{"32768, five", 32_768, true, true, 5, 0},
		{"not known, named by the refusal", 8192, false, true, 5, 1},
		{"not known", 8192, false, false, 5, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onEachWire(t, func(t *testing.T, w wire) {
				t.Parallel()
				if !tt.known && w.name == "ollama" {
					return // it reports its window
				}
				if tt.known {
					w.window = tt.window
				}
				c := newTalk(t, w, newDesk(2, longResult()), agent.Limits{})
				c.model.wire.window = map[bool]int{true: tt.window}[w.name == "ollama"] // what it reports
				c.model.strict(t, tt.window, tt.names)
				var replies []reply
				for i := range tt.results {
					replies = append(replies, calls("desk__find_1", fmt.Sprintf(`{"page":%d}`, i)))
				}
				sent := c.ask(t, "Where is the key?", append(replies, says("I see."))...)
				id := cutID(t, c.model, sent[len(sent)-1])
				t.Logf("%d requests were refused", c.model.refused)
				if c.model.refused > tt.refused || !tt.known && c.model.refused == 0 {
					t.Error("that is too many, or none where the window is not known")
				}
				c.model.refused = 0
				sent = c.ask(t, "Please look for it.", calls("read_result", `{"result":"`+id+`","find":"KEY is under"}`), says("Found."))
				if last := sent[len(sent)-1]; !strings.Contains(last, needle) {
					t.Errorf("the model does not see it: %s", last[max(0, len(last)-1500):])
				}
				from := strings.Index(longResult(), needle) - 500
				sent = c.ask(t, "And read there.", calls("read_result", fmt.Sprintf(`{"result":%q,"from":%d}`, id, from)), says("Found."))
				if last := sent[len(sent)-1]; strings.Count(last, needle) < 1 {
					t.Errorf("the model does not read it: %s", last[max(0, len(last)-1500):])
				}
				if c.model.refused > 0 {
					t.Errorf("%d requests of later turns were refused", c.model.refused)
				}
			})
		})
	}
}

// cutID returns the id of the last result that a body shows a part of.
func cutID(t *testing.T, m *model, b string) string {
	t.Helper()
	const mark = "goes on with result "
	i := strings.LastIndex(b, mark)
	if i < 0 {
		t.Fatalf("nothing was cut in %.3000s", b)
	}
	id, _, _ := strings.Cut(strings.TrimLeft(b[i+len(mark):], `\"`), `\"`)
	return id
}

// In 40 turns with 20 tools and results of all lengths, nothing is refused in a window of 8,192 tokens,
// and each prompt repeats the one before, but for compactions: those are rare.
func TestFit_fortyTurns(t *testing.T) {
	onEachWire(t, func(t *testing.T, w wire) {
		t.Parallel()
		w.window = 8192
		long := longResult()
		d := newDesk(20, "")
		results := []string{found, quote(strings.Repeat("A line of the register.\n", 40)), quote(strings.Repeat("A line of the register.\n", 200)), long}
		turn := 0
		d.results = func() string { return results[turn%len(results)] }
		c := newTalk(t, w, d, agent.Limits{})
		if w.name != "ollama" {
			c.model.wire.window = 0
		}
		c.model.strict(t, 8192, false)
		before, breaks, shares := "", 0, []float64{}
		for turn = range 40 {
			replies := []reply{says(strings.Repeat(fmt.Sprintf("Answer %d in a sentence. ", turn), 6))}
			if turn%2 == 1 {
				replies = append([]reply{calls("desk__find_7", fmt.Sprintf(`{"page":%d}`, turn))}, replies...)
			}
			for _, b := range c.ask(t, fmt.Sprintf("What does the register hold about number %d?", turn), replies...) {
				now := c.model.rendered(t, b)
				if before != "" {
					share := float64(prefix(before, now)) / float64(len(before))
					if shares = append(shares, share); share < 0.95 {
						breaks++
					}
				}
				before = now
			}
		}
		t.Logf("%d of %d prompts repeat less than 95 %% of the one before, %d were refused", breaks, len(shares), c.model.refused)
		if c.model.refused > 0 || breaks > 12 {
			t.Errorf("the shares are %.2f", shares)
		}
	})
}

// A question that is too long is shown cut, and read on in like a result, also in the next turn.
func TestFit_longQuestion(t *testing.T) {
	var text string
	must(t, json.Unmarshal([]byte(longResult()), &text))
	onEachWire(t, func(t *testing.T, w wire) {
		t.Parallel()
		w.window = 8192
		c := newTalk(t, w, newDesk(2, found), agent.Limits{})
		if w.name != "ollama" {
			c.model.wire.window = 0
		}
		c.model.strict(t, 8192, false)
		sent := c.ask(t, "What follows is long.\n"+text, says("I see."))
		id := cutID(t, c.model, sent[0])
		if !strings.HasPrefix(id, "question-") || !offers(t, w, sent[0], "read_result") {
			t.Errorf("the question is cut as %q", id)
		}
		for _, turn := range []string{"Where is the key?", "Once more, please."} {
			sent = c.ask(t, turn, calls("read_result", `{"result":"`+id+`","find":"key is under"}`), says("Found."))
			if last := sent[len(sent)-1]; !strings.Contains(last, needle) {
				t.Errorf("%s: the model does not see it: %s", turn, last[max(0, len(last)-1500):])
			}
			if got := cutID(t, c.model, sent[0]); got != id {
				t.Errorf("%s: the question is shown as %q", turn, got)
			}
		}
		if c.model.refused > 0 {
			t.Errorf("%d requests were refused", c.model.refused)
		}
	})
}

// A client's loop of tools, which sends all rounds with each request, fits too, and a prompt repeats
// the one before until the window is passed.
func TestFit_clientRounds(t *testing.T) {
	onEachWire(t, func(t *testing.T, w wire) {
		t.Parallel()
		w.window = 8192
		c := newTalk(t, w, newDesk(0, ""), agent.Limits{})
		if w.name != "ollama" {
			c.model.wire.window = 0
		}
		c.model.strict(t, 8192, false)
		tool := schemas.ToolInfo{Name: "shell", ToolName: "shell", InputSchema: json.RawMessage(`{"type":"object"}`)}
		messages := []schemas.Message{schemas.Text(schemas.RoleUser, "Fix it.")}
		before, breaks := "", 0
		for i := range 40 {
			id := fmt.Sprintf("call-%d", i)
			output := schemas.TextOutput(strings.Repeat(fmt.Sprintf("Line of run %d.\n", i), 20+40*(i%3)))
			result := schemas.ToolResult{ID: id, ToolName: "shell", Output: output}
			messages = append(messages,
				schemas.Message{Role: schemas.RoleAssistant, Parts: []schemas.Part{{Kind: schemas.PartCall, Call: &schemas.ToolCall{ID: id, Function: schemas.FunctionCall{Name: "shell", Arguments: "{}"}}}}},
				schemas.Message{Role: schemas.RoleTool, Parts: []schemas.Part{{Kind: schemas.PartResult, Result: &result}}})
			c.model.setReplies(says("Go on."))
			turn := agent.Turn{Place: agent.Place{Stateless: true}, Messages: slices.Clone(messages), Client: agent.Client{ClientTools: []schemas.ToolInfo{tool}, Results: []schemas.ToolResult{result}}}
			for _, err := range c.agent.Run(t.Context(), turn) {
				must(t, err)
			}
			sent := c.model.sent()
			now := c.model.rendered(t, sent[len(sent)-1])
			if before != "" && prefix(before, now) < len(before)*95/100 {
				breaks++
			}
			before = now
		}
		t.Logf("%d of 39 prompts repeat less than 95 %% of the one before, %d were refused", breaks, c.model.refused)
		if c.model.refused > 0 || breaks > 8 {
			t.Error("that is too many")
		}
	})
}
