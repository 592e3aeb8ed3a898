package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"molar/internal/cli"
	"molar/internal/config"
	"molar/internal/setup"
	"molar/internal/testkit/oauthserver"
	"molar/schemas"
)

// callServers runs "molar servers" in this process, and returns what it prints.
func callServers(t *testing.T, env map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = execute(t.Context(), append([]string{"servers"}, args...), lookup(env), strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// The whole way of a server that wants a login: it is added while a host runs, used after the login, and
// removed, with its login revoked.
func TestServersAdd_Login(t *testing.T) {
	t.Parallel()
	s := oauthserver.New()
	t.Cleanup(s.Close)
	env := homeEnv(t, nil)
	env["XDG_DATA_HOME"] = t.TempDir()
	const before = "# mine\nmcpServers:\n  near: {command: nothing} # not yet\n"
	file := writeFile(t, "molar.yaml", before)
	host := serveIn(t, env, file)
	far := func() (found schemas.ServerStatus) {
		var list struct{ Data []schemas.ServerStatus }
		host.get(t, "/v1/servers", &list)
		for _, one := range list.Data {
			if one.Name == "far" {
				return one
			}
		}
		return found
	}
	code, out, errs := callServers(t, env, "add", "far", s.MCP(), "--config", file, "--listen", strings.TrimPrefix(host.url, "http://"))
	if code != 0 || !strings.Contains(out, "it wants a login: molar servers login --config "+file+" far\n") || !strings.Contains(out, "the running host takes it from the file by itself") {
		t.Fatalf("exit code %d:\n%s\n%s", code, out, errs)
	}
	eventually(t, "the running host attaches it", func() bool { return strings.Contains(far().Reason, "wants a login") })
	login := callLogin(t, env, "far", "--config", file)
	browse(t, login.address(t), true)
	if code := login.wait(t); code != 0 {
		t.Fatalf("exit code %d:\n%s", code, login.stderr)
	}
	eventually(t, "the running host takes the login up", func() bool { return far().State == schemas.StateReady })
	code, out, errs = callServers(t, env, "remove", "far", "--config", file, "--listen", strings.TrimPrefix(host.url, "http://"))
	if code != 0 || s.Counts().Revoked != 1 || !strings.Contains(out, "logged out of far\n") || !strings.Contains(out, "forgot what was stored about it") {
		t.Fatalf("exit code %d:\n%s\n%s", code, out, errs)
	}
	if text, _ := os.ReadFile(file); string(text) != before {
		t.Errorf("the file holds\n%s", text)
	}
	eventually(t, "the running host detaches it", func() bool { return far().Name == "" })
	for _, secret := range s.Secrets() {
		if strings.Contains(out+errs, secret) {
			t.Errorf("%s was printed", secret)
		}
	}
}

// Of two commands that add a server at once the later fails, and leaves no secret behind.
func TestServersAdd_AtOnce(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "molar.yaml", "mcpServers: {}\n")
	begin := func(name, variable, value string) *adding {
		f, err := setup.OpenConfigFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := setup.OpenSecretsFile(config.VariablesFile(file), lookup(nil))
		if err != nil {
			t.Fatal(err)
		}
		c, err := config.NewServer{Name: name, Command: "x", Env: map[string]string{variable: value}}.Convert(nil, s.Conflicts, f.Text)
		if err != nil {
			t.Fatal(err)
		}
		return &adding{app: &app{CLI: &cli.CLI{Env: lookup(nil), Stdout: &bytes.Buffer{}}}, file: f, secrets: s, converted: c}
	}
	first, second := begin("one", "ONE_TOKEN", "first-secret-value"), begin("two", "TWO_TOKEN", "second-secret-value")
	if err := first.write([]byte("mcpServers: {one: {command: x}}\n"), &addedServer{}); err != nil {
		t.Fatal(err)
	}
	if err := second.write([]byte("mcpServers: {two: {command: x}}\n"), &addedServer{}); err == nil || !strings.Contains(err.Error(), "changed meanwhile") {
		t.Errorf("%v", err)
	}
	if text, err := os.ReadFile(config.VariablesFile(file)); err != nil || !strings.Contains(string(text), "first-secret") || strings.Contains(string(text), "second-secret") {
		t.Errorf("%q, %v", text, err)
	}
}

// A file of variables that others can read is not said to be private.
func TestServersAdd_VariablesThatOthersRead(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there are no such modes")
	}
	for mode, private := range map[os.FileMode]bool{0o600: true, 0o644: false} {
		file := writeFile(t, "molar.yaml", "mcpServers: {}\n")
		variables := config.VariablesFile(file)
		if err := errors.Join(os.WriteFile(variables, []byte("A=1\n"), 0o600), os.Chmod(variables, mode)); err != nil {
			t.Fatal(err)
		}
		code, out, errs := callServers(t, homeEnv(t, nil), "add", "notes", "--config", file, "--no-check", "--env", "NOTES_TOKEN=first-secret-value", "--", "nothing")
		if code != 0 || !strings.Contains(out, "wrote "+variables) || strings.Contains(out, "only you can read") != private || strings.Contains(out, "others on this machine") == private {
			t.Errorf("%s: exit code %d:\n%s\n%s", mode, code, out, errs)
		}
	}
}

// What a registry says is printed as lines for a shell, and nothing of it reaches the terminal.
func TestServersFind(t *testing.T) {
	t.Parallel()
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"servers": [{"server": {"name": "io.example/weather", "version": "1.0.0", "description": "It \u001b[2Jrains",
			"packages": [{"registryType": "npm", "identifier": "weather", "version": "1.0.0", "environmentVariables": [{"name": "KEY", "isSecret": true}]}]}},
			{"server": {"name": "io.example/none"}}]}`))
	}))
	t.Cleanup(registry.Close)
	env := homeEnv(t, nil)
	code, out, errs := callServers(t, env, "find", "weather", "--registry", registry.URL)
	const want = "io.example/weather 1.0.0\n  It rains\n  npm package, run by npx:\n    molar servers add weather --env KEY -- npx -y weather@1.0.0\n      KEY (optional, secret)\n\n" +
		"io.example/none \n  nothing that Molar can start or reach\n"
	if code != 0 || strings.ReplaceAll(out, "\x1b", "") != out || out != want {
		t.Errorf("exit code %d:\n%q\n%s", code, out, errs)
	}
	if code, out, _ := callServers(t, env, "find", "weather", "--registry", registry.URL, "--output-format", "json", "--limit", "1"); code != 0 || strings.Count(out, `"name"`) != 1 {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

// What a person reads of a server that cannot be added is true of one that is not in the file: nobody keeps
// trying it. Each fault names its remedy once, and a path that holds only here is noted.
func TestServersAdd_Faults(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	t.Cleanup(web.Close)
	env := homeEnv(t, nil)
	for _, tc := range []struct {
		name     string
		args     []string
		want     string
		unwanted []string
		code     int
	}{
		{"no folder", []string{"--cwd", "/nowhere", "--", "go", "version"}, "not found: create it or correct --cwd\n", []string{"repair the server", "keeps trying"}, 1},
		{"nothing listens", []string{"http://127.0.0.1:1/mcp"}, "start the server or correct the address\n", []string{"keeps trying"}, 1},
		{"it ends", []string{"--", "go", "version"}, "repair the server or correct what you typed, such as the values of --env\n", []string{"keeps trying", "is looked up in the folder"}, 1},
		{"a file from here", []string{"--no-check", "--", "go", "run", "servers_add.go"}, "the argument servers_add.go is looked up in the folder in which molar is started", nil, 0},
		{"a file below the folder that is set", []string{"--no-check", "--cwd", ".", "--", "go", "run", "servers_add.go"}, "", []string{"is looked up in the folder"}, 0},
		{"a whole line as the command", []string{"--", "go version"}, "put -- before the command, and no quotes around the whole of it: molar servers add --config FILE new -- go version\n", nil, 2},
		{"a login or a header", []string{web.URL}, "it wants a login: molar servers login --config FILE new, or set the headers it needs in mcpServers.new.headers\n", nil, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			file := writeFile(t, "molar.yaml", "# mine\n")
			code, out, errs := callServers(t, env, append([]string{"add", "new", "--config", file}, tc.args...)...)
			if text := out + errs; code != tc.code || !strings.Contains(text, strings.ReplaceAll(tc.want, "FILE", file)) || slices.ContainsFunc(tc.unwanted, func(s string) bool { return strings.Contains(text, s) }) {
				t.Errorf("exit code %d:\n%s", code, text)
			}
		})
	}
}

// A server may list more tools to a host that can ask a person. Adding and confirming it shows those that
// a host that serves gets: else these would seem new there, and be withheld.
func TestServersAdd_ListsAsForTheHostThatServes(t *testing.T) {
	t.Parallel()
	var asks atomic.Bool
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var msg struct {
			ID     json.RawMessage
			Method string
			Params struct{ Capabilities map[string]json.RawMessage }
		}
		_ = json.NewDecoder(r.Body).Decode(&msg)
		if msg.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		answer := `"error": {"code": -32601, "message": "unknown"}`
		switch msg.Method {
		case "initialize":
			asks.Store(msg.Params.Capabilities["elicitation"] != nil)
			answer = `"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}`
		case "tools/list":
			answer = `"result": {"tools": [{"name": "look", "inputSchema": {"type": "object"}}`
			if asks.Load() {
				answer += `, {"name": "ask", "inputSchema": {"type": "object"}}`
			}
			answer += "]}"
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc": "2.0", "id": %s, %s}`, msg.ID, answer)
	}))
	t.Cleanup(web.Close)
	env := homeEnv(t, nil)
	env["XDG_DATA_HOME"] = t.TempDir()
	file := writeFile(t, "molar.yaml", "# mine\n")
	for _, args := range [][]string{{"add", "far", web.URL + "/mcp"}, {"approve", "far"}} {
		if code, out, errs := callServers(t, env, append(args, "--config", file)...); code != 0 {
			t.Fatalf("%s: exit code %d:\n%s\n%s", args, code, out, errs)
		}
	}
	if _, found := molarIn(t, env, "doctor", "--config", file); !strings.Contains(found, "far ready (http), 2 tools") {
		t.Errorf("doctor:\n%s", found)
	}
	host := serveIn(t, env, file)
	var far schemas.ServerStatus
	eventually(t, "the server is attached", func() bool {
		var list struct{ Data []schemas.ServerStatus }
		host.get(t, "/v1/servers", &list)
		far = list.Data[slices.IndexFunc(list.Data, func(s schemas.ServerStatus) bool { return s.Name == "far" })]
		return far.State == schemas.StateReady
	})
	if far.Tools != 2 || len(far.Pending) > 0 || far.Unconfirmed {
		t.Errorf("%+v", far)
	}
}

// Servers that failed are listed once each, with the remedy.
func TestServersList_Once(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "molar.yaml", "mcpServers: {gone: {url: \"http://127.0.0.1:1/mcp\"}, ends: {command: go, args: [version]}}\n")
	code, out, errs := callServers(t, homeEnv(t, nil), "list", "--config", file)
	if code != 0 || errs != "" || strings.Count(out, "gone failed (http)") != 1 || strings.Count(out, "ends failed (stdio)") != 1 {
		t.Errorf("exit code %d:\n%s\n%s", code, out, errs)
	}
}
