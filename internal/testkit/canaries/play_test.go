package _test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// childArg makes the test binary an MCP server on standard input and output.
const childArg = "be-an-mcp-server"

// message is an MCP message, with the fields that these servers read.
type message struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name            string
		ProtocolVersion string
	}
}

// answer returns the answer; empty for a message that needs none.
func (m message) answer() string {
	if m.ID == nil {
		return ""
	}
	result := `{}`
	switch m.Method {
	case "initialize":
		result = fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`, m.Params.ProtocolVersion)
	case "tools/list":
		result = `{"tools":[{"name":"get","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"fail","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`
	case "tools/call":
		result = fmt.Sprintf(`{"content":[{"type":"text","text":"%s says hello"}],"isError":%v}`, m.Params.Name, m.Params.Name == "fail")
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
}

// serveMCP writes its environment to a file and answers requests.
func serveMCP(file string) int {
	if err := os.WriteFile(file, []byte(strings.Join(os.Environ(), "\n")), 0o600); err != nil {
		return 1
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var m message
		if json.Unmarshal(lines.Bytes(), &m) == nil {
			_, _ = os.Stdout.WriteString(m.answer())
		}
	}
	return 0
}

var turnID = regexp.MustCompile(`"turn_id":"([^"]+)"`)

// play runs turns that succeed and fail, and returns the output, by place.
func (h *host) play(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	own := canary("own-api-key")
	for _, said := range []string{"hello", "call home__get", "call plain__fail", "call far__get", "call far__fail", "call login__add", "call dead__get"} {
		for _, assistant := range []string{"general", "broken"} {
			text := marker + " " + said
			out["answer of Chat Completions"] += h.ask(t, own, "POST", "/v1/chat/completions", fmt.Sprintf(`{"model":%q,"chat_id":"c1","messages":[{"role":"user","content":%q}]}`, assistant, text))
			out["stream of Chat Completions"] += h.ask(t, own, "POST", "/v1/chat/completions", fmt.Sprintf(`{"model":%q,"stream":true,"molar":{"events":true},"messages":[{"role":"user","content":%q}]}`, assistant, text))
			out["answer of Responses"] += h.ask(t, own, "POST", "/v1/responses", fmt.Sprintf(`{"model":%q,"input":%q}`, assistant, text))
			out["stream of Responses"] += h.ask(t, own, "POST", "/v1/responses", fmt.Sprintf(`{"model":%q,"stream":true,"input":%q}`, assistant, text))
		}
	}
	for _, found := range turnID.FindAllStringSubmatch(out["stream of Chat Completions"], -1) {
		out["trace"] += h.ask(t, own, "GET", "/v1/turns/"+found[1], "")
	}
	out["conversation"] = h.ask(t, own, "GET", "/v1/conversations/c1", "")
	out["answer to a wrong key"] = strings.ReplaceAll(h.ask(t, wrongKey, "GET", "/v1/tools", ""), "nothing", "")
	for _, path := range []string{
		"/", "/config", "/tools", "/turn", "/v1/config", "/v1/setup", "/v1/servers", "/v1/tools", "/v1/calls", "/v1/conversations", "/v1/models", "/metrics", "/openapi.json", "/ready", "/none",
	} {
		out["page "+path] = h.ask(t, own, "GET", path, "")
	}
	for _, path := range []string{"/v1/servers/reload", "/v1/providers/openai/test", "/v1/providers/ollama/test", "/v1/tools/far__fail/call", "/v1/tools/home__get/call", "/v1/tools/dead__get/call"} {
		out["answer of "+path] = h.ask(t, own, "POST", path, `{"arguments":{}}`)
	}
	tape := filepath.Join(h.dir, "tape.yaml")
	for name, args := range map[string][]string{
		"tape written":  {"eval", "record", "--provider", "ollama", "--allow-failure", "--out", tape, marker + " call home__get"},
		"terminal":      {"chat", "--output-format", "stream-json", marker + " call far__fail"},
		"terminal fail": {"chat", "--assistant", "broken", marker},
		"config check":  {"config", "check"}, "doctor": {"doctor"}, "servers": {"servers", "list"}, "tools": {"tools", "list"},
	} {
		out["command "+name] = h.run(t, "molar.yaml", args...)
	}
	for _, args := range [][]string{
		{"chat", "hello"},
		{"doctor"},
		{"config", "check"},
		{"serve", "--listen", "127.0.0.1:0"},
		{"mcp", "--listen", "127.0.0.1:0"},
		{"keys", "list"},
		{"backup", filepath.Join(h.dir, "copy.db")},
		{"migrate"},
		{"conversations", "export", filepath.Join(h.dir, "all.jsonl")},
		{"servers", "list"},
	} {
		out["command on PostgreSQL: "+strings.Join(args[:1], " ")] = h.run(t, "postgres.yaml", args...)
	}
	for _, r := range h.fake.Requests() {
		out["prompts"] += r.Body
	}
	return out
}

// left returns the texts that the host leaves: the log, spans, the database, the tape and the
// environments of the servers.
func (h *host) left(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{"log": h.output.String(), "spans": fmt.Sprintf("%v\n", h.spans.Resource())}
	for _, span := range h.spans.Spans() {
		out["spans"] += fmt.Sprintf("%+v\n", span)
	}
	err := filepath.WalkDir(h.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == h.program || d.Name() == "molar.env" {
			return err
		}
		raw, err := os.ReadFile(path)
		place := filepath.Base(path)
		switch {
		case strings.HasPrefix(place, "molar.db"):
			place = "database"
		case strings.HasPrefix(place, "tape"):
			place = "tape"
		case strings.HasSuffix(place, ".env"):
			place = "environment of " + strings.TrimSuffix(place, ".env")
		case place == "postgres.yaml": // the file of the configuration, which contains the secret
			return nil
		}
		out[place] += string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
