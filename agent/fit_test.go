package agent_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"molar/agent"
	"molar/schemas"
)

// exchange returns an exchange of at least size bytes, and little more.
func exchange(i, size int) agent.Exchange {
	return agent.Exchange{
		Question: fmt.Sprintf("question %d", i), Last: int64(2 * i),
		Answers: []schemas.StoredMessage{{Role: schemas.RoleAssistant, Content: fmt.Sprintf("Answer %d. %s", i, strings.Repeat("x", size))}},
	}
}

func texts(messages []schemas.Message) []string {
	var all []string
	for _, m := range messages {
		all = append(all, string(m.Role)+": "+m.FullText())
	}
	return all
}

// A conversation that fits is shown unchanged. If it does not fit, its older half is replaced by
// the summary, each exchange by its piece or by an excerpt that code makes.
func TestFit(t *testing.T) {
	exchanges := []agent.Exchange{exchange(1, 100), exchange(2, 100), exchange(3, 100), exchange(4, 100)}
	whole := agent.Fit(agent.Input{Summary: "before", Exchanges: exchanges, Budget: 10_000})
	if whole.Compacted || whole.Summary != "before" || len(whole.Messages) != 8 {
		t.Errorf("compacted %v, summary %q, %d messages", whole.Compacted, whole.Summary, len(whole.Messages))
	}
	exchanges[0].Piece = "Piece one."
	v := agent.Fit(agent.Input{Summary: "before", Exchanges: exchanges, Budget: 500})
	if !v.Compacted || v.Covers != 6 || len(v.Exchanges) != 1 {
		t.Errorf("compacted %v up to %d, %d exchanges left", v.Compacted, v.Covers, len(v.Exchanges))
	}
	for _, want := range []string{"before\n\nPiece one.\n\nquestion 2 — Answer 2.", "question 3 — Answer 3."} {
		if !strings.Contains(v.Summary, want) {
			t.Errorf("the summary lacks %q:\n%s", want, v.Summary)
		}
	}
	exchanges[1].Condensed = "All so far."
	v = agent.Fit(agent.Input{Summary: "before", Exchanges: exchanges, Budget: 500})
	if want := "All so far.\n\nquestion 3 — Answer 3."; v.Summary != want {
		t.Errorf("summary %q, want %q", v.Summary, want)
	}
}

func TestFit_ceiling(t *testing.T) {
	var exchanges []agent.Exchange
	for i := range 4 {
		exchanges = append(exchanges, exchange(i+1, 10))
	}
	v := agent.Fit(agent.Input{Exchanges: exchanges, Budget: 10_000, MaxExchanges: 3})
	if !v.Compacted || len(v.Exchanges) != 2 {
		t.Errorf("compacted %v, %d exchanges", v.Compacted, len(v.Exchanges))
	}
}

// The last exchange stays, however large: first its results are cut, then its texts.
func TestFit_lastExchangeStays(t *testing.T) {
	call := schemas.ToolCall{ID: "1", Function: schemas.FunctionCall{Name: "s__t", Arguments: "{}"}}
	rounds, err := json.Marshal([]schemas.Round{{
		Said:    schemas.Message{Role: schemas.RoleAssistant, Parts: []schemas.Part{{Kind: schemas.PartCall, Call: &call}}},
		Results: []schemas.ToolResult{{ID: "1", ToolName: "t", Output: json.RawMessage(`"` + strings.Repeat("r", 5000) + `"`)}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	x := exchange(1, 100)
	x.Answers[0].Calls = rounds
	v := agent.Fit(agent.Input{Exchanges: []agent.Exchange{x}, Budget: 1000})
	if v.Compacted || len(v.Messages) != 4 || agent.Size(v.Messages) > 1000 {
		t.Errorf("compacted %v, %d messages of %d bytes", v.Compacted, len(v.Messages), agent.Size(v.Messages))
	}
	if got := v.Messages[3].FullText(); !strings.HasPrefix(got, "Answer 1.") {
		t.Errorf("the answer is %q", got)
	}
	if long := exchange(1, 9000); agent.Size(agent.Fit(agent.Input{Exchanges: []agent.Exchange{long}, Budget: 1000}).Messages) > 1100 {
		t.Error("a long answer was not cut")
	}
}

// Whatever a conversation contains, nothing exceeds the window, every exchange is either verbatim
// or in the summary, and each view repeats the previous one until a compaction.
func TestFit_conversations(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 200 {
		budget := 500 + r.IntN(4000)
		summary, covers := "", int64(0)
		var all []agent.Exchange
		var before []string
		for i := range 40 {
			all = append(all, exchange(i+1, r.IntN(budget/2)))
			var open []agent.Exchange
			for _, x := range all {
				if x.Last > covers {
					open = append(open, x)
				}
			}
			v := agent.Fit(agent.Input{Summary: summary, Exchanges: open, Budget: budget})
			if size := agent.Size(v.Messages); size > budget {
				t.Fatalf("%d bytes are shown with a budget of %d", size, budget)
			}
			if v.Compacted {
				summary, covers, before = v.Summary, v.Covers, nil
			}
			if len(v.Summary) > budget {
				t.Fatalf("a summary of %d bytes with a budget of %d", len(v.Summary), budget)
			}
			now := texts(v.Messages)
			if diff := cmp.Diff(before, now[:len(before)], cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("the history changed without a compaction:\n%s", diff)
			}
			before = now
			if !strings.Contains(strings.Join(now, "\n"), fmt.Sprintf("question %d", i+1)) {
				t.Fatalf("the last exchange is not shown: %q", now)
			}
		}
	}
}

// A question without an answer stays, with why, so that "try again" has something to refer to; an
// answer that was interrupted is marked.
func TestExchange_withoutAnswer(t *testing.T) {
	stored := []schemas.StoredMessage{
		{Seq: 1, Role: schemas.RoleUser, Content: "never answered"},
		{Seq: 2, Role: schemas.RoleAssistant, Status: schemas.StatusInterrupted},
		{Seq: 3, Role: schemas.RoleUser, Content: "asked again"},
		{Seq: 4, Role: schemas.RoleAssistant, Content: "Yes."},
		{Seq: 5, Role: schemas.RoleUser, Content: "Răng khôn có cần nhổ không?"},
		{Seq: 6, Role: schemas.RoleAssistant, Status: schemas.StatusInterrupted, Calls: json.RawMessage(`[{"said":{"role":"","parts":null},"unanswered":"unreachable"}]`)},
		{Seq: 7, Role: schemas.RoleUser, Content: "and how long does it take?"},
		{Seq: 8, Role: schemas.RoleAssistant, Status: schemas.StatusInterrupted, Content: "About two"},
	}
	v := agent.Fit(agent.Input{Exchanges: agent.Exchanges(stored, nil, nil), Budget: 2000})
	if diff := cmp.Diff([]string{
		"user: never answered", "assistant: (Not answered.)", "user: asked again", "assistant: Yes.",
		"user: Răng khôn có cần nhổ không?", "assistant: (Chưa có câu trả lời: không kết nối được với mô hình.)",
		"user: and how long does it take?", "assistant: About two\n\n(The answer was cut off here.)",
	}, texts(v.Messages)); diff != "" {
		t.Error(diff)
	}
}
