package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"molar/agent/answer"
	"molar/internal/httpguard"
	"molar/internal/testkit/models"
	"molar/schemas"
)

// A helpDesk is a server of an IT help desk, whose resets of passwords members of the group leads approve.
type helpDesk struct {
	url string

	mu     sync.Mutex
	resets []string
}

func newHelpDesk(t *testing.T) *helpDesk {
	t.Helper()
	h := &helpDesk{}
	s := server.NewMCPServer("helpdesk", "1.0.0")
	reset := mcp.NewTool("reset_password", mcp.WithDescription("Resets the password of an account, and signs the account out everywhere."),
		mcp.WithString("account", mcp.Required(), mcp.Description("Name of the account")),
		mcp.WithString("reason", mcp.Description("Why it is reset")))
	s.AddTool(reset, func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.resets = append(h.resets, req.GetString("account", ""))
		return mcp.NewToolResultText("The password is reset. A new one was sent to the account's telephone."), nil
	})
	ticket := mcp.NewTool("open_ticket", mcp.WithDescription("Opens a ticket for the people of the help desk."),
		mcp.WithString("title", mcp.Required(), mcp.Description("What it is about")))
	s.AddTool(ticket, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("Ticket 4711 is open."), nil
	})
	ts := httptest.NewServer(server.NewStreamableHTTPServer(s, server.WithStateLess(true)))
	t.Cleanup(ts.Close)
	h.url = ts.URL + "/mcp"
	return h
}

// done returns the accounts whose password was reset.
func (h *helpDesk) done() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.resets, " ")
}

// resetsPasswords plays a model that resets the password of the account after "of " in the question.
func resetsPasswords(r models.Request) *models.Reply {
	switch {
	case isSummary(r):
		return models.Text("Locked out of an account")
	case r.Roles[len(r.Roles)-1] == "user" && len(r.Tools) > 0:
		_, account, found := strings.Cut(r.LastUser, "the password of ")
		account, _, _ = strings.Cut(account, "\n")
		account = strings.TrimRight(account, ".?")
		if !found {
			return models.Text("What may I do for you?")
		}
		args, _ := json.Marshal(map[string]string{"account": account, "reason": "locked out after a holiday"}) //nolint:errchkjson // strings
		return &models.Reply{Calls: []models.Call{{Name: "helpdesk__reset_password", Args: args}}}
	case r.Roles[len(r.Roles)-1] == "tool" && strings.Contains(r.Body[strings.LastIndex(r.Body, `"role":"tool"`):], "The password is reset."):
		return models.Text("The password is reset, and a new one is on its way to the telephone.")
	default:
		return models.Text("I could not reset the password.")
	}
}

// approversConfig is a host of people whom a proxy names, in the groups staff, leads and heads. The
// members of leads approve the calls of others, and those of heads their own too.
func approversConfig(h *helpDesk, more string) string {
	return `telemetry: {trace: on}
assistants: {plain: {system_prompt: You help colleagues with their computers., tools: ["helpdesk__*"]}}
identity: {header: X-Forwarded-User, groups_header: X-Forwarded-Groups}
trusted_proxies: [127.0.0.1]
groups:
  staff: {scopes: [chat]}
  leads: {scopes: [chat, review]}
  heads: {scopes: [chat], approves_own: true}
mcpServers:
  helpdesk:
    url: "` + h.url + `"
    tools: {reset_password: {approvers: [leads, heads]}}
` + more
}

// as sends a request of a person of some groups.
func (s *served) as(t *testing.T, who, groups, method, path, text string) (int, string) {
	t.Helper()
	res := s.send(t, method, path, text, "X-Forwarded-User", who, "X-Forwarded-Groups", groups)
	return res.StatusCode, body(t, res)
}

// waiting returns the calls that somebody may decide about.
func (s *served) waiting(t *testing.T, who, groups string) (all []answer.Approval) {
	t.Helper()
	code, text := s.as(t, who, groups, http.MethodGet, "/v1/approvals?for=me", "")
	var list struct{ Data []answer.Approval }
	if err := json.Unmarshal([]byte(text), &list); err != nil || code != http.StatusOK {
		t.Fatalf("%s: %d %s", who, code, text)
	}
	return list.Data
}

// decides decides about the one call that waits for somebody.
func (s *served) decides(t *testing.T, who, groups, decision string) {
	t.Helper()
	all := s.waiting(t, who, groups)
	if len(all) != 1 {
		t.Fatalf("%d calls wait for %s", len(all), who)
	}
	if code, text := s.as(t, who, groups, http.MethodPost, "/v1/approvals/"+all[0].ID, fmt.Sprintf(`{"token":%q,"decision":%q}`, all[0].Token, decision)); code != http.StatusOK {
		t.Fatalf("%s: %d %s", who, code, text)
	}
}

const hookKey = "thirty-two bytes that sign events"

// A hook receives the events of a webhook, and fails the test for one that is not signed as Standard
// Webhooks says.
type hook struct {
	url string

	mu     sync.Mutex
	events []hookEvent
	closed bool // events are refused
}

type hookEvent struct {
	ID   string
	Type string
	Data struct {
		ApprovalID string `json:"approval_id"`
		Tool, What string
		Person     struct{ ID, Name string }
		Approvers  []string
		Allowed    *bool
		DecidedBy  struct{ ID, Name string } `json:"decided_by"`
	}
}

func newHook(t *testing.T) *hook {
	t.Helper()
	h := &hook{}
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		e := hookEvent{ID: r.Header.Get("Webhook-Id")}
		mac := hmac.New(sha256.New, []byte(hookKey))
		fmt.Fprintf(mac, "%s.%s.%s", e.ID, r.Header.Get("Webhook-Timestamp"), body)
		if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); r.Header.Get("Webhook-Signature") != want {
			t.Errorf("signed %q, want %q", r.Header.Get("Webhook-Signature"), want)
		}
		if err := json.Unmarshal(body, &e); err != nil {
			t.Errorf("%v: %s", err, body)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.events = append(h.events, e)
		if h.closed {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(ts.Close)
	h.url = ts.URL
	return h
}

// wait returns the event of a type about a person's call, and ends the test if it does not come.
func (h *hook) wait(t *testing.T, kind, person string) (e hookEvent) {
	t.Helper()
	eventually(t, kind+" of "+person, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		i := slices.IndexFunc(h.events, func(e hookEvent) bool { return e.Type == kind && e.Data.Person.Name == person })
		if i >= 0 {
			e = h.events[i]
		}
		return i >= 0
	})
	return e
}

// config is the part of a host's config that names the hook.
func (h *hook) config() string {
	return fmt.Sprintf("approvals: {webhook: %q, secret: whsec_%s}\n", h.url, base64.StdEncoding.EncodeToString([]byte(hookKey)))
}

// A call whose answer has ended is decided at another replica, by one of its approvers, once; the next
// yes of the person who asked runs exactly that call. Webhook, audit and trace name the approver.
func TestApprovers_Late(t *testing.T) {
	t.Parallel()
	desk, hook := newHelpDesk(t), newHook(t)
	keys := "api_keys:\n"
	for name, text := range map[string]string{"kim": "scopes: [chat], groups: [leads]", "boss": "scopes: [admin]"} {
		keys += fmt.Sprintf("  - {name: %s, hash: %q, %s}\n", name, httpguard.HashOf(deskKey(name)).String(), text)
	}
	keys += fmt.Sprintf("  - {name: bot, hash: %q, groups: [leads], previous: {hash: %q, until: %s}}\n", httpguard.HashOf(deskKey("bot-new")).String(),
		httpguard.HashOf(deskKey("bot-old")).String(), time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	hosts := replicas(t, startModel(t, models.Config{Script: resetsPasswords}), 2, approversConfig(desk, hook.config()+keys))
	for _, h := range hosts {
		h.stdout.wait(t, "server: helpdesk ready", nil)
	}
	here, elsewhere := hosts[0], hosts[1]
	person := func(who, groups string) []string {
		return []string{"X-Forwarded-User", who, "X-Forwarded-Groups", groups}
	}
	bearer := func(text string) []string { return []string{"Authorization", "Bearer " + deskKey(text)} }
	ask := func(who []string, chat, text string) (answer, turn string) {
		t.Helper()
		res := here.send(t, http.MethodPost, "/v1/chat/completions", questionBody("plain", chat, text, false), who...)
		var got chunk
		text = body(t, res)
		if err := json.Unmarshal([]byte(text), &got); err != nil || res.StatusCode != http.StatusOK {
			t.Fatal(res.StatusCode, text)
		}
		return got.Choices[0].Message.Content, got.Molar.TurnID
	}
	decide := func(at *served, a answer.Approval, decision string, who ...string) (status int, code string) {
		res := at.send(t, http.MethodPost, "/v1/approvals/"+a.ID, fmt.Sprintf(`{"token":%q,"decision":%q}`, a.Token, decision), who...)
		var got struct{ Error apiFault }
		_ = json.Unmarshal([]byte(body(t, res)), &got)
		return res.StatusCode, got.Error.Code
	}

	bob := person("bob", "staff")
	if text, _ := ask(bob, "chat_bob", "Reset the password of mai.le"); !strings.Contains(text, "Waiting for the approval of: `leads` or `heads`") {
		t.Fatal(text)
	}
	asked := hook.wait(t, answer.ApprovalRequested, "bob")
	if !strings.HasPrefix(asked.ID, "msg_") || asked.Data.Person.ID != "person:bob" || !strings.Contains(asked.Data.What, "mai.le") || len(asked.Data.Approvers) != 2 {
		t.Errorf("the webhook was told %+v", asked)
	}
	all := elsewhere.waiting(t, "lan", "staff,leads")
	if len(all) != 1 || all[0].ID != asked.Data.ApprovalID || all[0].Person != "bob" {
		t.Fatalf("%+v", all)
	}
	for _, tt := range []struct {
		name   string
		who    []string
		status int
		code   string
	}{
		{"the asker", bob, 403, "approver_required"},
		{"the asker, who has come into the group", person("bob", "staff,leads"), 403, "approver_required"},
		{"a colleague", person("dan", "staff"), 404, "approval_not_found"},
		{"an approver who has lost the group", person("lan", "staff"), 404, "approval_not_found"},
		{"an approver without any group", person("lan", ""), 403, "no_group"},
	} {
		if status, code := decide(elsewhere, all[0], "approve", tt.who...); status != tt.status || code != tt.code {
			t.Errorf("%s: %d %s, want %d %s", tt.name, status, code, tt.status, tt.code)
		}
	}
	if text, _ := ask(bob, "chat_bob", "yes"); !strings.HasPrefix(text, "Nobody in `leads` or `heads` has approved this yet") || desk.done() != "" {
		t.Errorf("before a decision: %s", text)
	}

	var both sync.WaitGroup
	var outcomes [2]string
	for i, who := range []string{"lan", "hoa"} {
		both.Go(func() {
			status, code := decide(hosts[i], all[0], "approve", person(who, "leads")...)
			outcomes[i] = fmt.Sprint(status, " ", code)
		})
	}
	both.Wait()
	winner := "lan"
	if outcomes[1] == "200 " {
		winner, outcomes[0], outcomes[1] = "hoa", outcomes[1], outcomes[0]
	}
	if outcomes[0] != "200 " || outcomes[1] != "409 already_decided" && outcomes[1] != "404 approval_not_found" {
		t.Errorf("of two approvers at once: %q", outcomes)
	}
	if told := hook.wait(t, answer.ApprovalDecided, "bob"); told.Data.Allowed == nil || !*told.Data.Allowed || told.Data.DecidedBy.Name != winner {
		t.Errorf("the webhook was told %+v", told)
	}
	if all := here.waiting(t, "lan", "leads"); len(all) != 0 || desk.done() != "" {
		t.Errorf("after the decision %+v waits, and %q is reset", all, desk.done())
	}
	_, turn := ask(bob, "chat_bob", "yes")
	ask(bob, "chat_bob", "yes")
	if got := desk.done(); got != "mai.le" {
		t.Errorf("reset: %q", got)
	}
	eventually(t, "the trace names the approver", func() bool {
		return strings.Contains(body(t, elsewhere.send(t, http.MethodGet, "/v1/turns/"+turn, "", bob...)), `"decided_by":"`+winner+`"`)
	})

	// A key has one owner, whichever of its two texts it uses; another key of the group is somebody else.
	ask(bearer("bot-old"), "chat_bot", "Reset the password of linh")
	asked = hook.wait(t, answer.ApprovalRequested, "bot")
	mine := answer.Approval{ID: asked.Data.ApprovalID, Token: elsewhere.waiting(t, "lan", "leads")[0].Token}
	if status, code := decide(elsewhere, mine, "approve", bearer("bot-new")...); status != 403 || code != "approver_required" {
		t.Errorf("the other text of the key that asks: %d %s", status, code)
	}
	if status, code := decide(elsewhere, mine, "refuse", bearer("kim")...); status != http.StatusOK {
		t.Errorf("another key of the group: %d %s", status, code)
	}
	if text, _ := ask(bearer("bot-new"), "chat_bot", "yes"); !strings.Contains(text, "`helpdesk__reset_password` was not done: an approver (`kim`) refused it") {
		t.Errorf("after the no: %s", text)
	}

	// Members of heads approve their own calls.
	eve := person("eve", "heads")
	ask(eve, "chat_eve", "Reset the password of eve")
	mine = elsewhere.waiting(t, "lan", "leads")[0]
	if status, code := decide(elsewhere, mine, "approve", eve...); status != http.StatusOK {
		t.Errorf("the own call of a head: %d %s", status, code)
	}
	ask(eve, "chat_eve", "yes")
	if got := desk.done(); got != "mai.le eve" {
		t.Errorf("reset: %q", got)
	}

	var audit struct{ Data []schemas.AuditLine }
	if err := json.Unmarshal([]byte(body(t, here.send(t, http.MethodGet, "/v1/audit", "", bearer("boss")...))), &audit); err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, l := range audit.Data {
		if l.Tool == "helpdesk__reset_password" && l.Allowed != nil {
			said = append(said, fmt.Sprintf("%s %s %v", strings.TrimPrefix(l.Person, "person:"), l.How, *l.Allowed))
		}
	}
	want := []string{
		"bob nobody there false", winner + " approver true", "bob message true", "cfg_bot nobody there false", "cfg_kim approver false", "cfg_bot message false",
		"eve nobody there false", "eve approver true", "eve message true",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("the audit (-want +got):\n%s", diff)
	}
}

// What a webhook has not taken when the program is killed, it is told after the next start, under the same
// id.
func TestApprovers_WebhookAfterKill(t *testing.T) {
	t.Parallel()
	desk, hook := newHelpDesk(t), newHook(t)
	hook.closed = true
	env := homeEnv(t, startModel(t, models.Config{Script: resetsPasswords}))
	file := writeFile(t, "molar.yaml", "default: plain\nllm: {provider: ollama}\nmemory: {store: ./molar.db}\n"+approversConfig(desk, hook.config()))
	start := func() (*program, *served) {
		p := startProgram(t, env, "serve", "--listen", "127.0.0.1:0", "--config", file)
		p.stdout.wait(t, "server: helpdesk ready", p.ended)
		_, rest, _ := strings.Cut(p.stdout.String(), "molar listens on ")
		url, _, _ := strings.Cut(rest, "\n")
		return p, &served{url: url, client: &http.Client{Transport: &http.Transport{}}}
	}
	p, s := start()
	if code, text := s.as(t, "bob", "staff", http.MethodPost, "/v1/chat/completions", questionBody("plain", "chat_bob", "Reset the password of mai.le", false)); code != http.StatusOK {
		t.Fatal(code, text)
	}
	refused := hook.wait(t, answer.ApprovalRequested, "bob")
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	hook.mu.Lock()
	hook.closed, hook.events = false, nil
	hook.mu.Unlock()
	_, s = start()
	if told := hook.wait(t, answer.ApprovalRequested, "bob"); told.ID != refused.ID || told.Data.ApprovalID != refused.Data.ApprovalID {
		t.Errorf("told %+v, and before %+v", told, refused)
	}
	s.decides(t, "lan", "leads", "approve")
	hook.wait(t, answer.ApprovalDecided, "bob")
	s.client.CloseIdleConnections()
}
