package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"molar/internal/cli"
)

// No route takes a command: what would start a program elsewhere changes nothing here.
func TestSecurity_NoRouteTakesACommand(t *testing.T) {
	t.Parallel()
	canary := filepath.Join(t.TempDir(), "canary")
	config := keyedConfig(t, "")
	s, m := serveHost(t, config, nil), serveAlone(t, config, "127.0.0.1:0")
	payload := `{"command":"touch","args":["` + canary + `"],"env":{"A":"b"},"cwd":"/","url":"file://` + canary + `",` +
		`"mcpServers":{"x":{"command":"touch","args":["` + canary + `"]}},"name":"x","messages":[{"role":"user","content":"hi"}]}`
	for _, base := range []string{s.url, m.url} {
		c := caller{t: t, url: base, client: s.client}
		for _, path := range []string{
			"/v1/servers", "/v1/servers/reload", "/v1/servers/x", "/v1/servers/x/approve", "/v1/tools", "/v1/tools/x/call", "/v1/providers/x/test",
			"/v1/chat/completions", "/v1/conversations", "/v1/config", "/servers", "/jsonrpc", "/mcp", "/mcp/memory-server", "/config", "/",
		} {
			for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch} {
				if status, answer, _ := c.do(method, path, payload); status >= 500 {
					t.Errorf("%s %s: %d %s", method, path, status, answer)
				}
			}
		}
		if status, list, _ := c.do(http.MethodGet, "/v1/servers", ""); base == s.url && (status != 200 || strings.Contains(list, `"x"`)) {
			t.Errorf("servers: %d %s", status, list)
		}
	}
	if _, err := os.Stat(canary); err == nil {
		t.Error("the canary was made")
	}
}

// ${VAR} in what came over HTTP is text, and a secret of the environment or the file is
// in no answer, log or page.
func TestSecurity_SecretsStayInside(t *testing.T) {
	const canary = "canary-5f1d0c-of-the-environment"
	config := keyedConfig(t, `
mcpServers:
  away: {url: "http://127.0.0.1:9/?k=`+canary+`", headers: {Authorization: "Bearer `+canary+`"}}
  broken: {command: "/nonexistent/`+"program"+`", args: ["`+canary+`"], env: {TOKEN: "`+canary+`"}}
assistants:
  dental: {topic: dental, search: [dental_guide_search]}
  general: {tools: ["*"]}
`)
	t.Setenv("CANARY", canary)
	s, m := serveHost(t, config, nil), serveAlone(t, config, "127.0.0.1:0")
	var seen strings.Builder
	for _, base := range []string{s.url, m.url} {
		c := caller{t: t, url: base, key: "${CANARY}", client: s.client}
		for _, text := range []string{"${CANARY}", "$CANARY", "%CANARY%", "${CANARY:-x}"} {
			question := questionBody(text, text, text, false)
			for _, try := range [][3]string{
				{http.MethodPost, "/v1/chat/completions", question},
				{http.MethodPost, "/v1/chat/completions", questionBody("general", "c1", "echo "+text, true)},
				{http.MethodPatch, "/v1/conversations/c1", `{"title":"` + text + `"}`},
				{http.MethodGet, "/v1/conversations/c1", ""},
				{http.MethodGet, "/v1/conversations?q=%24%7BCANARY%7D", ""},
				{http.MethodGet, "/v1/servers", ""},
				{http.MethodGet, "/v1/tools", ""},
				{http.MethodGet, "/v1/config", ""},
				{http.MethodGet, "/", ""},
				{http.MethodPost, "/v1/servers/reload", ""},
				{http.MethodPost, "/jsonrpc", `{"jsonrpc":"2.0","id":1,"method":"memory-server/memory/add_message","params":{"conversation_id":"` + text + `","role":"user","content":"` + text + `"}}`},
				{http.MethodPost, "/jsonrpc", `{"jsonrpc":"2.0","id":1,"method":"memory-server/memory/get_all_messages","params":{"conversation_id":"` + text + `"}}`},
				{http.MethodPost, "/jsonrpc", `{"jsonrpc":"2.0","id":1,"method":"tool-server/tools/call","params":{"name":"dental_guide_search","arguments":{"query":"` + text + `"}}}`},
			} {
				_, answer, _ := c.do(try[0], try[1], try[2])
				seen.WriteString(answer)
			}
		}
	}
	if code := s.stop(); code != cli.OK {
		t.Errorf("serve ended with %d", code)
	}
	for what, text := range map[string]string{"an answer": seen.String(), "the log": s.stderr.String(), "the overview": s.stdout.String()} {
		if strings.Contains(text, canary) {
			t.Errorf("%s holds the secret", what)
		}
	}
	if !strings.Contains(seen.String(), "${CANARY}") {
		t.Error("nothing was echoed at all")
	}
}
