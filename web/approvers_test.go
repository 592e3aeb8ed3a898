package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"molar/agent"
	"molar/agent/answer"
	"molar/internal/httpguard"
	"molar/schemas"
	"molar/toolhandler"
	"molar/web"
)

// resetTurn plays a turn with one call that needs an approver.
func resetTurn(ended chan<- agent.Decision) script {
	return func(ctx context.Context, turn agent.Turn, yield func(answer.Event) bool) error {
		yield(start())
		yield(toolCall())
		tool := schemas.Tool{ToolInfo: schemas.ToolInfo{Name: call.Function.Name, Server: "tickets"}, Rules: schemas.ToolRules{Approvers: []string{"it-admins"}}}
		d, err := turn.Approver.Approve(ctx, agent.Ask{
			Call: call, Tool: tool, Reason: toolhandler.Reason{Rule: toolhandler.RuleConfirm}, Scopes: []agent.Scope{agent.Once},
			Expires: time.Now().Add(time.Minute), Check: func(string) error { return nil },
		})
		if err == nil {
			ended <- d
		}
		yield(done())
		return nil
	}
}

// approverConfig admits people whom a proxy names, in groups that it names too.
func approverConfig(t *testing.T, run script) web.Config {
	t.Helper()
	clients, err := httpguard.NewAddresses([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string]schemas.Group{
		"staff":      {Name: "staff", Scopes: []string{"chat"}},
		"it-admins":  {Name: "it-admins", Scopes: []string{"chat", "admin"}},
		"it-heads":   {Name: "it-heads", Scopes: []string{"chat"}, ApprovesOwn: true},
		"operators":  {Name: "operators", Scopes: []string{"chat", "admin"}},
		"it-admins!": {Name: "it-admins", Scopes: []string{"chat"}, ApprovesOwn: true},
	}
	cfg := config(t, run)
	cfg.Now = time.Now
	cfg.Access = web.Access{Person: "X-Who", Groups: "X-Groups", Clients: clients, Rights: func(names []string) (*schemas.Rights, bool) {
		rights := new(schemas.Rights)
		for _, name := range names {
			rights.Groups = append(rights.Groups, groups[name])
		}
		return rights, len(rights.Groups) > 0
	}}
	return cfg
}

// The person who asks may not approve, nor may people without the group; an approver may, once, and the
// decision names them.
func TestApprovers(t *testing.T) {
	ended := make(chan agent.Decision, 1)
	ts := live(t, approverConfig(t, resetTurn(ended)))
	defer ts.Client().CloseIdleConnections()
	as := func(who, groups string) []string { return []string{"X-Who", who, "X-Groups", groups} }
	bob, carol := as("bob", "staff"), as("carol", "staff, it-admins")
	resp := send(t.Context(), t, ts.Client(), ts.URL, `{"stream":true,"molar":{"events":true},`+question+`}`, bob...)
	a := readApproval(t, bufio.NewScanner(resp.Body))
	if a.Mine || len(a.Approvers) != 1 || len(a.Scopes) != 1 || !strings.Contains(a.Question.Why, "it-admins") {
		t.Errorf("asked %+v", a)
	}
	listed := func(query string, who []string) []answer.Approval {
		var l struct{ Data []answer.Approval }
		body := readAll(t, get(t, ts.Client(), ts.URL+"/v1/approvals"+query, who...))
		if err := json.Unmarshal([]byte(body), &l); err != nil {
			t.Fatal(body, err)
		}
		return l.Data
	}
	for _, tt := range []struct {
		name, query string
		who         []string
		want        int
	}{
		{"the asker's own", "", bob, 1},
		{"the asker, for them", "?for=me", bob, 0},
		{"an approver, for them", "?for=me", carol, 1},
		{"an approver's own", "", carol, 0},
		{"a colleague, for them", "?for=me", as("dan", "staff"), 0},
		{"an operator, for them", "?for=me", as("olga", "operators"), 0},
	} {
		all := listed(tt.query, tt.who)
		if len(all) != tt.want {
			t.Errorf("%s: %+v", tt.name, all)
		}
		if tt.want == 1 && (all[0].Mine != (tt.query != "") || all[0].Person != "bob" || (tt.query != "") != (all[0].TurnID == "")) {
			t.Errorf("%s: %+v", tt.name, all[0])
		}
	}
	yes := fmt.Sprintf(`{"token":%q,"decision":"approve"}`, a.Token)
	for _, wrong := range []struct {
		who    []string
		body   string
		status int
		code   string
	}{
		{bob, yes, 403, "approver_required"},
		{bob, fmt.Sprintf(`{"token":%q,"decision":"approve","scope":"always"}`, a.Token), 403, "approver_required"},
		{bob, fmt.Sprintf(`{"token":%q,"decision":"approve","scope":"conversation"}`, a.Token), 403, "approver_required"},
		{as("dan", "staff"), yes, 404, ""},
		{as("olga", "operators"), yes, 404, ""},
		{as("hal", "it-heads"), yes, 404, ""},
		{carol, `{"token":"AAAA","decision":"approve"}`, 403, "invalid_token"},
		{carol, fmt.Sprintf(`{"token":%q,"decision":"approve","scope":"always"}`, a.Token), 400, ""},
	} {
		if status, code := decide(t, ts.URL, ts.Client(), a.ID, wrong.body, wrong.who...); status != wrong.status || wrong.code != "" && code != wrong.code {
			t.Errorf("%v sends %s: %d %s, want %d %s", wrong.who, wrong.body, status, code, wrong.status, wrong.code)
		}
	}
	select {
	case d := <-ended:
		t.Fatalf("decided: %+v", d)
	default:
	}
	if status, code := decide(t, ts.URL, ts.Client(), a.ID, yes, carol...); status != http.StatusOK {
		t.Fatalf("%d %s", status, code)
	}
	if d := <-ended; !d.Allowed || d.By != "person:carol" || d.ByName != "carol" {
		t.Errorf("decided %+v", d)
	}
	_ = readAll(t, resp)
}

// The asker may withdraw the call, and approves it if their group allows that.
func TestApprovers_Own(t *testing.T) {
	for _, tt := range []struct{ groups, decision string }{{"staff", "refuse"}, {"it-admins!", "approve"}} {
		ended := make(chan agent.Decision, 1)
		ts := live(t, approverConfig(t, resetTurn(ended)))
		who := []string{"X-Who", "bob", "X-Groups", tt.groups}
		resp := send(t.Context(), t, ts.Client(), ts.URL, `{"stream":true,"molar":{"events":true},`+question+`}`, who...)
		a := readApproval(t, bufio.NewScanner(resp.Body))
		if status, code := decide(t, ts.URL, ts.Client(), a.ID, fmt.Sprintf(`{"token":%q,"decision":%q}`, a.Token, tt.decision), who...); status != http.StatusOK {
			t.Errorf("%s: %d %s", tt.groups, status, code)
		}
		if d := <-ended; d.Allowed != (tt.decision == "approve") || d.By != "person:bob" {
			t.Errorf("%s: %+v", tt.groups, d)
		}
		_ = readAll(t, resp)
		ts.Client().CloseIdleConnections()
	}
}
