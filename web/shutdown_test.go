package web_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"molar/agent"
	"molar/agent/answer"
	"molar/schemas"
	"molar/toolhandler"
	"molar/web/turns"
)

// Once the process is to end, a turn that only waits for a person's decision ends at once, whenever it
// begins to wait; while another of its calls that may have an effect runs, it ends after that.
func TestTurns_PauseWaiting(t *testing.T) {
	const works = 5 * time.Second // the other call
	for name, tt := range map[string]struct {
		// asksAfter is when the call asks, working is set if another call runs meanwhile.
		asksAfter time.Duration
		working   bool
		ends      time.Duration
	}{
		"it waits":                 {0, false, time.Second},
		"it waits, another works":  {0, true, works},
		"it waits a little later":  {3 * time.Second, false, 3 * time.Second},
		"it waits after the other": {8 * time.Second, true, 8 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended := make(chan time.Duration, 1)
				cfg := config(t, script(func(ctx context.Context, turn agent.Turn, yield func(answer.Event) bool) error {
					began := time.Now()
					yield(start())
					other := schemas.ToolCall{ID: "other"}
					asking := call
					if tt.working {
						yield(answer.Event{Kind: answer.KindToolCall, Call: &other, Effect: true})
					}
					yield(answer.Event{Kind: answer.KindToolCall, Call: &asking, Effect: true, Asks: true})
					decided := make(chan error, 1)
					go func() {
						<-time.After(tt.asksAfter)
						_, err := turn.Approver.Approve(ctx, agent.Ask{Call: asking, Reason: toolhandler.Reason{Rule: toolhandler.RuleConfirm}, Expires: time.Now().Add(time.Minute)})
						decided <- err
					}()
					if tt.working {
						<-time.After(works)
						if ctx.Err() != nil {
							t.Error("the turn ended while a call ran")
						}
						yield(answer.Event{Kind: answer.KindToolResult, Call: &other, Effect: true, Result: &schemas.ToolResult{ID: other.ID}})
					}
					err := <-decided
					ended <- time.Since(began)
					return err
				}))
				cfg.Now, cfg.Turns = time.Now, turns.NewSet(nil, nil)
				h := build(t, cfg)
				body := make(chan string, 1)
				go func() { body <- post(h, `{"stream":true,"molar":{"events":true},`+question+`}`).Body.String() }()
				<-time.After(time.Second)
				cfg.Turns.PauseWaiting()
				if took := <-ended; took != tt.ends {
					t.Errorf("it ended after %v, want %v", took, tt.ends)
				}
				if said := <-body; !strings.Contains(said, `"code":"shutting_down"`) {
					t.Errorf("the client is told %s", said)
				}
				if w := serve(h, request(http.MethodGet, "/v1/approvals", "")); !strings.Contains(w.Body.String(), `"data":[]`) {
					t.Errorf("still pending: %s", w.Body)
				}
			})
		})
	}
}
