package oauthserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// serveMCP is a server over streamable HTTP with one tool, add, which requires a token.
func (s *Server) serveMCP(w http.ResponseWriter, r *http.Request, is Behaviour) {
	scopes, ok := s.admit(r)
	if !ok {
		switch is.Challenge {
		case "":
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer resource_metadata="%s/.well-known/oauth-protected-resource%s"`, s.URL, MCPPath))
		case "-":
		default:
			w.Header().Set("WWW-Authenticate", is.Challenge)
		}
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Version string `json:"protocolVersion"`
		} `json:"params"`
	}
	if json.NewDecoder(r.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if m.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if m.Method == "tools/call" {
		if lacks := slices.ContainsFunc(is.Scopes, func(scope string) bool { return !slices.Contains(scopes, scope) }); lacks {
			challenge := `Bearer error="insufficient_scope"`
			if !is.Unnamed {
				challenge += fmt.Sprintf(`, scope="%s"`, strings.Join(is.Scopes, " "))
			}
			w.Header().Set("WWW-Authenticate", challenge)
			w.WriteHeader(http.StatusForbidden)
			return
		}
		s.mu.Lock()
		s.counts.Calls++
		s.mu.Unlock()
	}
	write(w, http.StatusOK, map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result(m.Method, m.Params.Version)})
}

func result(method, version string) any {
	switch method {
	case "initialize":
		return map[string]any{
			"protocolVersion": version, "capabilities": map[string]any{"tools": map[string]any{}},
			"serverInfo": map[string]string{"name": "guarded", "version": "1"},
		}
	case "tools/list":
		return map[string]any{"tools": []any{map[string]any{"name": "add", "inputSchema": map[string]string{"type": "object"}}}}
	case "tools/call":
		return map[string]any{"content": []any{map[string]string{"type": "text", "text": "3"}}}
	default:
		return map[string]any{}
	}
}

// Admit reports whether the token of a request is valid, for handlers of tests.
func (s *Server) Admit(r *http.Request) bool {
	_, ok := s.admit(r)
	return ok
}

// admit checks the token of a request.
func (s *Server) admit(r *http.Request) (scopes []string, ok bool) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	defer s.mu.Unlock()
	if scopes, ok = s.access[token]; ok {
		if end, ends := s.ends[token]; ends && !s.now().Before(end) {
			ok = false
		}
	}
	if !ok {
		s.counts.Refused++
	}
	return scopes, ok
}
