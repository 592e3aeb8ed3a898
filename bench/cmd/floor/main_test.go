package main

import (
	"context"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"molar/internal/testkit/stubmcp"
)

func TestRun_ServesUntilItsContextEnds(t *testing.T) {
	tools := httptest.NewServer(stubmcp.New(stubmcp.Config{}))
	defer tools.Close()
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- run(ctx, []string{"-listen", "127.0.0.1:0", "-mcp", tools.URL}, write) }()
	line := make([]byte, 64)
	n, err := read.Read(line)
	if err != nil || !strings.HasPrefix(string(line[:n]), "listening on http://127.0.0.1:") {
		t.Errorf("got %q, %v", line[:n], err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestRun_NamesTheToolServerThatIsMissing(t *testing.T) {
	err := run(t.Context(), []string{"-listen", "127.0.0.1:0", "-mcp", "http://127.0.0.1:1/mcp"}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("got %v", err)
	}
}
