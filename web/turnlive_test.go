package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"molar/agent/answer"
	"molar/web/turns"
)

// The route shows a running turn to its owner only, as running, with what is known of it; for a
// detached turn, that includes the answer so far.
func TestGetTurn_WhileItRuns(t *testing.T) {
	for _, tt := range []struct {
		name, molar, answer string
		ended               int // the status after its end, on a host without traces
	}{
		{"with its client's connection", `{}`, "", http.StatusNotFound},
		{"detached", `{"detach":true}`, "one ", http.StatusOK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			gate := make(chan struct{}, 2)
			cfg := config(t, gated(gate, nil, "one ", "two"))
			cfg.Traces = traces{}
			cfg.Turns = turns.NewSet(nil, nil)
			cfg.Owner = func(r *http.Request) string { return r.Header.Get("X-Me") }
			ts := live(t, cfg)
			defer ts.Client().CloseIdleConnections()
			gate <- struct{}{}
			resp := send(t.Context(), t, ts.Client(), ts.URL, `{"stream":true,"molar":`+tt.molar+`,`+question+`}`, "X-Me", "ann")
			defer resp.Body.Close()
			lines := bufio.NewScanner(resp.Body)
			for lines.Scan() && !strings.Contains(lines.Text(), "one ") {
			}
			id := resp.Header.Get("X-Turn-Id")
			for _, name := range []string{id, "chatcmpl-" + id} {
				found := get(t, ts.Client(), ts.URL+"/v1/turns/"+name, "X-Me", "ann")
				var trace answer.Trace
				if body := readAll(t, found); found.StatusCode != 200 || json.Unmarshal([]byte(body), &trace) != nil || !strings.Contains(body, `"tools":[],"passes":[]`) {
					t.Fatalf("%d %s", found.StatusCode, body)
				}
				if trace.TurnID != id || trace.Status != "running" || trace.ConversationID != "c1" || trace.Assistant != "dental" || trace.Answer != tt.answer {
					t.Errorf("%+v", trace)
				}
			}
			if other := get(t, ts.Client(), ts.URL+"/v1/turns/"+id, "X-Me", "bob"); other.StatusCode != 404 {
				t.Errorf("to another owner: %d %s", other.StatusCode, readAll(t, other))
			}
			gate <- struct{}{}
			for lines.Scan() { // until the end of the stream
			}
			ctx, done := context.WithTimeout(t.Context(), 10*time.Second)
			defer done()
			cfg.Turns.Drain(ctx)
			ended := get(t, ts.Client(), ts.URL+"/v1/turns/"+id, "X-Me", "ann")
			if body := readAll(t, ended); ended.StatusCode != tt.ended || tt.ended == http.StatusOK && !strings.Contains(body, `"status":"done","untraced":true`) {
				t.Errorf("at its end: %d %s", ended.StatusCode, body)
			}
			if other := get(t, ts.Client(), ts.URL+"/v1/turns/"+id, "X-Me", "bob"); other.StatusCode != http.StatusNotFound {
				t.Errorf("at its end, to another owner: %d %s", other.StatusCode, readAll(t, other))
			}
		})
	}
}
