package httpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"molar/mcpservers"
)

// capabilities are the lists of one server.
type capabilities struct {
	Tools     []json.RawMessage `json:"tools"`
	Resources []json.RawMessage `json:"resources"`
	Prompts   []json.RawMessage `json:"prompts"`
}

func (s *Server) serveHealth(w http.ResponseWriter, _ *http.Request) {
	s.writeInfo(w, http.StatusOK, struct {
		Status  string   `json:"status"`
		Servers []string `json:"servers"`
	}{"healthy", s.names})
}

func (s *Server) serveServers(w http.ResponseWriter, r *http.Request) {
	type entry struct {
		Name         string       `json:"name"`
		Capabilities capabilities `json:"capabilities"`
	}
	entries := make([]entry, len(s.names))
	for i, name := range s.names {
		entries[i] = entry{name, s.capabilities(r.Context(), name)}
	}
	s.writeInfo(w, http.StatusOK, struct {
		Servers []entry `json:"servers"`
	}{entries})
}

func (s *Server) serveCapabilities(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if _, known := s.servers[name]; !known {
		type fault struct {
			Message string `json:"message"`
			Code    string `json:"code"`
		}
		s.writeInfo(w, http.StatusNotFound, map[string]fault{
			"error": {fmt.Sprintf("there is no server %q; GET /servers lists them", name), "server_not_found"},
		})
		return
	}
	s.writeInfo(w, http.StatusOK, struct {
		ServerName   string       `json:"server_name"`
		Capabilities capabilities `json:"capabilities"`
	}{name, s.capabilities(r.Context(), name)})
}

// capabilities reads the first page of each of a server's lists. A missing list is empty.
func (s *Server) capabilities(ctx context.Context, name string) capabilities {
	d := s.servers[name]
	return capabilities{
		Tools:     s.list(ctx, d, "tools"),
		Resources: s.list(ctx, d, "resources"),
		Prompts:   s.list(ctx, d, "prompts"),
	}
}

func (s *Server) list(ctx context.Context, d *mcpservers.Dispatcher, kind string) []json.RawMessage {
	msg := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"%s/list"}`, kind)
	var answer struct {
		Result map[string]json.RawMessage `json:"result"`
	}
	items := []json.RawMessage{}
	req := mcpservers.Request{ID: json.RawMessage("1"), Method: kind + "/list"}
	if json.Unmarshal(s.answer(ctx, d, s.freshSession(), req, json.RawMessage(msg)), &answer) == nil {
		_ = json.Unmarshal(answer.Result[kind], &items) // anything but a list stays empty
	}
	return items
}

func (s *Server) writeInfo(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		s.log.Error("answer cannot be encoded", "error", err)
		http.Error(w, "the answer cannot be encoded", http.StatusInternalServerError)
		return
	}
	writeJSON(w, status, body)
}
