package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/internal/config"
)

func TestConfig_Changed(t *testing.T) {
	const before = "assistants: {a: {tools: [x]}, b: {}}\nmcpServers: {s: {command: x}}\n"
	tests := []struct {
		name, after string
		env         []string
		want        []string
	}{
		{"nothing", before, nil, nil},
		{"only servers", strings.Replace(before, "command: x", "command: y", 1), nil, nil},
		{"a scalar", before + "limits: {rounds: 2}\n", nil, []string{"limits.rounds"}},
		{"a list and a deep key", before + "allowed_hosts: [x]\nllm: {ollama: {model: m}}\n", nil, []string{"llm.ollama.model", "allowed_hosts"}},
		{"assistants", "assistants: {a: {tools: [y]}, c: {}}\n", nil, []string{"assistants.a", "assistants.b", "assistants.c"}},
		{"how long things are kept", strings.Replace(before, "b: {}", "b: {retention: 1d}", 1) + "memory: {retention: 2d}\naudit: {retention: 3d}\n", nil, nil},
		{"a key of the environment", before, []string{"OPENAI_API_KEY", "hunter2"}, []string{"OPENAI_API_KEY"}},
	}
	env := []string{"XDG_DATA_HOME", t.TempDir()}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			running, next := mustLoad(t, before, env...), mustLoad(t, tt.after, append(env, tt.env...)...)
			if diff := cmp.Diff(tt.want, running.Changed(next)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// An assistant without tools cannot use a server that is attached to a running host, so the one
// that may call its tools is suggested. No key counts as changed for that.
func TestConfig_SuggestedDefault(t *testing.T) {
	const servers = "mcpServers: {a: {command: x}}\n"
	env := []string{"XDG_DATA_HOME", t.TempDir()}
	for _, tt := range []struct {
		name, before, after string
		added               bool
		want                string
	}{
		{"a first server", "", servers, false, "general"},
		{"a first server that was added", "", "", true, "general"},
		{"none", "", "", false, ""},
		{"a second server", servers, servers + "  # and more\n", false, ""},
		{"a second server that was added", servers, servers, true, ""},
		{"the last one is gone", servers, "", false, ""},
		{"a default was chosen", "default: dental\n", servers + "default: dental\n", false, ""},
		{"a default was chosen, and one was added", "default: dental\n", "default: dental\n", true, ""},
		{"other assistants", "assistants: {a: {}}\n", servers + "assistants: {a: {}}\n", false, ""},
		{"off loopback, and one was added", "listen: 0.0.0.0:8000\n", "listen: 0.0.0.0:8000\n", true, ""},
	} {
		running, next := mustLoad(t, tt.before, env...), mustLoad(t, tt.after, env...)
		if got := running.SuggestedDefault(next, tt.added); got != tt.want {
			t.Errorf("%s: suggested %q, want %q", tt.name, got, tt.want)
		}
		if changed := running.Changed(next); len(changed) > 0 {
			t.Errorf("%s: changed %v", tt.name, changed)
		}
	}
	running, next := mustLoad(t, "", env...), mustLoad(t, "default: general\n", env...)
	if got := running.Changed(next); !cmp.Equal(got, []string{"default"}) {
		t.Errorf("a default that was set: changed %v", got)
	}
}

// An interrupted save leaves an empty file or none. Neither makes a running host detach its
// servers.
func TestConfig_CheckReload(t *testing.T) {
	name := write(t, "limits: {rounds: 2}\n")
	options := config.Options{Path: name, Env: environ(t)}
	load := func() *config.Config {
		t.Helper()
		cfg, err := config.Load(options)
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	running := load()
	if err := running.CheckReload(load()); err != nil {
		t.Errorf("the same file: %v", err)
	}
	for _, text := range []string{"", " \n\t\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := running.CheckReload(load()); err == nil || !strings.Contains(err.Error(), "holds nothing") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := load().CheckReload(load()); err != nil {
		t.Errorf("a host that was started with an empty file: %v", err)
	}
	if err := os.WriteFile(name, []byte("# no settings\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := running.CheckReload(load()); err != nil {
		t.Errorf("a file of comments: %v", err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := running.CheckReload(load()); !errors.Is(err, config.ErrNoFile) {
		t.Errorf("no file: %v", err)
	}
}

func TestLoadHostAddress(t *testing.T) {
	tests := []struct {
		name, text, want, fault string
	}{
		{"the address of the file", "listen: 127.0.0.1:9001\n", "127.0.0.1:9001", ""},
		{"faults of other keys", "listen: 127.0.0.1:9001\nmcpServers: {a: {url: \"${NOT_SET}\"}}\nlimits: {rounds: x}\n", "127.0.0.1:9001", ""},
		{"a fault of the address", "listen: 0.0.0.0\n", "", "host:port"},
		{"a file that is not readable", "listen: [\n", "", "not readable as YAML"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			endpoint, err := config.LoadHostAddress(config.Options{Path: write(t, tt.text), Explicit: true, Env: environ(t)})
			if got := endpoint.Listen; got != tt.want || (err != nil) != (tt.fault != "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	path := write(t, "tls: {cert: c.pem, key: k.pem}\nca_file: ca.pem\n")
	endpoint, err := config.LoadHostAddress(config.Options{Path: path, Explicit: true, Env: environ(t)})
	inFolder := func(name string) string { return filepath.Join(filepath.Dir(path), name) }
	want := config.HostAddress{Listen: "127.0.0.1:8000", TLS: config.TLS{Cert: inFolder("c.pem"), Key: inFolder("k.pem")}, CAFile: inFolder("ca.pem")}
	if diff := cmp.Diff(want, endpoint); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestLoad_ServerTypes(t *testing.T) {
	tests := []struct{ server, fault string }{
		{"{url: \"https://x\", type: http}", ""},
		{"{url: \"https://x\", type: sse}", ""},
		{"{url: \"https://x\", type: message}", ""},
		{"{url: \"https://x\", protocol: auto}", ""},
		{"{command: x, type: stdio, protocol: 2026-07-28}", ""},
		{"{command: x, type: sse}", "want stdio with a command"},
		{"{url: \"https://x\", type: stdio}", "want http, sse or message with a url"},
		{"{url: \"https://x\", type: mesage}", `did you mean "message"?`},
		{"{command: x, protocol: newest}", "or auto"},
	}
	s := schema(t)
	for _, tt := range tests {
		text := "mcpServers: {a: " + tt.server + "}\n"
		_, err := load(t, text)
		if (err != nil) != (tt.fault != "") || err != nil && !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("%s: %v, want %q", tt.server, err, tt.fault)
		}
		if tt.fault == "" && check(t, s, text) != nil {
			t.Errorf("%s: the schema refuses it", tt.server)
		}
	}
}
