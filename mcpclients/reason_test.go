package mcpclients_test

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"molar/mcpclients"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// nodeProgram writes a program for node, and returns it as a server. Without node the test is skipped,
// except in CI.
func nodeProgram(t *testing.T, file, text string, args ...string) transport.ServerConfig {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: programs of others are left out")
	}
	if _, err := exec.LookPath("node"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("node is missing: install it")
		}
		t.Skip("node is missing: install it to test what its programs say")
	}
	path := filepath.Join(t.TempDir(), file)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return transport.ServerConfig{Name: "s", Command: "node", Args: append([]string{path}, args...), Env: map[string]string{"API_KEY": "sesame-open", "DATABASE": "postgres://me:abracadabra@db.example/x"}}
}

// refusedPort returns the port of an address of this machine at which nothing answers.
func refusedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_ = l.Close()
	return port
}

// What a program of Node says as it fails is its first words on the matter; its last ones are the
// version of Node or the end of a dump.
func TestReason_ProgramsOfNode(t *testing.T) {
	t.Parallel()
	port := refusedPort(t)
	for _, tc := range []struct {
		name, file, text string
		want             []string
	}{
		{
			"a native module is missing", "index.js",
			`console.error("starting"); require('../build/Release/keytar.node')`,
			[]string{"exit status 1", "it said “Error: Cannot find module '../build/Release/keytar.node'”"},
		},
		{
			"its site is away", "index.mjs",
			`process.emitWarning("this must not be used any more", "DeprecationWarning"); await fetch("http://127.0.0.1:` + port + `/docs")`,
			[]string{"exit status 1", "it said “TypeError: fetch failed (cause: ", "connect ECONNREFUSED 127.0.0.1:" + port},
		},
		{
			"node is too old", "index.js",
			`const webidl = { util: {} }; function minified() { throw new Error("Cannot go on") } ` + strings.Repeat("minified;", 100_000) + ` webidl.util.markAsUncloneable(minified)`,
			[]string{"exit status 1", "it said “TypeError: webidl.util.markAsUncloneable is not a function”"},
		},
		{
			"it ends with a dump", "index.js",
			`const e = new Error("Could not locate the bindings file. Tried:\n → /srv/build/sqlite.node\n → /srv/lib/sqlite.node");
			e.tries = Array.from({ length: 5000 }, (_, i) => "/srv/a/place/where/it/could/be/" + i);
			require("util").inspect.defaultOptions.maxArrayLength = null; console.error(e); process.exit(3)`,
			[]string{"exit status 3", "it said “Error: Could not locate the bindings file. Tried: /srv/build/sqlite.node"},
		},
		{
			"it reports a fatal error", "index.mjs",
			`fetch("http://127.0.0.1:` + port + `/mcp").catch((e) => { console.error("[" + process.pid + "] Fatal error:", e); process.exit(1) })`,
			[]string{"exit status 1", "it said “Fatal error: TypeError: fetch failed (cause: ", "connect ECONNREFUSED 127.0.0.1:" + port},
		},
		{"it says nothing", "index.js", "process.exit(7)", []string{"exit status 7); it said nothing: repair the server"}},
		{
			"it reports on standard output, in red", "index.js",
			"console.log('\\x1b[31mthe key ' + process.env.API_KEY + ' was not found at ' + process.env.DATABASE + '\\x1b[0m'); process.exit(1)",
			[]string{"it said “the key *** was not found at postgres://me:***@db.example/x”"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := start(t, servers(nodeProgram(t, tc.file, tc.text)))
			st := status(t, m)
			t.Log(st.Reason)
			if st.State != schemas.StateFailed {
				t.Errorf("it is %s", st.State)
			}
			for _, want := range tc.want {
				if !strings.Contains(st.Reason, want) {
					t.Errorf("%q lacks %q", st.Reason, want)
				}
			}
		})
	}
}

// A server that is lost says why too, if it wrote that just now: what it wrote of a call long before
// tells nothing of its end.
func TestReason_ALostServer(t *testing.T) {
	t.Parallel()
	server := nodeProgram(t, "index.js", `
		const answer = (id, result) => console.log(JSON.stringify({ jsonrpc: "2.0", id, result }))
		require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
			const m = JSON.parse(line)
			if (m.method === "initialize") answer(m.id, { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } })
			if (m.method === "tools/list") answer(m.id, { tools: [{ name: "die", inputSchema: { type: "object" } }] })
			if (m.method === "tools/call") setTimeout(() => { null.field }, 0)
		})`)
	m := start(t, servers(server))
	if _, err := m.Call(t.Context(), "s", "die", nil); err == nil {
		t.Fatal("the call succeeded")
	}
	const want = "it said “TypeError: Cannot read properties of null"
	waitFor(t, "the reason tells", func() bool { return lostFor(t, m, want) })
}

// lostFor reports whether the only server was lost, with this in its reason.
func lostFor(t *testing.T, m *mcpclients.Manager, want string) bool {
	t.Helper()
	st := status(t, m)
	return st.State != schemas.StateReady && time.Since(st.Since) < time.Minute && strings.Contains(st.Reason, want)
}

// A server that refuses while it is attached is named by the line about it, not again as "".
func TestReason_ARefusedList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refuse := func(string, json.RawMessage) (json.RawMessage, error) {
			return nil, &transport.RPCError{Method: "tools/list", Code: -32603, Message: "fetch failed"}
		}
		m := (&fakeDialer{next: func(int) (*fakeConn, error) { return &fakeConn{answer: refuse}, nil }}).manager(t)
		defer func() { _ = m.Close() }()
		if st := status(t, m); !strings.HasPrefix(st.Reason, "the server answered tools/list with error -32603: fetch failed") {
			t.Errorf("%s: %s", st.State, st.Reason)
		}
	})
}
