package config_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/config"
)

func TestDefault_IsValid(t *testing.T) {
	if err := config.Default().Validate(); err != nil {
		t.Error(err)
	}
}

func TestSecretsAreNeverPrinted(t *testing.T) {
	const secret = "hunter2"
	cfg := mustLoad(t, `
mcpServers:
  a: {command: x, args: ["${KEY}"], env: {TOKEN: "${KEY}"}}
  b: {url: "https://x/?key=${KEY}", headers: {Authorization: "Bearer ${KEY}"}}
`, "KEY", secret, "GEMINI_API_KEY", secret, "OPENAI_API_KEY", secret)
	var out strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, verb, cfg)
		fmt.Fprintf(&out, verb, *cfg)
		fmt.Fprintf(&out, verb, cfg.LLM.Keys["gemini"])
		fmt.Fprintf(&out, verb, cfg.MCPServers[0].Value.Env)
		fmt.Fprintf(&out, verb, cfg.MCPServers[1].Value)
	}
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(handler).Info("x", "cfg", cfg, "key", cfg.LLM.Keys["openai"], "server", cfg.MCPServers[0].Value, "env", cfg.MCPServers[0].Value.Env)
	}
	for _, v := range []any{cfg, cfg.LLM.Keys["gemini"]} {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(data)
	}
	text := out.String()
	for _, leak := range []string{secret, fmt.Sprintf("%x", secret), fmt.Sprintf("%q", secret)} {
		if strings.Contains(text, leak) {
			i := strings.Index(text, leak)
			t.Errorf("%s is in: …%s", leak, text[max(0, i-200):i+len(leak)])
		}
	}
	if !strings.Contains(text, "***") || !strings.Contains(text, "https://x") {
		t.Errorf("neither mask nor label in:\n%s", text)
	}
}

func TestSecretsAreInNoFault(t *testing.T) {
	_, err := load(t, `
listen: 127.0.0.1:1
limits: {rounds: "${KEY}", tool_time: "${KEY}"}
mcpServers:
  a: {url: "${KEY}", headers: {"A B": "${KEY}"}}
  b: {url: "http://hunter2:hunter2@x"}
search: {duckduckgo: {base_url: "${KEY}", region: "${KEY}"}}
`, "KEY", "hunter2", "OLLAMA_HOST", "ftp://hunter2")
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error: %v", err)
	}
}

func TestParseServer(t *testing.T) {
	tests := []struct {
		spec string
		name string
		want config.Server
		err  string
	}{
		{spec: `family=go run ./server`, name: "family", want: config.Server{Command: "go", Args: []string{"run", "./server"}}},
		{
			spec: `a = sh -c 'echo "$x" | cat' "b \"c\" \d" e\ f ''`, name: "a",
			want: config.Server{Command: "sh", Args: []string{"-c", `echo "$x" | cat`, `b "c" \d`, "e f", ""}},
		},
		{spec: `web=https://x.example/mcp?a=b`, name: "web", want: config.Server{URL: "https://x.example/mcp?a=b"}},
		{spec: `x=a'b'"c"`, name: "x", want: config.Server{Command: "abc", Args: []string{}}},
		{spec: `go run .`, err: "want NAME="},
		{spec: `x=`, err: "want NAME="},
		{spec: `=x`, err: "want NAME="},
		{spec: `x='open`, err: "--mcp x: the quote ' is not closed"},
		{spec: `x=''`, err: "want a program"},
	}
	for _, tt := range tests {
		t.Run(tt.spec, func(t *testing.T) {
			name, server, err := config.ParseServer(tt.spec)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil || name != tt.name {
				t.Fatalf("name %q, error %v", name, err)
			}
			if diff := cmp.Diff(tt.want.Args, server.Args); diff != "" || server.Command != tt.want.Command || server.URL != tt.want.URL {
				t.Errorf("%q %q %q: (-want +got):\n%s", server.Command, server.Args, server.URL, diff)
			}
		})
	}
}

func TestConfig_WithServers(t *testing.T) {
	builtIn := mustLoad(t, "mcpServers: {a: {command: x, disabled: true}}\n")
	next, err := builtIn.WithServers([]string{"b=y z", "c=http://localhost:1/mcp"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := next.MCPServers.Names(), []string{"a", "b", "c"}; !cmp.Equal(got, want) {
		t.Errorf("servers %v, want %v", got, want)
	}
	if next.Default != "general" || builtIn.Default != "dental" || len(builtIn.MCPServers) != 1 {
		t.Errorf("default %q; the original has default %q and %d servers", next.Default, builtIn.Default, len(builtIn.MCPServers))
	}
	if same, _ := builtIn.WithServers(nil); same.Default != "dental" {
		t.Errorf("without servers the default is %q", same.Default)
	}
	for _, file := range []string{"default: dental\n", "assistants: {mine: {}}\n"} {
		cfg := mustLoad(t, file)
		if next, err := cfg.WithServers([]string{"b=y"}); err != nil || next.Default != cfg.Default {
			t.Errorf("%s: default %q, error %v", file, next.Default, err)
		}
	}
	far := mustLoad(t, "listen: 0.0.0.0:8000\n")
	if _, err := far.WithServers([]string{"b=y"}); err == nil || !strings.Contains(err.Error(), "set default: general") {
		t.Errorf("off loopback: %v", err)
	}
	for spec, want := range map[string]string{
		"a=y":           "already configured",
		"tool-server=y": "bundled server",
		"b c=y":         "want a name",
		"b=http://":     "want an address",
	} {
		if _, err := builtIn.WithServers([]string{spec}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", spec, err, want)
		}
	}
}

// With servers, the default is the general assistant: the built-in dental one cannot call the tools
// of attached servers.
func TestLoad_Default(t *testing.T) {
	const servers = "mcpServers: {a: {command: x}}\n"
	tests := []struct{ name, text, want, fault string }{
		{"no servers", "", "dental", ""},
		{"off loopback without servers", "listen: 0.0.0.0:8000\n", "dental", ""},
		{"servers", servers, "general", ""},
		{"servers that are disabled", "mcpServers: {a: {command: x, disabled: true}}\n", "dental", ""},
		{"servers, on another loopback address", servers + "listen: \"[::1]:1\"\n", "general", ""},
		{"servers and a default", servers + "default: dental\n", "dental", ""},
		{"servers and assistants", servers + "assistants: {mine: {}}\n", "mine", ""},
		{"servers off loopback", servers + "listen: 0.0.0.0:8000\n", "", "set default: general"},
		{"servers and a default off loopback", servers + "listen: 0.0.0.0:8000\ndefault: general\n", "general", ""},
		{"servers and assistants off loopback", servers + "listen: 0.0.0.0:8000\nassistants: {mine: {}}\n", "mine", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg, err := load(t, tt.text)
			switch {
			case tt.fault != "":
				if err == nil || !strings.Contains(err.Error(), "default: ") || !strings.Contains(err.Error(), tt.fault) {
					t.Errorf("error %v, want %q", err, tt.fault)
				}
			case err != nil || cfg.Default != tt.want:
				t.Errorf("%+v, %v; want default %s", cfg, err, tt.want)
			}
		})
	}
}
