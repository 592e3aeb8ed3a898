package config_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"molar/internal/config"
)

func schema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	data, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("molar.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("molar.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// check validates YAML text against the schema.
func check(t testing.TB, s *jsonschema.Schema, text string) error {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

func TestSchema_HasExactlyTheKeysOfTheTypes(t *testing.T) {
	data, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	fromTypes, fromSchema := map[string]bool{}, map[string]bool{}
	typeKeys(reflect.TypeFor[config.Config](), "", fromTypes)
	schemaKeys(t, doc, "", fromSchema)
	if diff := cmp.Diff(fromTypes, fromSchema); diff != "" {
		t.Errorf("(-types +schema):\n%s", diff)
	}
	if len(fromTypes) < 60 {
		t.Errorf("only %d keys found; the walk misses some", len(fromTypes))
	}
}

func typeKeys(t reflect.Type, parent string, keys map[string]bool) {
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct { // a config.Map, or a plain list
		value, named := t.Elem().FieldByName("Value")
		if !named {
			typeKeys(t.Elem(), parent+"[]", keys)
			return
		}
		typeKeys(value.Type, parent+".*", keys)
		return
	}
	if t.Kind() != reflect.Struct {
		return
	}
	for field := range t.Fields() {
		if field.Anonymous {
			typeKeys(field.Type, parent, keys)
		}
		if name := field.Tag.Get("yaml"); name != "" && name != "-" {
			keys[parent+"."+name] = true
			typeKeys(field.Type, parent+"."+name, keys)
		}
	}
}

func schemaKeys(t *testing.T, s map[string]any, parent string, keys map[string]bool) {
	t.Helper()
	if values, ok := s["additionalProperties"].(map[string]any); ok {
		schemaKeys(t, values, parent+".*", keys)
	}
	if items, ok := s["items"].(map[string]any); ok {
		schemaKeys(t, items, parent+"[]", keys)
	}
	properties, _ := s["properties"].(map[string]any)
	for name, value := range properties {
		property, _ := value.(map[string]any)
		if property["description"] == nil {
			t.Errorf("%s.%s has no description", parent, name)
		}
		keys[parent+"."+name] = true
		schemaKeys(t, property, parent+"."+name, keys)
	}
	if properties != nil && s["additionalProperties"] != false {
		t.Errorf("%q takes unknown keys", parent)
	}
}

func TestSchema_AgreesWithLoad(t *testing.T) {
	tests := []struct {
		name  string
		text  string
		valid bool
	}{
		{"every kind of value", full, true},
		{"an unknown key at the top", "lisen: x\n", false},
		{"an unknown key below", "llm: {ollama: {mdl: x}}\n", false},
		{"an unknown key of an assistant", "assistants: {a: {tool: []}}\n", false},
		{"an unknown key of a server", "mcpServers: {a: {command: x, argz: []}}\n", false},
		{"an unknown key of a rule", "mcpServers: {a: {command: x, tools: {'*': {polcy: deny}}}}\n", false},
		{"a wrong type", "limits: {rounds: x}\n", false},
		{"a provider that has no such name", "llm: {provider: GPT}\n", false},
		{"an unknown flow", "assistants: {a: {flow: x}}\n", false},
		{"a limit of zero", "limits: {rounds: 0}\n", false},
	}
	s := schema(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := check(t, s, tt.text); (err == nil) != tt.valid {
				t.Errorf("schema: %v", err)
			}
			if _, err := load(t, tt.text); (err == nil) != tt.valid {
				t.Errorf("load: %v", err)
			}
		})
	}
}

// zeros is a hash in hexadecimal digits.
const zeros = "0000000000000000000000000000000000000000000000000000000000000000"

const full = `
listen: localhost:9000
default: a
llm:
  provider: [gemini, openai, ollama, offline]
  gemini: {base_url: "http://x:1", model: m, small_model: s, timeout: 5s, window: 1, allow: ["m-*"], project: p, location: l, safety: "OFF", temperature: 0.3, top_p: 0.9, max_tokens: 5, thinking: low, headers: {A: b}, extra_body: {x: {y: [1, 0.5, true, z]}}}
  openai: {base_url: "http://x:1/v1", model: m, small_model: s, timeout: 5s, window: 1, allow: [n], temperature: 0.3, top_p: 0.9, max_tokens: 5, thinking: low, headers: {A: b}, extra_body: {x: {y: [1, 0.5, true, z]}}}
  ollama: {base_url: "http://x:1", model: m, small_model: s, timeout: 5s, keep_alive: -1, num_ctx: 4096, max_num_ctx: 8192, allow: ["*"], temperature: 0.3, top_p: 0.9, max_tokens: 5, thinking: low, headers: {A: b}, extra_body: {x: {y: [1, 0.5, true, z]}}}
assistants:
  a:
    description: d
    system_prompt: p
    topic: dental
    search: [duckduckgo_search]
    tools: ["*"]
    flow: two-pass
    direct_answer: false
    provider: offline
    model: m
    temperature: 0
    top_p: 1
    max_tokens: 5
    thinking: "off"
    headers: {A: b}
    extra_body: {x: 1}
topics:
  t:
    description: {vi: v, en: e}
    examples: {in: [a], out: [b]}
    phrases: [p]
    refusal: {vi: v, en: e}
    unavailable: {vi: v, en: e}
    on_failure: open
search: {duckduckgo: {base_url: "http://x", region: vn-vi, timeout: 1s}}
memory: {store: x.db, key: k, required: true, context: 1, keep_recent_messages: 1, summarize_threshold: 2, compress_after_summary: false}
mcpServers:
  cmd:
    command: x
    args: [a]
    env: {A: b, P: 80, D: true}
    cwd: .
    type: stdio
    timeout: 1s
    protocol: "2025-11-25"
    includeTools: ["*"]
    excludeTools: [x]
    disabled: true
    tools: {"*": {policy: deny, readOnly: true, idempotent: true, timeout: 1s}}
  web: {url: "http://x", type: http, headers: {A: b}}
limits: {rounds: 1, calls: 1, parallel: 1, tool_time: 1s, result_tokens: 1, messages: 1, body: 1MiB, turns_in_flight: 0, attach_wait: 0s, tools: 1, tool_tokens: 1, turns_per_minute: 0}
allowed_hosts: [a.local]
api_keys: [{name: a, hash: "sha256:` + zeros + `", scopes: [chat, host]}]
trusted_proxies: [10.0.0.0/8, "::1"]
budgets: {visitor: {per: day, tokens: 1}, public: {per: month, tokens: 1}}
public: {assistant: a, origins: [https://x.example], title: {vi: v, en: e}, notice: {vi: v}, privacy: https://x.example/p, consent: true, colour: "#0b6e4f", mark: m.png, limits: {visitor: 1/m, address: 1/h, all: none}, keep: 1h}
handover: {webhook: https://x.example, secret: a secret of more than 24 bytes, hours: "Mo 08:00-09:00", zone: Asia/Ho_Chi_Minh, ask: [email], fallback: {vi: v}}
tls: {cert: c.pem, key: k.pem}
ca_file: ca.pem
telemetry: {log_level: debug, log_format: json, trace: off}
`

// TestExample_Uncommented removes the comment sign from every commented key of the example. A
// comment is prose if exactly one space follows the sign, unless it begins with a key.
func TestExample_Uncommented(t *testing.T) {
	setting := regexp.MustCompile(`(?m)^( *)# ((?: {2,}\S.*)|(?:[a-zA-Z_]+:(?: .*)?))$`)
	text := setting.ReplaceAllString(string(config.Example()), "$1$2")
	text = strings.Replace(text, "default: general", "default: helper", 1)
	text = strings.Replace(text, "  url: http://127.0.0.1:8001\n", "", 1) // with the memory there, nothing can be public
	s := schema(t)
	for name, text := range map[string]string{"as it is": string(config.Example()), "uncommented": text} {
		if err := check(t, s, text); err != nil {
			t.Errorf("%s: schema: %v", name, err)
		}
		cfg, err := load(t, text, "TICKETS_TOKEN", "x", "MEMORY_KEY", "x", "OIDC_SECRET", "x", "MODEL_KEY", "x", "HANDOVER_WEBHOOK", "https://x.example", "HANDOVER_SECRET", strings.Repeat("s", 24), "CI_KEY", strings.Repeat("k", 32))
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
			continue
		}
		if name == "uncommented" && (len(cfg.MCPServers) != 2 || len(cfg.Assistants) != 2 || cfg.Limits.AttachWait == nil) {
			t.Errorf("not all settings were switched on:\n%s", text)
		}
	}
}

func TestExample_ChangesNoDefault(t *testing.T) {
	cfg := mustLoad(t, string(config.Example()))
	want := config.Default()
	want.File, want.Memory.Store = cfg.File, cfg.Memory.Store
	if diff := cmp.Diff(want, cfg, ignoreOrigins()); diff != "" {
		t.Errorf("(-default +example):\n%s", diff)
	}
}

// Every YAML file of the examples and every yaml block of the documentation is a valid molar.yaml.
// Blocks of other YAML are marked yml.
func TestExamplesAndDocumentationLoad(t *testing.T) {
	s := schema(t)
	texts := map[string]string{}
	for _, name := range glob(t, "../../examples/*/*.yaml") {
		texts[name] = read(t, name)
	}
	block := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```")
	for _, name := range append(glob(t, "../../docs/*.md"), glob(t, "../../README.md")...) {
		for i, m := range block.FindAllStringSubmatch(read(t, name), -1) {
			texts[name+"#"+string(rune('1'+i))] = m[1]
		}
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			if err := check(t, s, text); err != nil {
				t.Errorf("schema: %v", err)
			}
			file := write(t, text)
			env := environ(t)
			anything := func(name string) (string, bool) {
				if v, ok := env(name); ok || strings.HasPrefix(name, "MOLAR_") || strings.HasPrefix(name, "OLLAMA_") || strings.HasPrefix(name, "XDG_") || name == "MCP_SERVER_URL" {
					return v, ok
				}
				if strings.HasSuffix(name, "_WEBHOOK") {
					return "https://x.example", true
				}
				if strings.HasSuffix(name, "_URL") {
					return "http://x", true
				}
				return strings.Repeat("a", 64), true // long enough for a key, and 32 bytes in hex
			}
			if _, err := config.Load(config.Options{Path: file, Explicit: true, Env: anything}); err != nil {
				t.Error(err)
			}
		})
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
