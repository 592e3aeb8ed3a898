package main

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// A message is one of a chat, as far as the turn needs it.
type message struct {
	Role       string `json:"role"`
	Content    string `json:"content"`
	ToolCallID string `json:"tool_call_id,omitempty"`
	ToolCalls  []call `json:"tool_calls,omitempty"`
}

type call struct {
	Index    int      `json:"index"`
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// A chunk is one event of a stream.
type chunk struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
}

type choice struct {
	Index        int     `json:"index"`
	Delta        message `json:"delta"`
	FinishReason *string `json:"finish_reason"`
}

// chatHandler streams a peer's answers as chat completions.
func chatHandler(p peer) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			Messages []message `json:"messages"`
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || len(req.Messages) == 0 {
			http.Error(w, "want messages", http.StatusBadRequest)
			return
		}
		out := newEvents(w)
		err := p(r.Context(), req.Messages[len(req.Messages)-1].Content, func(text string) error {
			return out.send(message{Role: "assistant", Content: text}, "")
		})
		if err != nil {
			_, _ = fmt.Fprintf(w, "data: {\"error\":{\"message\":%q}}\n\n", err.Error())
			return
		}
		out.end("stop")
	})
	return mux
}

// events writes a stream of chunks.
type events struct {
	w     http.ResponseWriter
	flush http.Flusher
}

func newEvents(w http.ResponseWriter) *events {
	w.Header().Set("Content-Type", "text/event-stream")
	return &events{w: w, flush: w.(http.Flusher)}
}

func (e *events) send(delta message, finish string) error {
	c := choice{Delta: delta}
	if finish != "" {
		c.FinishReason = &finish
	}
	data, err := json.Marshal(chunk{ID: "c1", Object: "chat.completion.chunk", Created: 1, Model: modelName, Choices: []choice{c}})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(e.w, "data: %s\n\n", data); err != nil {
		return err
	}
	e.flush.Flush()
	return nil
}

func (e *events) end(finish string) {
	if e.send(message{}, finish) == nil {
		_, _ = fmt.Fprint(e.w, "data: [DONE]\n\n")
		e.flush.Flush()
	}
}
