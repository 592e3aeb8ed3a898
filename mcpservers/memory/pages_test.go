package memory_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"molar/mcpservers"
)

type page struct {
	Messages []struct{ Content string }
	Next     int64
}

// pages reads a whole history with a limit, and returns the length of each page.
func pages(t *testing.T, d *mcpservers.Dispatcher, id string, limit int) (contents []string, lengths []int) {
	t.Helper()
	for after := int64(0); ; {
		var p page
		must(t, d, "memory/get_all_messages", fmt.Sprintf(`{"conversation_id":%q,"limit":%d,"after":%d}`, id, limit, after), &p)
		lengths = append(lengths, len(p.Messages))
		for _, m := range p.Messages {
			contents = append(contents, m.Content)
		}
		if p.Next == 0 {
			return contents, lengths
		}
		if p.Next <= after {
			t.Fatalf("next is %d after %d", p.Next, after)
		}
		after = p.Next
	}
}

func add(t *testing.T, d *mcpservers.Dispatcher, id, content string) {
	t.Helper()
	params, err := json.Marshal(map[string]string{"conversation_id": id, "role": "user", "content": content})
	if err != nil {
		t.Fatal(err)
	}
	must(t, d, "memory/add_message", string(params), nil)
}

// The pages contain every message once, even after a clear; a page ends early if its texts are
// too long together.
func TestGetAllMessages_Pages(t *testing.T) {
	d := fresh(t)
	var want []string
	for i := range 7 {
		add(t, d, "c", fmt.Sprint(i))
		want = append(want, fmt.Sprint(i))
	}
	for limit, lengths := range map[int][]int{1: {1, 1, 1, 1, 1, 1, 1}, 3: {3, 3, 1}, 7: {7}, 1000: {7}} {
		got, n := pages(t, d, "c", limit)
		if !slices.Equal(got, want) || !slices.Equal(n, lengths) {
			t.Errorf("limit %d: %v in pages of %v", limit, got, n)
		}
	}
	must(t, d, "memory/clear", `{"conversation_id":"c"}`, nil)
	add(t, d, "c", "new")
	if got, n := pages(t, d, "c", 2); !slices.Equal(got, []string{"new"}) || len(n) != 1 {
		t.Errorf("after a clear: %v in pages of %v", got, n)
	}
	if got, _ := pages(t, d, "unknown", 2); got != nil {
		t.Errorf("unknown: %v", got)
	}
	long := strings.Repeat("x", 300<<10)
	for range 5 {
		add(t, d, "long", long)
	}
	if got, n := pages(t, d, "long", 1000); len(got) != 5 || !slices.Equal(n, []int{1, 1, 1, 1, 1}) {
		t.Errorf("%d long messages in pages of %v", len(got), n)
	}
	for _, bad := range []string{`"limit":1001`, `"limit":-1`, `"after":3`, `"limit":1,"after":-1`, `"limit":"2"`} {
		if _, failed := call(t, d, "memory/get_all_messages", `{"conversation_id":"c",`+bad+`}`); failed == nil || failed.Code != mcpservers.CodeInvalidParams {
			t.Errorf("%s: %v", bad, failed)
		}
	}
}

// If the messages that the summary does not cover exceed an answer, a turn gets the newest ones,
// beginning with a question, and a mark that some are missing; a summary is claimed exchange by
// exchange.
func TestLongUncoveredMessages(t *testing.T) {
	d := fresh(t)
	for i := range 5 {
		var begun struct{ Lease json.RawMessage }
		must(t, d, "memory/begin_turn", `{"conversation_id":"c"}`, &begun)
		must(t, d, "memory/save_turn", fmt.Sprintf(`{"lease":%s,"key":"k%d","user":"q%d","answer":"a%d%s"}`,
			begun.Lease, i, i, i, strings.Repeat("x", 200<<10)), nil)
	}
	var begun struct {
		Partial  bool
		Messages []struct{ Seq int64 }
		Lease    json.RawMessage
	}
	must(t, d, "memory/begin_turn", `{"conversation_id":"c"}`, &begun)
	must(t, d, "memory/end_turn", fmt.Sprintf(`{"lease":%s}`, begun.Lease), nil)
	if !begun.Partial || len(begun.Messages) != 4 || begun.Messages[0].Seq != 7 {
		t.Errorf("begun with %+v", begun)
	}
	for covers, left := int64(0), 3; left > 0; left-- {
		var claimed struct {
			Items []struct {
				Covers   int64
				Messages []struct{ Seq int64 }
			}
		}
		must(t, d, "memory/claim_summaries", `{"limit":1}`, &claimed)
		if len(claimed.Items) != 1 || claimed.Items[0].Covers != covers {
			t.Fatalf("%d to go: claimed %+v", left, claimed)
		}
		got := claimed.Items[0].Messages
		if want := min(4, 10-int(covers)); len(got) != want {
			t.Errorf("claimed %d messages after %d, want %d", len(got), covers, want)
		}
		covers = got[len(got)-1].Seq
		must(t, d, "memory/set_summary", fmt.Sprintf(`{"conversation_id":"c","summary":"s","covers":%d}`, covers), nil)
	}
	must(t, d, "memory/begin_turn", `{"conversation_id":"c"}`, &begun)
}
