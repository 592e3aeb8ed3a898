package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"molar/agent"
	"molar/agent/answer"
	"molar/schemas"
	"molar/toolhandler"
	"molar/web/turns"
)

// askingTurn plays a turn with one call that waits for approval.
func askingTurn(ended chan<- agent.Decision, wait time.Duration) script {
	return func(ctx context.Context, turn agent.Turn, yield func(answer.Event) bool) error {
		yield(start())
		if turn.Approver == nil {
			yield(text("nobody to ask"))
			yield(done())
			return nil
		}
		yield(toolCall())
		ctx, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		d, err := turn.Approver.Approve(ctx, agent.Ask{
			Call: call, Tool: schemas.Tool{ToolInfo: schemas.ToolInfo{Name: call.Function.Name, Server: "family"}},
			Reason: toolhandler.Reason{Rule: toolhandler.RuleConfirm}, Scopes: []agent.Scope{agent.Once, agent.InConversation},
			Destinations: []agent.Destination{{ID: "exact"}, {ID: "server"}}, Expires: time.Now().Add(wait),
			Check: func(arguments string) error {
				if !strings.Contains(arguments, `"q"`) {
					return errors.New("q is missing")
				}
				return nil
			},
		})
		if err != nil {
			yield(text("nobody approved"))
		}
		ended <- d
		yield(done())
		return nil
	}
}

// readApproval reads a stream up to its approval note, and returns the approval.
func readApproval(t *testing.T, lines *bufio.Scanner) answer.Approval {
	t.Helper()
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		var c struct {
			Molar struct {
				Type string `json:"type"`
				answer.Approval
			} `json:"molar"`
		}
		if ok && json.Unmarshal([]byte(data), &c) == nil && c.Molar.Type == "approval" {
			return c.Molar.Approval
		}
	}
	t.Fatal("the stream asked for no approval")
	return answer.Approval{}
}

func decide(t *testing.T, ts string, client *http.Client, id, body string, header ...string) (status int, code string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, ts+"/v1/approvals/"+id, strings.NewReader(body))
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
	answer := readAll(t, resp)
	if resp.StatusCode != http.StatusOK {
		code, _, _ = errorOf(t, []byte(answer))
	}
	return resp.StatusCode, code
}

func TestApprovals_Decide(t *testing.T) {
	tests := map[string]struct {
		decision string
		want     agent.Decision
	}{
		"yes":                   {`"decision":"approve"`, agent.Decision{Allowed: true}},
		"no":                    {`"decision":"refuse"`, agent.Decision{}},
		"in this conversation":  {`"decision":"approve","scope":"conversation"`, agent.Decision{Allowed: true, Scope: agent.InConversation}},
		"all of a server":       {`"decision":"approve","scope":"conversation","destination":"server"`, agent.Decision{Allowed: true, Scope: agent.InConversation, Destination: "server"}},
		"edited":                {`"decision":"approve","arguments":{"q":"An"}`, agent.Decision{Allowed: true, Arguments: `{"q":"An"}`}},
		"edited, as in a call":  {`"decision":"approve","arguments":"{\"q\":\"An\"}"`, agent.Decision{Allowed: true, Arguments: `{"q":"An"}`}},
		"no arguments of a man": {`"decision":"approve","arguments":null`, agent.Decision{Allowed: true}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ended := make(chan agent.Decision, 1)
			cfg := config(t, askingTurn(ended, time.Minute))
			cfg.Now = time.Now
			cfg.Owner = func(r *http.Request) string { return r.Header.Get("X-Who") }
			ts := live(t, cfg)
			defer ts.Client().CloseIdleConnections()
			resp := send(t.Context(), t, ts.Client(), ts.URL, `{"stream":true,"molar":{"events":true},`+question+`}`, "X-Who", "ann")
			a := readApproval(t, bufio.NewScanner(resp.Body))
			if a.Tool != call.Function.Name || a.Server != "family" || string(a.Arguments) != call.Function.Arguments || a.Why == "" || a.Question.What == "" || a.Question.Why == "" || !strings.HasPrefix(a.Question.Where, "Done in the service “family”") || a.Shown == "" || !strings.HasPrefix(a.Subject(), a.Tool) || len(a.Scopes) != 2 || time.Until(a.Expires) < 50*time.Second {
				t.Errorf("asked %+v", a)
			}
			list := readAll(t, get(t, ts.Client(), ts.URL+"/v1/approvals", "X-Who", "ann"))
			if !strings.Contains(list, a.Token) {
				t.Errorf("the list is %s", list)
			}
			if list := readAll(t, get(t, ts.Client(), ts.URL+"/v1/approvals", "X-Who", "bob")); strings.Contains(list, a.ID) {
				t.Errorf("another sees %s", list)
			}
			body := fmt.Sprintf(`{"token":%q,%s}`, a.Token, tt.decision)
			for _, wrong := range []struct {
				who, body string
				status    int
			}{
				{"bob", body, 404},
				{"ann", `{"token":"AAAA",` + tt.decision + `}`, 403},
				{"ann", `{` + tt.decision + `}`, 403},
				{"ann", fmt.Sprintf(`{"token":%q,"decision":"maybe"}`, a.Token), 400},
				{"ann", fmt.Sprintf(`{"token":%q,"decision":"approve","scope":"always"}`, a.Token), 400},
				{"ann", fmt.Sprintf(`{"token":%q,"decision":"approve","arguments":{"x":1}}`, a.Token), 400},
				{"ann", fmt.Sprintf(`{"token":%q,"decision":"approve","scope":"conversation","destination":"elsewhere"}`, a.Token), 400},
				{"ann", fmt.Sprintf(`{"token":%q,"decision":"approve","destination":"server"}`, a.Token), 400},
				{"ann", fmt.Sprintf(`{"token":%q,"decision":"approve","scope":"conversation","destination":"server","arguments":{"q":1}}`, a.Token), 400},
				{"ann", fmt.Sprintf(`{"token":%q,"decision":"refuse","arguments":{"q":1}}`, a.Token), 400},
			} {
				if status, code := decide(t, ts.URL, ts.Client(), a.ID, wrong.body, "X-Who", wrong.who); status != wrong.status {
					t.Errorf("%s sends %s: %d %s, want %d", wrong.who, wrong.body, status, code, wrong.status)
				}
			}
			if status, code := decide(t, ts.URL, ts.Client(), a.ID, body, "X-Who", "ann"); status != 200 {
				t.Fatalf("%d %s", status, code)
			}
			if got := <-ended; got != tt.want {
				t.Errorf("decided %+v, want %+v", got, tt.want)
			}
			if status, _ := decide(t, ts.URL, ts.Client(), a.ID, body, "X-Who", "ann"); status != 404 {
				t.Errorf("a second time: %d", status)
			}
			readAll(t, resp)
		})
	}
}

// The token of one call is not valid for another call.
func TestApprovals_TokenIsOfOneCall(t *testing.T) {
	ended := make(chan agent.Decision, 2)
	cfg := config(t, askingTurn(ended, time.Minute))
	cfg.Now = time.Now
	ts := live(t, cfg)
	defer ts.Client().CloseIdleConnections()
	var asked []answer.Approval
	var open []*http.Response
	for range 2 {
		resp := send(t.Context(), t, ts.Client(), ts.URL, `{"stream":true,"molar":{"events":true},`+question+`}`)
		open, asked = append(open, resp), append(asked, readApproval(t, bufio.NewScanner(resp.Body)))
	}
	if status, code := decide(t, ts.URL, ts.Client(), asked[0].ID, fmt.Sprintf(`{"token":%q,"decision":"approve"}`, asked[1].Token)); status != 403 || code != "invalid_token" {
		t.Errorf("%d %s", status, code)
	}
	for i, a := range asked {
		decide(t, ts.URL, ts.Client(), a.ID, fmt.Sprintf(`{"token":%q,"decision":"refuse"}`, a.Token))
		readAll(t, open[i])
	}
}

// When nobody decides, comments keep the stream alive until the approval expires, and the turn
// continues.
func TestApprovals_Timeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config(t, askingTurn(make(chan agent.Decision, 1), 10*time.Minute))
		cfg.Now = time.Now
		h := build(t, cfg)
		w := post(h, `{"stream":true,"molar":{"events":true},`+question+`}`)
		if alive := strings.Count(w.Body.String(), ": keep-alive"); alive < 50 || !strings.Contains(w.Body.String(), "nobody approved") {
			t.Errorf("%d comments in %s", alive, w.Body)
		}
		if list := serve(h, request(http.MethodGet, "/v1/approvals", "")); !strings.Contains(list.Body.String(), `"data":[]`) {
			t.Errorf("still waiting: %s", list.Body)
		}
	})
}

// A client that does not receive approval notes is not asked for approval.
func TestApprovals_OnlyWhereTheyAreSeen(t *testing.T) {
	for body, asked := range map[string]bool{
		`{"stream":true,`:           false,
		`{`:                         false,
		`{"molar":{"events":true},`: false,
		`{"stream":true,"molar":{"events":true},`: true,
		`{"molar":{"detach":true},`:               true,
		`{"stream":true,"molar":{"detach":true},`: true,
	} {
		k := &keep{}
		cfg := config(t, k)
		cfg.Turns = turns.NewSet(nil, nil)
		post(build(t, cfg), body+question+`}`)
		cfg.Turns.Drain(t.Context())
		if (k.turn.Approver != nil) != asked {
			t.Errorf("%s: asked %v", body, k.turn.Approver != nil)
		}
	}
}

// twoCalls plays a turn with two calls that need a permission for the same destination.
func twoCalls(ended chan<- agent.Decision) script {
	return func(ctx context.Context, turn agent.Turn, yield func(answer.Event) bool) error {
		yield(start())
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				d, _ := turn.Approver.Approve(ctx, agent.Ask{
					Call: call, Tool: schemas.Tool{ToolInfo: schemas.ToolInfo{Name: call.Function.Name, Server: "family"}},
					Reason: toolhandler.Reason{Rule: toolhandler.RuleOrder, Orders: []schemas.Origin{"mail"}}, Destinations: []agent.Destination{{ID: "exact"}},
					Scopes: []agent.Scope{agent.Once, agent.Always}, Expires: time.Now().Add(time.Minute),
				})
				ended <- d
			})
		}
		both.Wait()
		yield(done())
		return nil
	}
}

// A permission beyond one call is applied to the turn's other pending calls to the same destination.
func TestApprovals_AlikeAreDecidedTogether(t *testing.T) {
	ended := make(chan agent.Decision, 2)
	cfg := config(t, twoCalls(ended))
	cfg.Now = time.Now
	ts := live(t, cfg)
	defer ts.Client().CloseIdleConnections()
	resp := send(t.Context(), t, ts.Client(), ts.URL, `{"stream":true,"molar":{"events":true},`+question+`}`)
	lines := bufio.NewScanner(resp.Body)
	readApproval(t, lines)
	a := readApproval(t, lines)
	if status, code := decide(t, ts.URL, ts.Client(), a.ID, fmt.Sprintf(`{"token":%q,"decision":"approve","scope":"always"}`, a.Token)); status != 200 {
		t.Fatalf("%d %s", status, code)
	}
	if x, y := <-ended, <-ended; !x.Allowed || !y.Allowed {
		t.Errorf("decided %+v and %+v", x, y)
	}
	readAll(t, resp)
}

type someGrants []schemas.Grant

func (g *someGrants) ListGrants(_ context.Context, owner string) ([]schemas.Grant, error) {
	return slices.DeleteFunc(slices.Clone(*g), func(one schemas.Grant) bool { return owner != "" && one.Owner != owner }), nil
}

func (g *someGrants) DeleteGrant(_ context.Context, owner, id string) (bool, error) {
	before := len(*g)
	*g = slices.DeleteFunc(*g, func(one schemas.Grant) bool { return one.ID == id && one.Owner == owner })
	return len(*g) < before, nil
}

// Grants are listed for their owner, who can revoke them.
func TestGrants(t *testing.T) {
	cfg := config(t, script(nil))
	cfg.Grants = &someGrants{{ID: "g1", Owner: "ann", Tool: "mail__send", Arguments: json.RawMessage(`{"to":"bob"}`)}, {ID: "g2", Owner: "bob", Tool: "mail__send", Arguments: json.RawMessage(`{"to":"ann"}`)}}
	cfg.Owner = func(r *http.Request) string { return r.Header.Get("X-Who") }
	h := build(t, cfg)
	as := func(who, method, path string) (int, string) {
		r := request(method, path, "")
		r.Header.Set("X-Who", who)
		answer := serve(h, r)
		return answer.Code, answer.Body.String()
	}
	for _, tt := range []struct {
		who, method, path string
		status            int
		has, hasNot       string
	}{
		{"ann", "GET", "/v1/grants", 200, `{"to":"bob"}`, `{"to":"ann"}`},
		{"ann", "DELETE", "/v1/grants/g2", 404, "", ""},
		{"ann", "DELETE", "/v1/grants/g1", 200, `"deleted":true`, ""},
		{"ann", "GET", "/v1/grants", 200, `"data":[]`, "bob"},
		{"bob", "GET", "/v1/grants", 200, "g2", ""},
	} {
		status, body := as(tt.who, tt.method, tt.path)
		if status != tt.status || !strings.Contains(body, tt.has) || tt.hasNot != "" && strings.Contains(body, tt.hasNot) {
			t.Errorf("%s %s %s: %d %s", tt.who, tt.method, tt.path, status, body)
		}
	}
}
