package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"molar/agent/answer"
	"molar/internal/testkit/models"
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
		_, account, found := strings.Cut(strings.TrimRight(r.LastUser, ".?"), "password of ")
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
	return `default: it
llm: {provider: ollama}
telemetry: {trace: on}
assistants: {it: {system_prompt: You help colleagues with their computers., tools: ["helpdesk__*"]}}
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
