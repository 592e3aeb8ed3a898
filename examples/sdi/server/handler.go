package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/mark3labs/mcp-go/server"
)

// maxRequest is the longest accepted message, in bytes.
const maxRequest = 1 << 20

// newHandler returns a handler that serves the catalogue over the three transports of MCP.
func newHandler(c *catalogue) http.Handler {
	s := server.NewMCPServer("sdi", "1.0.0",
		server.WithToolCapabilities(false),
		server.WithPromptCapabilities(false),
		server.WithRecovery(),
		server.WithInstructions("Find records with search_catalogue, then read one with get_record."))
	h := handlers{c}
	addTools(s, h)
	addPrompts(s)

	events := server.NewSSEServer(s, server.WithSSEEndpoint("/sse"), server.WithMessageEndpoint("/message"))
	mux := http.NewServeMux()
	mux.Handle("/mcp", server.NewStreamableHTTPServer(s))
	mux.Handle("GET /sse", events.SSEHandler())
	mux.HandleFunc("POST /message", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("sessionId") { // it belongs to an event stream
			events.MessageHandler().ServeHTTP(w, r)
			return
		}
		plainMessage(s, w, r)
	})
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]any{"status": "ok", "server": "sdi", "tools": len(s.ListTools())})
	})
	return local(mux)
}

// plainMessage answers one JSON-RPC message in the body of the response.
func plainMessage(s *server.MCPServer, w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		http.Error(w, "the message is longer than 1 MiB, or was cut off", http.StatusRequestEntityTooLarge)
		return
	}
	answer := s.HandleMessage(r.Context(), json.RawMessage(body))
	if answer == nil { // a notification
		w.WriteHeader(http.StatusAccepted)
		return
	}
	writeJSON(w, http.StatusOK, answer)
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		http.Error(w, "the answer cannot be written", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // the client may have gone
}

// local refuses requests from web pages of other sites: a request over loopback must name
// this machine as its host, and must not have a foreign Origin.
func local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if overLoopback(r) && (!isLoopback(r.Host) || !ownOrigin(r.Header.Get("Origin"))) {
			http.Error(w, "only programs of this machine may ask", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func overLoopback(r *http.Request) bool {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && isLoopback(addr.String())
}

func ownOrigin(origin string) bool {
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && isLoopback(u.Host)
}

// isLoopback reports whether an address, with or without a port, is of this machine.
func isLoopback(address string) bool {
	host := address
	if h, _, err := net.SplitHostPort(address); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
