package httpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"molar/mcpservers"
	"molar/schemas"
)

// maxBatch bounds the messages of one batch.
const maxBatch = 100

// serveJSONRPC answers one message or a batch. Every JSON-RPC answer has status 200, for results
// and errors; notifications alone get none.
func (s *Server) serveJSONRPC(w http.ResponseWriter, r *http.Request) {
	body, ok := readBody(w, r)
	if !ok {
		return
	}
	if !isBatch(body) {
		req, bad := mcpservers.Parse(body)
		if s.allow(w, r, req.ID, 1) {
			send(w, s.call(r.Context(), body, req, bad))
		}
		return
	}
	messages, bad := parseBatch(body)
	if !s.allow(w, r, nil, max(1, len(messages))) {
		return
	}
	if bad != nil {
		send(w, mcpservers.Fail(nil, bad))
		return
	}
	send(w, s.callAll(r.Context(), messages))
}

func send(w http.ResponseWriter, answer json.RawMessage) {
	if answer == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	writeJSON(w, http.StatusOK, answer)
}

func isBatch(body []byte) bool {
	body = bytes.TrimLeft(body, " \t\r\n")
	return len(body) > 0 && body[0] == '['
}

// parseBatch splits a batch; it does not check the messages.
func parseBatch(body []byte) ([]json.RawMessage, *mcpservers.RPCError) {
	if err := schemas.CheckJSON(body); err != nil {
		return nil, &mcpservers.RPCError{Code: mcpservers.CodeParse, Message: "Parse error: " + err.Error()}
	}
	var messages []json.RawMessage
	if err := json.Unmarshal(body, &messages); err != nil {
		return nil, &mcpservers.RPCError{Code: mcpservers.CodeParse, Message: "Parse error: " + err.Error()}
	}
	if len(messages) == 0 || len(messages) > maxBatch {
		return nil, &mcpservers.RPCError{
			Code:    mcpservers.CodeInvalidRequest,
			Message: fmt.Sprintf("Invalid request: a batch holds 1 to %d messages", maxBatch),
		}
	}
	return messages, nil
}

// callAll answers the messages of a batch one after the other, since a client may rely on an
// earlier message's effect. The answer is nil if all were notifications.
func (s *Server) callAll(ctx context.Context, messages []json.RawMessage) json.RawMessage {
	var answers [][]byte
	for _, msg := range messages {
		req, bad := mcpservers.Parse(msg)
		if answer := s.call(ctx, msg, req, bad); answer != nil {
			answers = append(answers, answer)
		}
	}
	if answers == nil {
		return nil
	}
	return slices.Concat([]byte("["), bytes.Join(answers, []byte(",")), []byte("]"))
}

// call answers one parsed message, whose method is "{server}/{method}".
func (s *Server) call(ctx context.Context, msg json.RawMessage, req mcpservers.Request, bad *mcpservers.RPCError) json.RawMessage {
	if bad != nil {
		return mcpservers.Fail(req.ID, bad)
	}
	if req.Reply {
		return nil
	}
	d, method, bad := s.route(req.Method)
	if bad != nil {
		if req.ID == nil {
			return nil
		}
		return mcpservers.Fail(req.ID, bad)
	}
	req.Method = method
	answer := s.answer(ctx, d, s.freshSession(), req, withMember(msg, "method", method))
	if method == string(mcp.MethodToolsCall) && answer != nil {
		return plainToolAnswer(req.ID, answer)
	}
	return answer
}

// route finds the server of a full method name. It rejects methods of a session.
func (s *Server) route(full string) (*mcpservers.Dispatcher, string, *mcpservers.RPCError) {
	name, method, _ := strings.Cut(full, "/")
	d, known := s.servers[name]
	if !known {
		return nil, "", &mcpservers.RPCError{
			Code: mcpservers.CodeMethodNotFound,
			Message: fmt.Sprintf("Method '%s' not found: server '%s' does not exist, use %s",
				full, name, strings.Join(s.names, "/... or ")+"/..."),
		}
	}
	offered := []string{"tools/list", "tools/call", "resources/list", "resources/read", "prompts/list", "prompts/get", "ping"}
	if !d.Owns(method) && !slices.Contains(offered, method) {
		return nil, "", &mcpservers.RPCError{
			Code:    mcpservers.CodeMethodNotFound,
			Message: fmt.Sprintf("Method '%s' not found on server '%s'", method, name),
		}
	}
	return d, method, nil
}

// plainToolAnswer reduces a tool's result to its text, and turns a failed tool into an error,
// because these clients read nothing else.
func plainToolAnswer(id, answer json.RawMessage) json.RawMessage {
	var got struct {
		Result *struct {
			Content json.RawMessage `json:"content"`
			IsError bool            `json:"isError"`
		} `json:"result"`
	}
	if json.Unmarshal(answer, &got) != nil || got.Result == nil {
		return answer // an error already
	}
	if got.Result.IsError {
		return mcpservers.Fail(id, &mcpservers.RPCError{
			Code: mcpservers.CodeToolFailed, Message: "Tool execution error: " + firstText(got.Result.Content),
		})
	}
	plain, err := json.Marshal(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}{"2.0", id, map[string]json.RawMessage{"content": got.Result.Content}})
	if err != nil {
		return answer
	}
	return plain
}

func firstText(content json.RawMessage) string {
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &parts) == nil {
		for _, p := range parts {
			if p.Text != "" {
				return p.Text
			}
		}
	}
	return "the tool gave no reason"
}
