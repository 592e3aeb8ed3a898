package responses_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/agent"
	"molar/agent/answer"
	"molar/schemas"
	"molar/toolhandler"
	"molar/web"
)

// slow plays a turn that sends a word, and the rest when let is closed.
func slow(let <-chan struct{}) script {
	return func(ctx context.Context, _ agent.Turn, say func(answer.Event) bool) error {
		say(text("One "))
		select {
		case <-let:
		case <-ctx.Done():
			return ctx.Err()
		}
		say(text("two."))
		say(done())
		return nil
	}
}

func (h *host) until(id, status string) object {
	h.t.Helper()
	for range 500 {
		if r := h.get(id); r["status"] == status {
			return r
		}
		time.Sleep(5 * time.Millisecond) // the turn runs in another goroutine
	}
	h.t.Fatalf("%s never was %s", id, status)
	return nil
}

// A background response is answered at once, continues without its client, and can be followed from
// any event.
func TestBackground(t *testing.T) {
	let := make(chan struct{})
	h := serve(t, slow(let))
	r := h.create(`{"input":"x","background":true}`)
	if r["status"] != "in_progress" && r["status"] != "queued" || r["background"] != true {
		t.Errorf("response %v", r)
	}
	if now := h.get(id(r)); now["status"] != "in_progress" {
		t.Errorf("status %v", now["status"])
	}
	close(let)
	if r = h.until(id(r), "completed"); at(r, "output", 0, "content", 0, "text") != "One two." {
		t.Errorf("response %v", r)
	}
	all := h.events(http.MethodGet, "/v1/responses/"+id(r)+"?stream=true", "")
	if all[0]["type"] != "response.queued" {
		t.Errorf("first event %v", all[0]["type"])
	}
	for n := range all {
		rest := h.events(http.MethodGet, "/v1/responses/"+id(r)+"?stream=true&starting_after="+strconv.Itoa(n), "")
		if diff := cmp.Diff(types(all[n+1:]), types(rest)); diff != "" {
			t.Errorf("after %d: %s", n, diff)
		}
	}
}

// A key returns the response that it started, also while that is running, and no other response.
func TestIdempotencyKey(t *testing.T) {
	let := make(chan struct{})
	h := serve(t, slow(let))
	ask := func(body string) (int, []byte) {
		return h.doWith(http.MethodPost, "/v1/responses", body, "Idempotency-Key", "k")
	}
	answers := make(chan object, 2)
	for range 2 {
		go func() {
			_, data := ask(`{"input":"x"}`)
			answers <- read(t, data)
		}()
	}
	close(let)
	first, second := <-answers, <-answers
	if id(first) != id(second) || at(first, "output", 0, "content", 0, "text") != "One two." {
		t.Errorf("%v and %v", first, second)
	}
	if _, data := ask(`{"input":"x"}`); id(checkResponse(t, data)) != id(first) {
		t.Errorf("later: %s", data)
	}
	if status, data := ask(`{"input":"y"}`); status != http.StatusUnprocessableEntity || at(read(t, data), "error", "code") != "idempotency_key_reused" {
		t.Errorf("another body: status %d: %s", status, data)
	}
	if len(h.asked) != 1 {
		t.Errorf("%d turns were begun", len(h.asked))
	}
}

// The number of ended responses that can be followed is limited, even within the minute for which
// they are kept. A host without a store has no other copies of them.
func TestFollow_Bounded(t *testing.T) {
	h := serve(t, play(text("ok"), done()))
	first := h.create(`{"input":"x"}`)
	h.get(id(first))
	for range 300 {
		h.do(http.MethodPost, "/v1/responses", `{"input":"x"}`)
	}
	if status, _ := h.do(http.MethodGet, "/v1/responses/"+id(first), ""); status != http.StatusNotFound {
		t.Errorf("status %d", status)
	}
}

func TestCancel(t *testing.T) {
	h := serve(t, slow(nil))
	r := h.create(`{"input":"x","background":true}`)
	status, data := h.do(http.MethodPost, "/v1/responses/"+id(r)+"/cancel", "")
	if got := checkResponse(t, data); status != http.StatusOK || got["status"] != "cancelled" {
		t.Errorf("status %d: %s", status, data)
	}
	events := types(h.events(http.MethodGet, "/v1/responses/"+id(r)+"?stream=true", ""))
	if got := events[len(events)-1]; got != "response.incomplete" {
		t.Errorf("the stream ends with %s", got)
	}
}

// If a client leaves, its turn ends, unless the response is in the background.
func TestCreate_ClientLeaves(t *testing.T) {
	ended := make(chan error, 1)
	h := serve(t, func(ctx context.Context, _ agent.Turn, say func(answer.Event) bool) error {
		say(text("One "))
		<-ctx.Done()
		ended <- ctx.Err()
		return ctx.Err()
	})
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url+"/v1/responses", strings.NewReader(`{"input":"x","stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	leave()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the turn ended with %v", err)
		}
	case <-time.After(5 * time.Second):
		t.Error("the turn runs on")
	}
}

func TestDelete(t *testing.T) {
	h := serve(t, play(text("ok"), done()))
	r := h.create(`{"input":"x"}`)
	if status, data := h.do(http.MethodDelete, "/v1/responses/"+id(r), ""); status != http.StatusOK || read(t, data)["deleted"] != true {
		t.Errorf("status %d: %s", status, data)
	}
	for _, path := range []string{"", "/input_items"} {
		if status, _ := h.do(http.MethodGet, "/v1/responses/"+id(r)+path, ""); status != http.StatusNotFound {
			t.Errorf("%s: status %d", path, status)
		}
	}
	if status, _ := h.do(http.MethodDelete, "/v1/responses/"+id(r), ""); status != http.StatusNotFound {
		t.Errorf("status %d", status)
	}
}

var eraseCall = schemas.ToolCall{ID: "k1", Function: schemas.FunctionCall{Name: "family__erase", Arguments: `{"id":7}`}}

func eraser(effects chan<- string) script {
	return func(ctx context.Context, t agent.Turn, say func(answer.Event) bool) error {
		say(text("I would erase it."))
		say(answer.Event{Kind: answer.KindCommentary, Text: "I would erase it."})
		say(answer.Event{Kind: answer.KindToolCall, Step: "6.3", Call: &eraseCall, Server: "family", ToolName: "erase", Effect: true, Asks: true})
		d, err := t.Approver.Approve(ctx, agent.Ask{
			Call: eraseCall, Tool: store{}.Tools()[1], Reason: toolhandler.Reason{Rule: toolhandler.RuleConfirm}, Expires: time.Now().Add(time.Minute),
			Check: func(string) error { return nil },
		})
		result := &schemas.ToolResult{ID: "k1", Output: []byte(`"not executed"`), IsError: true}
		switch {
		case err != nil:
			return err
		case d.Allowed:
			effects <- "erased"
			result = &schemas.ToolResult{ID: "k1", Output: []byte(`"erased"`)}
		}
		say(answer.Event{Kind: answer.KindToolResult, Step: "6.3", Call: &eraseCall, Server: "family", ToolName: "erase", Effect: d.Allowed, Result: result})
		say(text("So be it."))
		say(done())
		return nil
	}
}

// A call that needs approval ends the response. The person's decision leads to another response, in
// which the call runs once.
func TestApproval(t *testing.T) {
	for _, allow := range []bool{true, false} {
		t.Run(strconv.FormatBool(allow), func(t *testing.T) {
			effects := make(chan string, 2)
			h := serve(t, eraser(effects))
			first := h.create(`{"input":"Erase 7."}`)
			last := at(first, "output", -1)
			if first["status"] != "completed" || at(last, "type") != "mcp_approval_request" || at(last, "name") != "erase" || at(last, "server_label") != "family" || at(last, "arguments") != `{"id":7}` ||
				at(last, "shown") != `{"id":7}` || at(last, "question", "where") != "Done in the service “family”; it is not known whether it stays in that service." {
				t.Fatalf("response %v", first)
			}
			if status, _, _ := h.refused(`{"input":"And now?","previous_response_id":"` + id(first) + `"}`); status != http.StatusBadRequest {
				t.Errorf("a question instead of a decision: status %d", status)
			}
			if len(effects) != 0 {
				t.Fatal("the tool ran before it was allowed")
			}
			answer := `{"input":[{"type":"mcp_approval_response","approval_request_id":"` + at(last, "id").(string) + `","approve":` + strconv.FormatBool(allow) + `}],"previous_response_id":"` + id(first) + `"}`
			second := h.create(answer)
			call := at(second, "output", 0)
			if at(call, "type") != "mcp_call" || at(call, "approval_request_id") != at(last, "id") || (at(call, "status") == "completed") != allow {
				t.Errorf("output %v", second["output"])
			}
			if at(second, "output", 1, "content", 0, "text") != "So be it." || id(second) == id(first) || second["previous_response_id"] != id(first) {
				t.Errorf("response %v", second)
			}
			if want := map[bool]int{true: 1}[allow]; len(effects) != want {
				t.Errorf("the tool ran %d times, want %d", len(effects), want)
			}
			h.create(`{"input":"Thanks.","previous_response_id":"` + id(second) + `"}`)
			if parent := h.turn(1).Parent; parent == nil || *parent != turnOf(first) {
				t.Errorf("the next turn follows %v, want %s", parent, turnOf(first))
			}
		})
	}
}

func TestApproval_Unknown(t *testing.T) {
	h := serve(t, play(text("ok"), done()))
	status, code, _ := h.refused(`{"input":[{"type":"mcp_approval_response","approval_request_id":"mcpr_x_0","approve":true}]}`)
	if status != http.StatusNotFound || code != "approval_not_found" {
		t.Errorf("status %d, code %q", status, code)
	}
}

// sharedStore is a store that outlives the hosts that use it.
type sharedStore struct{ sync.Map }

func (k *sharedStore) PutResponse(_ context.Context, r schemas.StoredResponse) error {
	k.Store(r.ID, r)
	return nil
}

func (k *sharedStore) GetResponse(_ context.Context, _, id string) (schemas.StoredResponse, bool, error) {
	r, ok := k.Load(id)
	if !ok {
		return schemas.StoredResponse{}, false, nil
	}
	return r.(schemas.StoredResponse), true, nil //nolint:forcetypeassert // only Put stores
}

func (k *sharedStore) DeleteResponse(_ context.Context, _, id string) (bool, error) {
	_, known := k.LoadAndDelete(id)
	return known, nil
}

// storedTrace is the trace of every turn, or what is stored of a turn without one; if empty, no turn is
// known.
type storedTrace string

func (s storedTrace) Trace(context.Context, string, string) (json.RawMessage, bool, error) {
	return json.RawMessage(s), s != "", nil
}

// A background response whose process has died has failed for everyone who reads it afterwards. It
// contains what is stored of its turn, and reports no more than that as stored.
func TestBackground_ProcessGone(t *testing.T) {
	for name, c := range map[string]struct {
		stored                storedTrace
		status, text, message string
	}{
		"nothing is stored": {"", "failed", "", "the process that ran this turn is gone; its conversation keeps nothing of it"},
		"its question": {
			`{"status":"interrupted","untraced":true,"conversation_id":"c7","question":"x"}`, "failed", "",
			"the process that ran this turn is gone; its conversation keeps the question, and nothing of the answer",
		},
		"a part of its answer": {
			`{"status":"interrupted","untraced":true,"conversation_id":"c7","question":"x","answer":"one two"}`, "failed", "one two",
			"the process that ran this turn is gone; its conversation keeps what was stored until then, as interrupted",
		},
		"its answer, but not the response": {`{"status":"done","conversation_id":"c7","answer":"one two three"}`, "completed", "one two three", ""},
	} {
		t.Run(name, func(t *testing.T) {
			all := &sharedStore{}
			before := serveWith(t, slow(nil), func(cfg *web.Config) { cfg.Responses = all })
			r := before.create(`{"input":"x","background":true}`)
			if now := before.get(id(r)); now["status"] != "in_progress" {
				t.Fatalf("status %v", now["status"])
			}
			after := serveWith(t, slow(nil), func(cfg *web.Config) { cfg.Responses, cfg.Traces = all, c.stored })
			for range 2 { // the second time, it is read from the store
				now := after.get(id(r))
				message, _ := at(now, "error", "message").(string)
				text, _ := at(now, "output", 0, "content", 0, "text").(string)
				if now["status"] != c.status || text != c.text || message != c.message {
					t.Errorf("after its process was gone: %v", now)
				}
			}
			if events := types(after.events(http.MethodGet, "/v1/responses/"+id(r)+"?stream=true", "")); !slices.Contains(events, "response."+c.status) {
				t.Errorf("its events are %v", events)
			}
		})
	}
}
