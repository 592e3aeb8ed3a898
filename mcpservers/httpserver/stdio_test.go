package httpserver_test

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"molar/mcpservers/httpserver"
)

// overPipes runs the server on pipes and returns the client's ends.
func overPipes(t *testing.T) (fromServer io.ReadCloser, toServer io.WriteCloser, ended <-chan error) {
	t.Helper()
	server := open(t, httpserver.Config{})
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- server.ServeStdio(t.Context(), in, out)
		_ = out.Close()
	}()
	t.Cleanup(func() { _ = toServer.Close() })
	return fromServer, toServer, done
}

func TestStdio_StockClient(t *testing.T) {
	for _, revision := range []string{mcp.LATEST_LEGACY_PROTOCOL_VERSION, mcp.ProtocolVersion20260728} {
		t.Run(revision, func(t *testing.T) {
			fromServer, toServer, ended := overPipes(t)
			wire := transport.NewIO(fromServer, toServer, io.NopCloser(strings.NewReader("")))
			c, heard := attach(t, wire, revision)
			use(t, c, revision)
			if revision == mcp.LATEST_LEGACY_PROTOCOL_VERSION {
				sub := mcp.SubscribeRequest{}
				sub.Params.URI = "memory://conversation/a%20b"
				if err := c.Subscribe(t.Context(), sub); err != nil {
					t.Fatal(err)
				}
				custom(t, c, revision, "memory/clear", `{"conversation_id":"a b"}`)
				if n := hear(t, heard); n.Method != "notifications/resources/updated" {
					t.Errorf("notice: %+v", n)
				}
			}
			_ = c.Close()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// A script that writes its requests and closes the input gets every answer on its own line, and
// nothing else.
func TestStdio_LinesOfAScript(t *testing.T) {
	server := open(t, httpserver.Config{})
	script := strings.Join([]string{
		initialize,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		``,
		`{"jsonrpc":"2.0","id":2,"method":"memory/add_message","params":{"conversation_id":"c","role":"user","content":"x"}}`,
		`{"jsonrpc":"2.0","id":3,"method":"memory/get_context","params":{"conversation_id":"c"}}`,
		`{"jsonrpc":"2.0","id":4,"method":"no/such"}`,
		`[{"jsonrpc":"2.0","id":5,"method":"ping"}]`,
		`not JSON`,
		`{"jsonrpc":"2.0","id":6,"method":"memory/add_message","params":{"content":"` + strings.Repeat("x", httpserver.MaxBody) + `"}}`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"dental_guide_search","arguments":{"query":"caries"}}}`,
	}, "\n")
	var out strings.Builder
	if err := server.ServeStdio(t.Context(), strings.NewReader(script), &out); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"jsonrpc":"2.0","id":1,"result":"ANY"}`,
		`{"jsonrpc":"2.0","id":2,"result":{"status":"success","conversation_id":"c"}}`,
		`{"jsonrpc":"2.0","id":3,"result":{"messages":[{"role":"user","content":"x"}]}}`,
		`{"jsonrpc":"2.0","id":4,"error":{"code":-32601,"message":"Method 'no/such' not found on server 'molar'"}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"ANY"}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"ANY"}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"ANY"}}`,
		`{"jsonrpc":"2.0","id":7,"result":{"content":"ANY","structuredContent":"ANY"}}`,
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), out.String())
	}
	for i, line := range lines {
		same(t, line, want[i])
	}
}

func TestStdio_EndsWithItsContext(t *testing.T) {
	server := open(t, httpserver.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- server.ServeStdio(ctx, in, out) }()
	if _, err := io.WriteString(toServer, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(fromServer).ReadString('\n'); err != nil {
		t.Fatalf("%q %v", line, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := io.WriteString(toServer, "x"); err == nil {
		t.Error("the input is still open")
	}
}
