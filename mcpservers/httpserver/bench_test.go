package httpserver_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"molar/mcpservers/httpserver"
)

// BenchmarkContextOverHTTP reads a context as a host does: over loopback, in a session.
func BenchmarkContextOverHTTP(b *testing.B) {
	url := start(b, httpserver.Config{})
	_, header, _ := send(b, http.MethodPost, url+"/mcp/memory-server", initialize)
	session := header.Get("Mcp-Session-Id")
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for b.Loop() {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url+"/mcp/memory-server", strings.NewReader(
			`{"jsonrpc":"2.0","method":"memory/get_context","params":{"conversation_id":"c"},"id":1}`))
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Mcp-Session-Id", session)
		res, err := client.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
			b.Fatal(res.StatusCode, err)
		}
		_ = res.Body.Close()
	}
}
