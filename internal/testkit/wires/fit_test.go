package _test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"molar/agent"
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
		return map[string]string{
			"ollama": m.wire.tooLong,
			"openai": fmt.Sprintf(`{"error":{"message":"This model's maximum context length is %d tokens. However, your messages resulted in %d tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`, tokens, len(b)/3),
			"gemini": fmt.Sprintf(`{"error":{"code":400,"message":"The input token count (%d) exceeds the maximum number of tokens allowed (%d).","status":"INVALID_ARGUMENT"}}`, len(b)/3, tokens),
		}[m.wire.name]
	}
}

// Whatever the tools return, a model that refuses what is too long refuses nothing if its window is
// known, and finds what stands deep in a long result. If its window is not known, one refusal is
// enough to learn it, and the next turn fits at once.
func TestFit_longResults(t *testing.T) {
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
				replies = append([]reply{calls("desk__find_7", fmt.Sprintf(`{"turn":%d}`, turn))}, replies...)
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
