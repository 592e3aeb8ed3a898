package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"molar/agent"
	"molar/agent/answer"
	"molar/web/turns"
)

// gated plays a turn word by word, each when the gate opens, until it is cancelled.
func gated(gate <-chan struct{}, cancelled chan<- error, words ...string) script {
	return func(ctx context.Context, t agent.Turn, yield func(answer.Event) bool) error {
		yield(answer.Event{Kind: answer.KindStart, Start: &answer.Start{TurnID: t.ID, ConversationID: "c1", Assistant: "dental", Created: created}})
		for _, w := range words {
			select {
			case <-gate:
			case <-ctx.Done():
				cancelled <- ctx.Err()
				return ctx.Err()
			}
			yield(text(w))
		}
		yield(done())
		return nil
	}
}

// send posts a chat request; the caller closes the body of the response.
func send(ctx context.Context, t *testing.T, client *http.Client, url, body string, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func get(t *testing.T, client *http.Client, url string, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func readAll(t *testing.T, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// A detached turn continues when its client leaves, and can be followed from any of its events; the
// events before and after make up the whole answer.
func TestTurns_Detached(t *testing.T) {
	gate := make(chan struct{}, 3)
	cfg := config(t, gated(gate, nil, "one ", "two ", "three"))
	cfg.Turns = turns.NewSet(nil, nil)
	ts := live(t, cfg)
	defer ts.Client().CloseIdleConnections()
	ctx, leave := context.WithCancel(t.Context())
	gate <- struct{}{}
	resp := send(ctx, t, ts.Client(), ts.URL, `{"stream":true,"molar":{"detach":true},`+question+`}`)
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() && !strings.Contains(lines.Text(), "one ") {
	}
	id := resp.Header.Get("X-Turn-Id")
	leave()
	_ = resp.Body.Close()

	followed := get(t, ts.Client(), ts.URL+"/v1/turns/"+id+"/events")
	lines = bufio.NewScanner(followed.Body)
	number := ""
	for lines.Scan() && !strings.Contains(lines.Text(), "one ") {
		if n, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			number = n
		}
	}
	_ = followed.Body.Close() // the connection breaks here
	gate <- struct{}{}
	gate <- struct{}{}
	rest := readAll(t, get(t, ts.Client(), ts.URL+"/v1/turns/chatcmpl-"+id+"/events", "Last-Event-ID", number))
	if content, finish, _ := readStream(t, withoutIDs(rest)); content != "two three" || finish != "stop" {
		t.Errorf("after event %q: %q, finish %q", number, content, finish)
	}
	whole := readAll(t, get(t, ts.Client(), ts.URL+"/v1/turns/"+id+"/events"))
	if content, _, _ := readStream(t, withoutIDs(whole)); content != "one two three" {
		t.Errorf("from the begin: %q", content)
	}
	last := ""
	for line := range strings.SplitSeq(whole, "\n") {
		if n, ok := strings.CutPrefix(line, "id: "); ok {
			last = n
		}
	}
	if resp := get(t, ts.Client(), ts.URL+"/v1/turns/"+id+"/events", "Last-Event-ID", last); resp.StatusCode != http.StatusNoContent {
		t.Errorf("after the last event: %d", resp.StatusCode)
	}
	if resp := get(t, ts.Client(), ts.URL+"/v1/turns/"+id+"/events", "Last-Event-ID", "x"); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("no number: %d", resp.StatusCode)
	}
	cfg.Turns.Drain(t.Context())
}

// withoutIDs removes the event numbers from a stream.
func withoutIDs(body string) string {
	var kept []string
	for line := range strings.SplitSeq(body, "\n") {
		if !strings.HasPrefix(line, "id: ") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// A turn can be followed until 60 s after its end.
func TestTurns_FollowedForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var id string
		cfg := config(t, script(func(_ context.Context, turn agent.Turn, yield func(answer.Event) bool) error {
			id = turn.ID
			yield(text("a"))
			yield(done())
			return nil
		}))
		cfg.Now, cfg.Turns = time.Now, turns.NewSet(nil, time.Now)
		h := build(t, cfg)
		post(h, `{"molar":{"detach":true},`+question+`}`)
		synctest.Wait()
		time.Sleep(59 * time.Second)
		if w := serve(h, request(http.MethodGet, "/v1/turns/"+id+"/events", "")); w.Code != http.StatusOK {
			t.Errorf("after 59 s: %d %s", w.Code, w.Body)
		}
		time.Sleep(2 * time.Second)
		w := serve(h, request(http.MethodGet, "/v1/turns/"+id+"/events", ""))
		if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), `"status":"unknown"`) {
			t.Errorf("after 61 s: %d %s", w.Code, w.Body)
		}
	})
}

// For a turn that is not in this process, the route answers with its status and its stored answer.
func TestTurns_Elsewhere(t *testing.T) {
	cfg := config(t, play(nil))
	cfg.Traces = traces{"t9": `{"turn_id":"t9","status":"done","conversation_id":"c9","answer":"cut…"}`}
	h := build(t, cfg)
	w := serve(h, request(http.MethodGet, "/v1/turns/t9/events", ""))
	code, _, _ := errorOf(t, w.Body.Bytes())
	if w.Code != 404 || code != "turn_not_found" || !strings.Contains(w.Body.String(), `"status":"done"`) || !strings.Contains(w.Body.String(), `"answer":"cut…"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

type traces map[string]string

func (m traces) Trace(_ context.Context, _, id string) (json.RawMessage, bool, error) {
	body, ok := m[id]
	return json.RawMessage(body), ok, nil
}

// A turn is stopped by its id, whether it is detached or not.
func TestTurns_Stop(t *testing.T) {
	for _, detach := range []bool{false, true} {
		t.Run(fmt.Sprint("detached ", detach), func(t *testing.T) {
			gate, cancelled := make(chan struct{}, 1), make(chan error, 1)
			cfg := config(t, gated(gate, cancelled, "one ", "two"))
			cfg.Turns = turns.NewSet(nil, nil)
			ts := live(t, cfg)
			defer ts.Client().CloseIdleConnections()
			gate <- struct{}{}
			resp := send(t.Context(), t, ts.Client(), ts.URL, fmt.Sprintf(`{"stream":true,"molar":{"detach":%v},`, detach)+question+`}`)
			lines := bufio.NewScanner(resp.Body)
			for lines.Scan() && !strings.Contains(lines.Text(), "one ") {
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, ts.URL+"/v1/turns/"+resp.Header.Get("X-Turn-Id"), nil)
			if err != nil {
				t.Fatal(err)
			}
			stopped, err := ts.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if body := readAll(t, stopped); stopped.StatusCode != 200 || !strings.Contains(body, `"status":"stopped"`) {
				t.Errorf("%d %s", stopped.StatusCode, body)
			}
			if err := <-cancelled; err == nil {
				t.Error("the turn was not cancelled")
			}
			if rest := readAll(t, resp); !strings.Contains(rest, `"code":"stopped"`) || strings.Contains(rest, "[DONE]") {
				t.Errorf("the stream ended as %q", rest)
			}
			cfg.Turns.Drain(t.Context())
		})
	}
}

// Only its owner can follow or stop a turn.
func TestTurns_BelongToTheirOwner(t *testing.T) {
	gate := make(chan struct{})
	cfg := config(t, gated(gate, make(chan error, 1), "one"))
	cfg.Turns = turns.NewSet(nil, nil)
	cfg.Owner = func(r *http.Request) string { return r.Header.Get("X-Who") }
	ts := live(t, cfg)
	defer ts.Client().CloseIdleConnections()
	resp := send(t.Context(), t, ts.Client(), ts.URL, `{"stream":true,"molar":{"detach":true},`+question+`}`, "X-Who", "ann")
	id := resp.Header.Get("X-Turn-Id")
	if other := get(t, ts.Client(), ts.URL+"/v1/turns/"+id+"/events", "X-Who", "bob"); other.StatusCode != 404 {
		t.Errorf("another follows: %d", other.StatusCode)
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodDelete, ts.URL+"/v1/turns/"+id, nil)
	req.Header.Set("X-Who", "bob")
	if other, err := ts.Client().Do(req); err != nil || other.StatusCode != 404 {
		t.Errorf("another stops: %v %v", other, err)
	}
	close(gate)
	if content, _, _ := readStream(t, readAll(t, resp)); content != "one" {
		t.Errorf("the answer is %q", content)
	}
	cfg.Turns.Drain(t.Context())
}

// Drain waits for a turn until its time limit, and then cuts it.
func TestTurns_Drain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cut := make(chan time.Duration, 1)
		begun := time.Now()
		cfg := config(t, script(func(ctx context.Context, _ agent.Turn, yield func(answer.Event) bool) error {
			yield(start())
			<-ctx.Done()
			cut <- time.Since(begun)
			return ctx.Err()
		}))
		cfg.Turns = turns.NewSet(nil, nil)
		h := build(t, cfg)
		go post(h, `{"molar":{"detach":true},`+question+`}`)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		cfg.Turns.Drain(ctx)
		if took := <-cut; took != 10*time.Second {
			t.Errorf("cut after %s", took)
		}
		if w := post(h, `{"molar":{"detach":true},`+question+`}`); w.Code != 503 {
			t.Errorf("after the drain: %d %s", w.Code, w.Body)
		}
	})
}

// If a turn has more events than its log holds, a late follower gets an error, and the memory of
// the host stays limited.
func TestTurns_HoldABound(t *testing.T) {
	big, id := strings.Repeat("x", 1<<20), ""
	cfg := config(t, script(func(_ context.Context, turn agent.Turn, yield func(answer.Event) bool) error {
		id = turn.ID
		for range 12 {
			yield(text(big))
		}
		yield(done())
		return nil
	}))
	cfg.Turns = turns.NewSet(nil, nil)
	h := build(t, cfg)
	ctx, leave := context.WithCancel(t.Context())
	leave() // the client leaves before the first word
	serve(h, request(http.MethodPost, "/v1/chat/completions", `{"stream":true,"molar":{"detach":true},`+question+`}`).WithContext(ctx))
	cfg.Turns.Drain(t.Context())
	w := serve(h, request(http.MethodGet, "/v1/turns/"+id+"/events", ""))
	if code, _, _ := errorOf(t, w.Body.Bytes()); w.Code != http.StatusGone || code != "events_lost" {
		t.Errorf("%d %s", w.Code, code)
	}
}
