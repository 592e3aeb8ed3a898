package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// modelHandler is a model that calls the tool once and then answers in so many tokens.
func modelHandler(tokens int) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"object":"list","data":[{"id":%q,"object":"model"}]}`, modelName)
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			Stream   bool `json:"stream"`
			Messages []struct {
				Role string `json:"role"`
			} `json:"messages"`
			Tools []struct {
				Function struct {
					Name string `json:"name"`
				} `json:"function"`
			} `json:"tools"`
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		tool := ""
		for _, t := range req.Tools {
			if strings.HasSuffix(t.Function.Name, toolName) {
				tool = t.Function.Name
			}
		}
		last := req.Messages[len(req.Messages)-1].Role
		answer := message{Role: "assistant"}
		if tool != "" && last != "tool" {
			answer.ToolCalls = []call{{ID: "call_1", Type: "function", Function: function{tool, `{"family_id":"1a955fff"}`}}}
		}
		if !req.Stream {
			whole(w, answer, tokens)
			return
		}
		out := newEvents(w)
		if len(answer.ToolCalls) > 0 {
			_ = out.send(answer, "")
			out.end("tool_calls")
			return
		}
		for i := range tokens {
			if out.send(message{Role: "assistant", Content: fmt.Sprintf("token%d ", i)}, "") != nil {
				return
			}
		}
		out.end("stop")
	})
	return mux
}

// whole answers a request that wants no stream.
func whole(w http.ResponseWriter, answer message, tokens int) {
	finish := "tool_calls"
	if len(answer.ToolCalls) == 0 {
		finish = "stop"
		for i := range tokens {
			answer.Content += fmt.Sprintf("token%d ", i)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"id": "c1", "object": "chat.completion", "created": 1, "model": modelName,
		"choices": []any{map[string]any{"index": 0, "message": answer, "finish_reason": finish}},
		"usage":   map[string]int{"prompt_tokens": 100, "completion_tokens": tokens, "total_tokens": 100 + tokens},
	})
}
