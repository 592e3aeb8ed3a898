package openai_test

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"molar/providers"
	"molar/providers/openai"
)

// What a model thinks aloud in its answer is thinking, however the answer is cut.
func TestStream_ThinkingAloud(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ said, thinking, text string }{
		"think":             {"<think>\nPlan: be brief.\n</think>\n\nBrush twice a day.", "\nPlan: be brief.\n", "Brush twice a day."},
		"thinking":          {"\n<thinking>Plan.</thinking>Brush.", "Plan.", "Brush."},
		"two blocks":        {"<think>One.</think>\n<think>Two.</think>\nBrush.", "One.Two.", "Brush."},
		"not closed":        {"<think>Plan: be brief.", "Plan: be brief.", ""},
		"another tag":       {"<thin>Brush.", "", "<thin>Brush."},
		"the tag as a word": {"The tag `<think>` opens, `</think>` closes.", "", "The tag `<think>` opens, `</think>` closes."},
		"less than":         {"1 < 2", "", "1 < 2"},
	} {
		for _, size := range []int{1, 3, 1000} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				var list []string
				for rest := c.said; rest != ""; rest = rest[min(size, len(rest)):] {
					list = append(list, say(rest[:min(size, len(rest))]))
				}
				p := over(t, func() io.Reader { return iotest.OneByteReader(strings.NewReader(events(append(list, stop, done)...))) })
				got := ask(t.Context(), p, question("How often?"))
				if got.text != c.text || got.thinking != c.thinking {
					t.Errorf("pieces of %d: thinking %q, text %q, %v", size, got.thinking, got.text, got.err)
				}
			})
		}
	}
}

// A model whose template opens the block itself ends it without having begun it.
// The first time this shows only at the end of the thoughts; after that it is known.
func TestStream_ThinkingThatOnlyEnds(t *testing.T) {
	t.Parallel()
	f := newFake(t, stream(say("The person wants "), say("brevity.\n</th"), say("ink>\n\nBrush."), stop, done))
	p := newProvider(t, openai.Config{BaseURL: f.url})
	var shown, taken []string
	for range 2 {
		var text, all string
		for chunk, err := range p.Stream(t.Context(), question("How often?")) {
			if err != nil {
				t.Fatal(err)
			}
			if chunk.Retract {
				text = ""
			}
			text += chunk.Text
			all += chunk.Text
		}
		shown, taken = append(shown, all), append(taken, text)
	}
	if taken[0] != "Brush." || taken[1] != "Brush." || shown[1] != "Brush." {
		t.Errorf("shown %q, of which taken for the answer %q", shown, taken)
	}
}

// Nobody reads along in a pass that judges or sums up, so its text waits until it is
// known what of it was thought.
func TestStream_ThinkingInAPassThatNobodyReads(t *testing.T) {
	t.Parallel()
	f := newFake(t, stream(say("Is it about teeth? It is.\n</think>\n\n"), say("YES"), stop, done))
	req := question("x")
	req.Pass = providers.PassGuardrail
	if got := ask(t.Context(), at(t, f), req); got.text != "YES" || got.thinking != "Is it about teeth? It is.\n" {
		t.Errorf("%+v", got)
	}
}

// A model that did not think this time has answered.
func TestStream_NoThinkingThisTime(t *testing.T) {
	t.Parallel()
	f := newFake(t,
		stream(say("Plan.\n</think>\n"), say("Brush."), stop, done),
		stream(say("Floss, "), say("too."), stop, done))
	p := at(t, f)
	ask(t.Context(), p, question("How often?"))
	for range 2 {
		if got := ask(t.Context(), p, question("How often?")); got.text != "Floss, too." {
			t.Errorf("%+v", got)
		}
	}
}
