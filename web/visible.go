package web

import (
	"net/http"
	"slices"

	"molar/internal/httpguard"
	"molar/schemas"
	"molar/web/turns"
)

// The lists of tools, servers and prompts show a client only what its groups allow. Operators see all:
// they answer for it.

// limits returns the rights that limit what the client of a request sees; nil for no limit.
func limits(r *http.Request) *schemas.Rights {
	who := httpguard.PrincipalOf(r.Context())
	if who.May(httpguard.ScopeAdmin) {
		return nil
	}
	return who.Rights
}

// toolsFor returns the tools that the client of a request may see.
func (s *server) toolsFor(r *http.Request) []schemas.Tool {
	rights := limits(r)
	if rights == nil {
		return s.Tools.Tools()
	}
	return slices.DeleteFunc(slices.Clone(s.Tools.Tools()), func(t schemas.Tool) bool { return !rights.Tool(t.ToolInfo) })
}

// serversFor returns the servers of which the client of a request may see a tool. Of them it sees no
// details, which are for operators.
func (s *server) serversFor(r *http.Request) []schemas.ServerStatus {
	all := s.Servers.Status()
	if limits(r) == nil {
		return slices.Clone(all)
	}
	tools := map[string]int{}
	for _, t := range s.toolsFor(r) {
		tools[t.Server]++
	}
	var seen []schemas.ServerStatus
	for _, status := range all {
		if n := tools[status.Name]; n > 0 {
			seen = append(seen, schemas.ServerStatus{Name: status.Name, State: status.State, Transport: status.Transport, Tools: n})
		}
	}
	return seen
}

// promptsFor returns the prompts of the servers that the client of a request may see.
func (s *server) promptsFor(r *http.Request) []schemas.Prompt {
	if s.Hints.Prompts == nil {
		return nil
	}
	prompts := s.Hints.Prompts(r.Context(), turns.CallerOf(httpguard.PrincipalOf(r.Context())), r.URL.Query().Get("assistant"))
	if limits(r) == nil {
		return prompts
	}
	servers := s.serversFor(r)
	return slices.DeleteFunc(slices.Clone(prompts), func(p schemas.Prompt) bool {
		return !slices.ContainsFunc(servers, func(status schemas.ServerStatus) bool { return status.Name == p.Server })
	})
}
