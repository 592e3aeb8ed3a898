package _test

import (
	"strings"
	"testing"

	"molar/agent"
	"molar/schemas"
)

// A model that makes the same call for ever is stopped: the tool is executed once, the second call
// gets its result, and after the third the model must answer.
func TestRepeat_endsInAnAnswer(t *testing.T) {
	onEachWire(t, func(t *testing.T, w wire) {
		t.Parallel()
		r := newRegister()
		r.tools, r.result = []schemas.Tool{r.tools[0]}, `"invoice 7 is paid"`
		r.tools[0].Annotations.ReadOnlyHint = new(true)
		c := newTalk(t, w, r, agent.Limits{})
		c.model.setAnswer(func(b string) reply {
			if strings.Contains(b, "No further tool can be called") {
				return says("It is paid.")
			}
			return calls(r.tools[0].Name, `{"id":"7"}`)
		})
		sent := c.ask(t, "Is invoice 7 paid?")
		if len(sent) != 4 || len(r.called) != 1 {
			t.Fatalf("%d model calls and %d executions, want 4 and 1", len(sent), len(r.called))
		}
		if n := strings.Count(sent[3], "invoice 7 is paid"); n != 2 || !strings.Contains(sent[2], "was made before in this turn") {
			t.Errorf("the result stands %d times in the last request, want 2: %s", n, sent[3])
		}
		same(t, "the conversation", c.stored(t), "user: Is invoice 7 paid?", "assistant: It is paid.")
	})
}
