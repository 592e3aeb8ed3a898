package httpserver

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"molar/internal/httpguard"
	"molar/mcpservers"
)

// authenticate identifies the caller and rejects a missing key, or one without a scope for this
// port. It counts requests without a body; calls are counted where they are read.
func (s *Server) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/health" {
			next.ServeHTTP(w, r)
			return
		}
		who, refusal := s.keys.Identify(r)
		if refusal == nil {
			refusal = who.Need(httpguard.ScopeChat, httpguard.ScopeHost)
		}
		if refusal != nil {
			if s.allow(w, r, nil, 1) { // to limit guessing of keys
				refusal.Write(w, r)
			}
			return
		}
		r = r.WithContext(httpguard.WithPrincipal(r.Context(), who))
		if r.Method == http.MethodPost || s.allow(w, r, nil, 1) {
			next.ServeHTTP(w, r)
		}
	})
}

// isHost reports whether the principal may act for other owners.
func isHost(p httpguard.Principal) bool {
	return p.Key != "" && slices.Contains(p.Scopes, httpguard.ScopeHost)
}

// ownerOf returns the owner whose conversations a request without an owner sees: the key's, or ""
// for all if it is a host's or no key is needed.
func ownerOf(ctx context.Context) string {
	who := httpguard.PrincipalOf(ctx)
	if isHost(who) {
		return ""
	}
	return who.Owner
}

// owned returns the message with its owner, and that owner. Only a host may name one: from others
// a conversation id must mean their own conversation.
func owned(ctx context.Context, req mcpservers.Request, msg json.RawMessage) (json.RawMessage, string, *mcpservers.RPCError) {
	if httpguard.PrincipalOf(ctx).Key == "" {
		return msg, "", nil // without keys there are no owners
	}
	own := ownerOf(ctx)
	var params map[string]json.RawMessage
	if req.Params != nil && json.Unmarshal(req.Params, &params) != nil {
		return msg, own, nil // a list: the method rejects it
	}
	var named string
	if raw, ok := params["owner"]; ok && json.Unmarshal(raw, &named) != nil {
		return msg, own, nil // not a string: likewise
	}
	switch {
	case own == "":
		return msg, named, nil
	case named != "" && named != own:
		return nil, "", mcpservers.InvalidParams("owner is accepted only from a key with scope host; leave it out")
	case req.Method == "memory/claim_summaries", req.Method == "memory/erase":
		return nil, "", &mcpservers.RPCError{
			Code:    mcpservers.CodeInvalidRequest,
			Message: "Invalid request: " + req.Method + " wants a key with scope host: molar keys create NAME --scope host",
		}
	case !ownable(req.Method):
		return msg, own, nil
	}
	for name := range params {
		if name != "owner" && strings.EqualFold(name, "owner") { // together with ours it would be a duplicate key
			return nil, "", mcpservers.InvalidParams("unknown parameter %q", name)
		}
	}
	if params == nil {
		params = map[string]json.RawMessage{}
	}
	owner, err := json.Marshal(own)
	if err != nil {
		return nil, "", &mcpservers.RPCError{Code: mcpservers.CodeInternal, Message: "Internal server error: the owner cannot be encoded"}
	}
	params["owner"] = owner
	return withMember(msg, "params", params), own, nil
}

// ownable reports whether a method takes an owner.
func ownable(method string) bool {
	return strings.HasPrefix(method, "memory/") || strings.HasPrefix(method, "resources/") || method == "prompts/get"
}

// withMember returns a checked message with one member replaced.
func withMember(msg json.RawMessage, name string, v any) json.RawMessage {
	var fields map[string]json.RawMessage
	value, err := json.Marshal(v)
	if err != nil || json.Unmarshal(msg, &fields) != nil {
		return msg
	}
	fields[name] = value
	changed, err := json.Marshal(fields)
	if err != nil {
		return msg
	}
	return changed
}
