package responses_test

import (
	"net/http"
	"strings"
	"testing"
)

// compact posts a request for a compaction, and returns the compaction and its item as text.
func (h *host) compact(body string) (object, string) {
	h.t.Helper()
	status, data := h.do(http.MethodPost, "/v1/responses/compact", body)
	if status != http.StatusOK {
		h.t.Fatalf("%s: status %d: %s", body, status, data)
	}
	c := read(h.t, data)
	conforms(h.t, "CompactResource", c)
	sealed, _ := at(c, "output", 0, "encrypted_content").(string)
	if at(c, "output", 0, "type") != "compaction" || sealed == "" {
		h.t.Fatalf("compaction %s", data)
	}
	return c, `{"type":"compaction","id":"` + at(c, "output", 0, "id").(string) + `","encrypted_content":"` + sealed + `"}`
}

const toldCode = `{"role":"system","content":"Stay calm."},{"role":"user","content":"The code is slate."},` +
	`{"role":"assistant","content":"Noted.\n\nWith a long explanation."},{"role":"user","content":"And the day is Tuesday."},` +
	`{"type":"function_call","call_id":"k","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"k","output":"a long result"},` +
	`{"role":"assistant","content":"All right.\n\nTuesday it is."}`

// A compaction replaces the messages in it: only this host can read it, for its owner only, and it
// is continued like any other history.
func TestCompact(t *testing.T) {
	h := serve(t, play(text("ok"), done()))
	c, item := h.compact(`{"model":"dental","prompt_cache_key":"k","input":[` + toldCode + `]}`)
	if strings.Contains(item, "slate") || at(c, "usage", "total_tokens") != 0.0 {
		t.Errorf("compaction %v", c)
	}
	first := h.create(`{"input":[` + item + `,{"role":"user","content":"Which code?"}]}`)
	want := "user The code is slate., assistant Noted., user And the day is Tuesday., assistant All right.\n\nTuesday it is., user Which code?"
	if got := h.prompt(0); got != want || h.turn(0).System != "Stay calm." || !h.turn(0).Stateless {
		t.Errorf("the model would see %q, system %q", got, h.turn(0).System)
	}
	h.create(`{"input":"And the day?","previous_response_id":"` + id(first) + `"}`)
	if got := h.prompt(1); got != want+", assistant ok, user And the day?" {
		t.Errorf("the model would see %q", got)
	}
	_, item = h.compact(`{"model":"dental","previous_response_id":"` + id(first) + `","input":"More."}`)
	h.create(`{"input":[` + item + `,{"role":"user","content":"Now?"}]}`)
	if got := h.prompt(2); !strings.Contains(got, "slate") || !strings.Contains(got, "assistant ok, user More.") || !strings.HasSuffix(got, "Now?") {
		t.Errorf("the model would see %q", got)
	}
}

// prompt returns the messages of a turn as text.
func (h *host) prompt(i int) string {
	var all []string
	for _, m := range h.turn(i).Messages {
		all = append(all, string(m.Role)+" "+m.Said())
	}
	return strings.Join(all, ", ")
}

func TestCompact_Refuses(t *testing.T) {
	h := serve(t, play(text("ok"), done()))
	for body, param := range map[string]string{
		`{"input":"x"}`:                 "model",
		`{"model":"dental"}`:            "input",
		`{"model":"dental","input":[]}`: "input",
		`{"model":"dental","input":[{"role":"user","content":"a"},{"type":"function_call","call_id":"k","name":"f","arguments":"{}"}]}`: "input",
		`{"model":"dental","previous_response_id":"resp_none"}`:                                                                         "previous_response_id",
	} {
		status, data := h.do(http.MethodPost, "/v1/responses/compact", body)
		if status != http.StatusBadRequest || at(read(t, data), "error", "param") != param {
			t.Errorf("%s: status %d: %s", body, status, data)
		}
	}
	_, item := h.compact(`{"model":"dental","input":"x"}`)
	forged := strings.Replace(item, `"encrypted_content":"`, `"encrypted_content":"A`, 1)
	for _, it := range []string{forged, `{"type":"compaction","encrypted_content":"e30"}`} {
		if status, _, param := h.refused(`{"input":[` + it + `,{"role":"user","content":"x"}]}`); status != http.StatusBadRequest || param != "input[0].encrypted_content" {
			t.Errorf("status %d, param %q", status, param)
		}
	}
}
