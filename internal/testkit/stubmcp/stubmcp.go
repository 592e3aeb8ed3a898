// Package stubmcp is a hand-made MCP tool server of protocol 2025-06-18 over
// streamable HTTP and stdio. It answers from prepared bytes, so that in a load run
// the tool costs next to nothing. It must not grow into a server that does work,
// and uses no MCP library.
package stubmcp

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// ToolName is the tool that is meant to be called.
const ToolName = "get_family_details"

// result is what a call gives.
const result = `{"content":[{"type":"text","text":"{\"family_id\":\"1a955fff\",\"name\":\"Nguyen\",` +
	`\"members\":[{\"name\":\"An\",\"born\":\"1980-02-11\"},{\"name\":\"Binh\",\"born\":\"1984-07-30\"}]}"}]}`

// A Config shapes a server; the zero value lists 7 tools and waits for nothing.
type Config struct {
	// Delay is how long a call takes.
	Delay time.Duration
	// Tools is how many tools are listed, get_family_details first; 0 means 7.
	Tools int
	// Seed makes all tools up, with names, descriptions and schemas as long as those of real servers,
	// and others for each seed; with 0 they differ by a number alone.
	Seed uint64
}

// A Server answers MCP requests. It is an http.Handler for one endpoint and is safe
// for concurrent use.
type Server struct {
	delay    time.Duration
	list     json.RawMessage
	calls    atomic.Int64
	lists    atomic.Int64
	mu       sync.Mutex
	sessions map[string]struct{}
}

// New returns a server.
func New(cfg Config) *Server {
	if cfg.Tools == 0 {
		cfg.Tools = 7
	}
	return &Server{delay: cfg.Delay, list: listTools(cfg), sessions: map[string]struct{}{}}
}

// Calls returns how many tools/call requests came.
func (s *Server) Calls() int { return int(s.calls.Load()) }

// Lists returns how many tools/list requests came.
func (s *Server) Lists() int { return int(s.lists.Load()) }

func listTools(cfg Config) json.RawMessage {
	list := []byte(`{"tools":[`)
	words := newVocabulary(cfg.Seed)
	for i := range cfg.Tools {
		if i > 0 {
			list = append(list, ',')
		}
		switch {
		case cfg.Seed != 0:
			list = words.appendTool(list, i)
		case i == 0:
			list = appendTool(list, ToolName, "Shows one family: its members and their dates of birth")
		default:
			list = appendTool(list, fmt.Sprintf("stub_tool_%d", i), fmt.Sprintf("Does the work number %d", i))
		}
	}
	return append(list, "]}"...)
}

func appendTool(list []byte, name, about string) []byte {
	return fmt.Appendf(list, `{"name":%q,"description":%q,"inputSchema":{"type":"object","properties":`+
		`{"family_id":{"type":"string","description":"The id of the family"}},"required":["family_id"]}}`, name, about)
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name            string `json:"name"`
		ProtocolVersion string `json:"protocolVersion"`
	} `json:"params"`
}

// answer returns the response to one message; nil for a notification.
func (s *Server) answer(ctx context.Context, m message) []byte {
	if len(m.ID) == 0 {
		return nil
	}
	switch m.Method {
	case "initialize":
		return reply(m.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},`+
			`"serverInfo":{"name":"stub","version":"1.0.0"}}`)
	case "ping":
		return reply(m.ID, `{}`)
	case "tools/list":
		s.lists.Add(1)
		return reply(m.ID, string(s.list))
	case "tools/call":
		if m.Params.Name != ToolName {
			return fault(m.ID, -32602, "unknown tool: "+m.Params.Name)
		}
		s.calls.Add(1)
		if s.delay > 0 {
			select {
			case <-time.After(s.delay):
			case <-ctx.Done():
			}
		}
		return reply(m.ID, result)
	default:
		return fault(m.ID, -32601, "method not found: "+m.Method)
	}
}

func reply(id json.RawMessage, result string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

func fault(id json.RawMessage, code int, text string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, code, text)
}

// ServeHTTP implements streamable HTTP with sessions, but without the event stream of GET.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	session := r.Header.Get("Mcp-Session-Id")
	switch r.Method {
	case http.MethodDelete:
		s.forget(session)
		return
	case http.MethodPost:
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	var m message
	if err != nil || json.Unmarshal(body, &m) != nil {
		http.Error(w, string(fault(json.RawMessage("null"), -32700, "parse error")), http.StatusBadRequest)
		return
	}
	switch {
	case m.Method == "initialize":
		w.Header().Set("Mcp-Session-Id", s.open())
	case m.Method == "server/discover": // of a later protocol: answered as unknown
	case session == "":
		http.Error(w, "no session", http.StatusBadRequest)
		return
	case !s.knows(session):
		http.Error(w, "session not found", http.StatusNotFound)
		return
	}
	out := s.answer(r.Context(), m)
	if out == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(out)
}

func (s *Server) open() string {
	id := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[id] = struct{}{}
	return id
}

func (s *Server) knows(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.sessions[id]
	return ok
}

func (s *Server) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, id)
}

// ServeStdio answers messages, one a line, until in ends. Calls run side by side;
// all have been answered when it returns.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	var (
		running sync.WaitGroup
		mu      sync.Mutex
	)
	defer running.Wait()
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 4096), 1<<20)
	for lines.Scan() {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return fmt.Errorf("read an MCP message: %w", err)
		}
		running.Go(func() {
			line := s.answer(ctx, m)
			if line == nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			_, _ = out.Write(append(line, '\n'))
		})
	}
	return lines.Err()
}
