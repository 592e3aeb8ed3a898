package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/internal/config"
	"molar/schemas"
)

// environ returns an environment for tests, with a temporary home folder.
func environ(t testing.TB, pairs ...string) func(string) (string, bool) {
	t.Helper()
	vars := map[string]string{"HOME": filepath.Join(t.TempDir(), "home"), "USERPROFILE": t.TempDir()}
	for i := 0; i < len(pairs); i += 2 {
		vars[pairs[i]] = pairs[i+1]
	}
	return func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
}

func write(t testing.TB, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "molar.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func load(t testing.TB, text string, env ...string) (*config.Config, error) {
	t.Helper()
	return config.Load(config.Options{Path: write(t, text), Explicit: true, Env: environ(t, env...)})
}

func mustLoad(t testing.TB, text string, env ...string) *config.Config {
	t.Helper()
	cfg, err := load(t, text, env...)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return cfg
}

func TestLoad_NoFile(t *testing.T) {
	home := t.TempDir()
	cfg, err := config.Load(config.Options{Env: environ(t, "HOME", home, "XDG_DATA_HOME", home)})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := cfg.Assistants.Names(), []string{"dental", "dental-duckduckgo", "dental-google", "general"}; !cmp.Equal(got, want) {
		t.Errorf("assistants %v, want %v", got, want)
	}
	if cfg.Default != "dental" || cfg.Listen != "127.0.0.1:8000" || cfg.File != "" {
		t.Errorf("default %q, listen %q, file %q", cfg.Default, cfg.Listen, cfg.File)
	}
	if want := filepath.Join(home, "molar", "molar.db"); cfg.Memory.Store != want {
		t.Errorf("store %q, want %q", cfg.Memory.Store, want)
	}
}

func TestLoad_Precedence(t *testing.T) {
	const file = "listen: 127.0.0.1:1\nllm: {ollama: {model: from-file}}\n"
	tests := []struct {
		name  string
		file  string
		env   []string
		flags map[string]string
		want  string // listen
	}{
		{"the default holds when nothing is set", "", nil, nil, "127.0.0.1:8000"},
		{"the file beats the default", file, nil, nil, "127.0.0.1:1"},
		{"the environment beats the file", file, []string{"MOLAR_LISTEN", "127.0.0.1:2"}, nil, "127.0.0.1:2"},
		{"a flag beats the environment", file, []string{"MOLAR_LISTEN", "127.0.0.1:2"}, map[string]string{"listen": "127.0.0.1:3"}, "127.0.0.1:3"},
		{"a flag beats the file", file, nil, map[string]string{"listen": "[::1]:3"}, "[::1]:3"},
		{"an empty variable counts as unset", file, []string{"MOLAR_LISTEN", ""}, nil, "127.0.0.1:1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg, err := config.Load(config.Options{Path: write(t, tt.file), Explicit: true, Env: environ(t, tt.env...), Flags: tt.flags})
			if err != nil {
				t.Fatal(err)
			}
			if cfg.Listen != tt.want {
				t.Errorf("listen %q, want %q", cfg.Listen, tt.want)
			}
		})
	}
}

func TestLoad_Environment(t *testing.T) {
	cfg := mustLoad(t, "limits: {rounds: 2}\n",
		"MOLAR_DEFAULT", "general",
		"MOLAR_LLM_PROVIDER", "ollama, offline",
		"MOLAR_LLM_OLLAMA_SMALL_MODEL", "tiny",
		"MOLAR_LIMITS_ROUNDS", "3",
		"MOLAR_LIMITS_BODY", "1MiB",
		"MOLAR_LIMITS_ATTACH_WAIT", "2s",
		"MOLAR_MEMORY_COMPRESS_AFTER_SUMMARY", "false",
		"MOLAR_ALLOWED_HOSTS", "a.local,b.local:80",
		"GOOGLE_API_KEY", "g-key",
		"OPENAI_API_KEY", "o-key",
	)
	want := config.Default()
	want.Default = "general"
	want.LLM.Provider = config.Providers{"ollama", "offline"}
	want.LLM.Ollama.SmallModel = "tiny"
	want.LLM.Keys = map[string]schemas.Secret{"gemini": "g-key", "openai": "o-key"}
	want.Limits.Rounds, want.Limits.Body, want.Limits.AttachWait = 3, 1<<20, new(2*time.Second)
	want.Memory.CompressAfterSummary = false
	want.Memory.Store = cfg.Memory.Store
	want.AllowedHosts = []string{"a.local", "b.local:80"}
	want.File = cfg.File
	if diff := cmp.Diff(want, cfg, ignoreOrigins()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLoad_UsableProviders(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		env        []string
	}{
		{"a list skips providers without a key", "llm: {provider: [gemini, openai, ollama]}\n", nil},
		{"gemini with its key", "llm: {provider: gemini}\n", []string{"GEMINI_API_KEY", "x"}},
		{"gemini with the other name of the key", "llm: {provider: gemini}\n", []string{"GOOGLE_API_KEY", "x"}},
		{"openai with its key", "assistants: {a: {provider: openai}}\n", []string{"OPENAI_API_KEY", "x"}},
		{"a local server without a key", "llm: {provider: openai, openai: {base_url: 'http://127.0.0.1:8080/v1'}}\n", nil},
		{"its address in the environment", "llm: {provider: openai}\n", []string{"MOLAR_LLM_OPENAI_BASE_URL", "http://127.0.0.1:8080/v1"}},
	} {
		t.Run(tt.name, func(t *testing.T) { mustLoad(t, tt.text, tt.env...) })
	}
}

func ignoreOrigins() cmp.Option {
	hidden := []string{".origins", ".digest", ".blank", ".Variables"}
	return cmp.FilterPath(func(p cmp.Path) bool { return slices.Contains(hidden, p.Last().String()) }, cmp.Ignore())
}

func TestLoad_OllamaAddress(t *testing.T) {
	tests := []struct {
		env  []string
		want string
	}{
		{nil, "http://file:1"},
		{[]string{"OLLAMA_HOST", "box:11434"}, "http://box:11434"},
		{[]string{"OLLAMA_HOST", "box"}, "http://box:11434"},
		{[]string{"OLLAMA_HOST", "0.0.0.0"}, "http://127.0.0.1:11434"},
		{[]string{"OLLAMA_HOST", "0.0.0.0:9"}, "http://127.0.0.1:9"},
		{[]string{"OLLAMA_HOST", "[::]:9"}, "http://[::1]:9"},
		{[]string{"OLLAMA_HOST", ":9"}, "http://127.0.0.1:9"},
		{[]string{"OLLAMA_HOST", "box", "OLLAMA_BASE_URL", "https://o.example/api/"}, "https://o.example/api"},
		{[]string{"OLLAMA_BASE_URL", "http://a", "MOLAR_LLM_OLLAMA_BASE_URL", "http://b:1"}, "http://b:1"},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.env, " "), func(t *testing.T) {
			cfg := mustLoad(t, "llm: {ollama: {base_url: file:1}}\n", tt.env...)
			if cfg.LLM.Ollama.BaseURL != tt.want {
				t.Errorf("base_url %q, want %q", cfg.LLM.Ollama.BaseURL, tt.want)
			}
		})
	}
	if _, err := load(t, "", "OLLAMA_HOST", "ftp://x"); err == nil || !strings.Contains(err.Error(), "OLLAMA_HOST: llm.ollama.base_url") {
		t.Errorf("error %v does not name OLLAMA_HOST", err)
	}
}

func TestLoad_Servers(t *testing.T) {
	cfg := mustLoad(t, `
mcpServers:
  zeta:
    command: ./bin/zeta
    args: [--port, "8080", "${ARG}"]
    env: {PORT: 8080, DEBUG: true, TOKEN: "${TOKEN:-none}", PRICE: $$5}
    cwd: data
    timeout: 30s
    start_timeout: 2m
    tools:
      get_*: {policy: allow, readOnly: true}
      "*": {policy: confirm, timeout: 1m}
  alpha:
    url: https://alpha.example/mcp
    headers: {Authorization: "Bearer ${KEY}"}
    disabled: true
  beta:
    url: https://beta.example/mcp
    oauth: {client_id: molar, client_secret: "${KEY}", scopes: [read, "repo:write"], redirect_port: 8765}
  tool: {command: npx}
`, "ARG", "a b", "KEY", "k")
	dir := filepath.Dir(cfg.File)
	want := config.Map[config.Server]{
		{Name: "zeta", Value: config.Server{
			Command: filepath.Join(dir, "bin", "zeta"),
			Args:    []string{"--port", "8080", "a b"},
			Env:     map[string]schemas.Secret{"PORT": "8080", "DEBUG": "true", "TOKEN": "none", "PRICE": "$5"},
			Cwd:     filepath.Join(dir, "data"),
			Timeout: 30 * time.Second, StartTimeout: 2 * time.Minute,
			Tools: config.Map[config.ToolRule]{
				{Name: "get_*", Value: config.ToolRule{Policy: schemas.PolicyAllow, ReadOnly: true}},
				{Name: "*", Value: config.ToolRule{Policy: schemas.PolicyConfirm, Timeout: time.Minute}},
			},
		}},
		{Name: "alpha", Value: config.Server{
			URL:      "https://alpha.example/mcp",
			Headers:  map[string]schemas.Secret{"Authorization": "Bearer k"},
			Disabled: true,
		}},
		{Name: "beta", Value: config.Server{
			URL:   "https://beta.example/mcp",
			OAuth: config.OAuth{ClientID: "molar", ClientSecret: "k", Scopes: []string{"read", "repo:write"}, RedirectPort: 8765},
		}},
		{Name: "tool", Value: config.Server{Command: "npx"}},
	}
	if diff := cmp.Diff(want, cfg.MCPServers, cmp.Transformer("reveal", schemas.Secret.Reveal)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	rule, ok := cfg.MCPServers[0].Value.Rule("get_it")
	if !ok || rule.Policy != schemas.PolicyAllow {
		t.Errorf("rule of get_it: %v %v, want the first that matches", rule, ok)
	}
}

// An unset variable of a server makes only that server unusable; anywhere else it is a fault.
func TestLoad_UnsetVariableOfAServer(t *testing.T) {
	cfg := mustLoad(t, `
mcpServers:
  whole: {command: x, env: {A: "${SET}"}}
  lacking: {url: "${ADDRESS}", headers: {Authorization: "Bearer ${KEY}"}, timeout: "${TIME}"}
`, "SET", "a")
	if whole := cfg.MCPServers[0].Value; whole.UnsetFault != "" || whole.Env["A"].Reveal() != "a" {
		t.Errorf("whole: %q, %v", whole.UnsetFault, whole.Env)
	}
	got := cfg.MCPServers[1].Value.UnsetFault
	for _, want := range []string{
		":4: mcpServers.lacking.url: environment variable ADDRESS is not set; put ADDRESS=… into ",
		"environment variable KEY is not set", "environment variable TIME is not set",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("lacking: %q lacks %q", got, want)
		}
	}
	for text, want := range map[string]string{
		"listen: \"${ADDRESS}\"\n":                                  "environment variable ADDRESS is not set",
		"mcpServers: {lacking: {url: \"${ADDRESS\"}}\n":             "${ without }",
		"mcpServers: {memory-server: {url: \"${ADDRESS}\"}}\n":      "bundled server",
		"mcpServers: {a: {url: \"${ADDRESS}\"}, b: {command: 7}}\n": "mcpServers.b.command",
	} {
		if _, err := load(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestLoad_AssistantsReplaceTheBuiltIn(t *testing.T) {
	cfg := mustLoad(t, "assistants:\n  second: {tools: ['*'], flow: two-pass, direct_answer: false}\n  first: {}\n")
	if got, want := cfg.Assistants.Names(), []string{"second", "first"}; !cmp.Equal(got, want) {
		t.Errorf("assistants %v, want %v", got, want)
	}
	if cfg.Default != "second" {
		t.Errorf("default %q, want the first that the file defines", cfg.Default)
	}
	if a, _ := cfg.Assistants.Get("second"); a.DirectAnswer == nil || *a.DirectAnswer {
		t.Errorf("direct_answer %v, want false", a.DirectAnswer)
	}
	cfg = mustLoad(t, "default: first\nassistants: {second: {}, first: {}}\n")
	if cfg.Default != "first" {
		t.Errorf("default %q, want the one that the file chose", cfg.Default)
	}
}

func TestLoad_StorePath(t *testing.T) {
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	cfg := mustLoad(t, "memory: {store: ./a/b.db}\n")
	if want := filepath.Join(filepath.Dir(cfg.File), "a", "b.db"); cfg.Memory.Store != want {
		t.Errorf("store of the file %q, want %q", cfg.Memory.Store, want)
	}
	cfg = mustLoad(t, "memory: {store: ./a/b.db}\n", "MOLAR_MEMORY_STORE", "c.db")
	if want := filepath.Join(cwd, "c.db"); cfg.Memory.Store != want {
		t.Errorf("store of the environment %q, want %q", cfg.Memory.Store, want)
	}
	cfg = mustLoad(t, "memory: {store: ~/c.db}\n", "HOME", cwd)
	if want := filepath.Join(cwd, "c.db"); cfg.Memory.Store != want {
		t.Errorf("store in the home folder %q, want %q", cfg.Memory.Store, want)
	}
}

func TestLoad_WhichFile(t *testing.T) {
	t.Run("a named file that is missing", func(t *testing.T) {
		_, err := config.Load(config.Options{Path: "gone.yaml", Explicit: true, Env: environ(t)})
		if !errors.Is(err, config.ErrNoFile) || !strings.Contains(err.Error(), "molar config init gone.yaml") {
			t.Errorf("error %v, want ErrNoFile and the command that writes it", err)
		}
	})
	t.Run("MOLAR_CONFIG that is missing", func(t *testing.T) {
		if _, err := config.Load(config.Options{Env: environ(t, "MOLAR_CONFIG", "gone.yaml")}); !errors.Is(err, config.ErrNoFile) {
			t.Errorf("error %v, want ErrNoFile", err)
		}
	})
	t.Run("MOLAR_CONFIG", func(t *testing.T) {
		name := write(t, "listen: 127.0.0.1:7\n")
		cfg, err := config.Load(config.Options{Env: environ(t, "MOLAR_CONFIG", name)})
		if err != nil || cfg.Listen != "127.0.0.1:7" || cfg.File != name {
			t.Errorf("config %v, error %v", cfg, err)
		}
	})
	t.Run("the user's folder, never the working directory", func(t *testing.T) {
		dir := t.TempDir()
		t.Chdir(dir)
		if err := os.WriteFile("molar.yaml", []byte("listen: 127.0.0.1:6\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		env := environ(t, "XDG_CONFIG_HOME", dir)
		cfg, err := config.Load(config.Options{Env: env})
		if err != nil || cfg.Listen != "127.0.0.1:8000" {
			t.Fatalf("read the working directory: %v %v", cfg, err)
		}
		if err := os.MkdirAll(filepath.Join(dir, "molar"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename("molar.yaml", filepath.Join(dir, "molar", "molar.yaml")); err != nil {
			t.Fatal(err)
		}
		cfg, err = config.Load(config.Options{Env: env})
		if err != nil || cfg.Listen != "127.0.0.1:6" {
			t.Errorf("config %v, error %v; want the user's file", cfg, err)
		}
	})
}

func TestLoad_EnvFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), ".env")
	text := "# keys\nexport MOLAR_LISTEN=127.0.0.1:5 # mine\nGEMINI_API_KEY='raw $x'\nOPENAI_API_KEY=\"a\\nb \\\"c\\\"\"\nMOLAR_DEFAULT=general\n"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Options{EnvFile: name, Env: environ(t, "MOLAR_DEFAULT", "dental")})
	if err != nil {
		t.Fatal(err)
	}
	got := []string{cfg.Listen, cfg.LLM.Keys["gemini"].Reveal(), cfg.LLM.Keys["openai"].Reveal(), cfg.Default}
	want := []string{"127.0.0.1:5", "raw $x", "a\nb \"c\"", "dental"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the environment wins over the file (-want +got):\n%s", diff)
	}
	for _, bad := range []string{"no pair\n", "A=\"open\n", "A='x' y\n", "1A=x\n"} {
		if err := os.WriteFile(name, []byte("OK=1\n"+bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := config.Load(config.Options{EnvFile: name, Env: environ(t)}); err == nil || !strings.Contains(err.Error(), ".env:2: ") {
			t.Errorf("%q: error %v does not name the line", bad, err)
		}
	}
	if _, err := config.Load(config.Options{EnvFile: "gone.env", Env: environ(t)}); err == nil {
		t.Error("a missing env file is no error")
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(config.Example())
	f.Add([]byte("listen: [a"))
	f.Add([]byte("a: &a *a\nllm: *a"))
	f.Add([]byte("? [x]\n: y\n--- \n- 1"))
	f.Add([]byte("mcpServers:\n  x: {command: \"${A\", tools: {\"[\": {}}}"))
	f.Add([]byte("assistants: {a: null, ? b}\nlimits: {body: 99999999999999999999MiB}"))
	f.Add([]byte("<<: {a: b}\nllm: !!str x\nlisten: |\n  x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		name := write(t, string(data))
		env := environ(t)
		cfg, err := config.Load(config.Options{Path: name, Explicit: true, Env: env})
		if (cfg == nil) == (err == nil) {
			t.Fatalf("config %v, error %v", cfg, err)
		}
		if err == nil && cfg.Validate() != nil {
			t.Fatalf("loaded, but not valid: %v", cfg.Validate())
		}
	})
}

// The address of a PostgreSQL database is not resolved as a path.
func TestLoad_PostgresStore(t *testing.T) {
	const address = "postgres://molar@localhost:5432/molar?sslmode=disable"
	file := filepath.Join(t.TempDir(), "molar.yaml")
	if err := os.WriteFile(file, []byte("memory: {store: '"+address+"'}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Options{Path: file, Explicit: true})
	if err != nil || cfg.Memory.Store != address {
		t.Errorf("store %q, %v", cfg.Memory.Store, err)
	}
}
