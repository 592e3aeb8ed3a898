package mcpclients_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"go.uber.org/goleak"

	"molar/internal/testkit"
	"molar/mcpclients"
	"molar/mcpclients/transport"
	"molar/schemas"
)

// serveVar makes the test binary a well-behaved MCP server, built with another implementation
// than the client's.
const serveVar = "MOLAR_TEST_SERVE"

// badServer is the path of the misbehaving server, built once for all tests.
var badServer string

func TestMain(m *testing.M) {
	if os.Getenv(serveVar) != "" {
		if err := server.ServeStdio(goodServer()); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(hostVar) != "" {
		hostUntilKilled()
	}
	os.Exit(testMain(m))
}

// hostVar makes the test binary a host of the server at this path, until it is killed.
const hostVar = "MOLAR_TEST_HOST"

func hostUntilKilled() {
	m, err := mcpclients.New(servers(transport.ServerConfig{
		Name: "s", Command: os.Getenv(hostVar), Args: os.Args[1:],
	}))
	if err != nil {
		os.Exit(1)
	}
	m.Start(context.Background())
	time.Sleep(time.Minute)
	os.Exit(1)
}

func testMain(m *testing.M) int {
	var err error
	if badServer, err = testkit.Path("molar/internal/testkit/badmcp"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if code := m.Run(); code != 0 {
		return code
	}
	// All tests have cleaned up by now.
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// goodServer returns a real server with a few tools.
func goodServer() *server.MCPServer {
	s := server.NewMCPServer("good", "2.0.0", server.WithToolCapabilities(true), server.WithRecovery(), server.WithPaginationLimit(2))
	s.AddTool(mcp.NewTool("add", mcp.WithNumber("a"), mcp.WithNumber("b")),
		func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(fmt.Sprint(r.GetInt("a", 0) + r.GetInt("b", 0))), nil
		})
	s.AddTool(mcp.NewTool("weather", mcp.WithReadOnlyHintAnnotation(true)),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultStructured(map[string]any{"city": "Huế", "celsius": 31}, "31 °C"), nil
		})
	s.AddTool(mcp.NewTool("sleep"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case <-ctx.Done():
		case <-time.After(30 * time.Second):
		}
		return mcp.NewToolResultText("slept"), nil
	})
	return s
}

// bad returns the configuration of the misbehaving server.
func bad(name string, flags ...string) transport.ServerConfig {
	return transport.ServerConfig{Name: name, Command: badServer, Args: flags}
}

// start starts a manager and waits until no server is starting. Processes and goroutines that
// remain after Close fail the test.
func start(t *testing.T, cfg mcpclients.Config) *mcpclients.Manager {
	t.Helper()
	m, err := mcpclients.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	m.Start(t.Context())
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := m.Wait(ctx, nil); err != nil {
		t.Fatal(err)
	}
	return m
}

func servers(list ...transport.ServerConfig) mcpclients.Config {
	return mcpclients.Config{Servers: list}
}

// status returns the status of the only server.
func status(t *testing.T, m *mcpclients.Manager) schemas.ServerStatus {
	t.Helper()
	all := m.Status()
	if len(all) != 1 {
		t.Fatalf("%d servers, want 1", len(all))
	}
	return all[0]
}

// waitFor polls until ok, for at most 10 s. It waits for other processes, which a fake clock
// cannot drive.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(10 * time.Second)
	for !ok() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}
