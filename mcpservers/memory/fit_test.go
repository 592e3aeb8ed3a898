package memory_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"molar/mcpservers"
)

// mostAnswer is the largest answer that a client over HTTP accepts, in bytes.
const mostAnswer = 4 << 20

// Whatever a conversation contains, a turn can begin, its summary can be claimed, and its history
// can be read page by page: no answer is larger than clients accept.
func TestAnswers_FitIntoOne(t *testing.T) {
	if testing.Short() {
		t.Skip("it is slow: it stores and reads megabytes")
	}
	for name, content := range map[string]string{
		"long": strings.Repeat("\x01<răng>\n", 120<<10), "short": "hello", // 1.2 MB, and 2 MB as JSON
	} {
		t.Run(name, func(t *testing.T) {
			d := fresh(t)
			var begun struct{ Lease json.RawMessage }
			must(t, d, "memory/begin_turn", `{"conversation_id":"c"}`, &begun)
			text, err := json.Marshal(content)
			if err != nil {
				t.Fatal(err)
			}
			must(t, d, "memory/save_turn", fmt.Sprintf(`{"lease":%s,"key":"k","user":%s,"answer":%s}`, begun.Lease, text, text), nil)
			var next struct {
				Partial  bool
				Messages []struct{ Content string }
			}
			answer := callFitting(t, d, "memory/begin_turn", `{"conversation_id":"c"}`)
			if err := json.Unmarshal(answer, &next); err != nil {
				t.Fatal(err)
			}
			if len(next.Messages) != 2 || next.Partial != (name != "short") {
				t.Fatalf("%d messages, partial %v", len(next.Messages), next.Partial)
			}
			for _, m := range next.Messages {
				if kept := strings.TrimSuffix(m.Content, " […]"); kept == "" || !strings.HasPrefix(content, kept) {
					t.Errorf("a message of %d bytes is none of the start of the text", len(m.Content))
				}
			}
			if claimed := callFitting(t, d, "memory/claim_summaries", `{}`); !strings.Contains(string(claimed), `"seq":2`) {
				t.Errorf("claimed %.200s", claimed)
			}
			if got, _ := pages(t, d, "c", 1000); len(got) != 2 || got[0] != content || got[1] != content {
				t.Error("the history is not whole")
			}
		})
	}
}

// The JSON around many short messages counts too.
func TestAnswers_ManyShortMessages(t *testing.T) {
	d := fresh(t)
	for range 480 {
		add(t, d, "c", strings.Repeat("x", 1000)) // 480 kB of text
	}
	answer := callFitting(t, d, "memory/begin_turn", `{"conversation_id":"c"}`)
	if !strings.Contains(string(answer), `"partial":true`) || !strings.Contains(string(answer), `"seq":480`) {
		t.Errorf("%d bytes: %.200s", len(answer), answer)
	}
}

func TestSetSummary_RefusesABook(t *testing.T) {
	d := fresh(t)
	add(t, d, "c", "hello")
	for size, taken := range map[int]bool{512 << 10: true, 512<<10 + 1: false} {
		params := fmt.Sprintf(`{"conversation_id":"c","summary":%q}`, strings.Repeat("s", size))
		if _, failed := call(t, d, "memory/set_summary", params); (failed == nil) != taken {
			t.Errorf("%d bytes: %v", size, failed)
		}
	}
}

// callFitting calls a method and fails if the answer is too long.
func callFitting(t *testing.T, d *mcpservers.Dispatcher, method, params string) json.RawMessage {
	t.Helper()
	answer := d.Handle(t.Context(), "s", json.RawMessage(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)))
	if len(answer) > mostAnswer {
		t.Fatalf("%s answers with %d bytes", method, len(answer))
	}
	var out struct{ Result, Error json.RawMessage }
	if err := json.Unmarshal(answer, &out); err != nil || out.Error != nil {
		t.Fatalf("%s: %v %s", method, err, out.Error)
	}
	return out.Result
}
