package _test

import (
	"fmt"
	"strings"
	"testing"

	"molar/agent"
)

// thinking makes each call of a model follow a signed thought and, from the second on, a hidden one.
func thinking(w wire) wire {
	call := w.call
	w.call = func(n int, name, args string) string {
		start := fmt.Sprintf("event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}\n\n"+
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"I look <%d> up.\"}}\n\n"+
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"sig/%d+==\"}}\n\n", n, n)
		if n > 1 {
			start += "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"redacted_thinking\",\"data\":\"hid+den\"}}\n\n"
		}
		return start + call(n, name, args)
	}
	return w
}

// The thoughts of a turn go back to the service that signed them, unchanged and where they stood,
// in each later round of the turn and in no later turn. What stood before them is unchanged too,
// and the marks of the cache are at most four.
func TestWire_thoughts(t *testing.T) {
	c := newTalk(t, thinking(anthropicWire()), newDesk(2, found), agent.Limits{})
	sent := c.ask(t, "Where is Lan?", reply{pieces: []string{"I look."}, tool: "desk__find_0"}, calls("desk__find_1", `{"page":2}`), says("In the hall."))
	if len(sent) != 3 {
		t.Fatalf("%d requests", len(sent))
	}
	thought := func(n int) string {
		return fmt.Sprintf(`{"signature":"sig/%d+==","thinking":"I look <%d> up.","type":"thinking"}`, n, n)
	}
	first := `{"content":[{"text":"I look.","type":"text"},` + thought(1) + `,{"id":"call_1","input":{},"name":"desk__find_0","type":"tool_use"}],"role":"assistant"}`
	second := `{"content":[` + thought(2) + `,{"data":"hid+den","type":"redacted_thinking"},{"id":"call_2","input":{"page":2},"name":"desk__find_1","type":"tool_use"}],"role":"assistant"}`
	w := c.model.wire
	same(t, "the last round", c.model.messages(t, sent[2]), w.user("Where is Lan?"), first, w.returned("1", "", "", found), second, w.returned("2", "", "", found))
	for i, b := range sent {
		if n := strings.Count(b, cacheMark); n < 3 || n > 4 {
			t.Errorf("request %d holds %d marks", i+1, n)
		}
		if before := c.model.rendered(t, sent[max(0, i-1)]); !strings.HasPrefix(c.model.rendered(t, b), before) {
			t.Errorf("request %d does not begin with the one before", i+1)
		}
	}
	next := c.ask(t, "And Minh?", says("There too."))
	if strings.Contains(next[0], "sig/") || strings.Contains(next[0], "hid+den") {
		t.Errorf("the next turn holds thoughts: %s", next[0])
	}
	if len(c.model.messages(t, next[0])) != 7 {
		t.Errorf("the next turn sends %s", strings.Join(c.model.messages(t, next[0]), "\n"))
	}
}
