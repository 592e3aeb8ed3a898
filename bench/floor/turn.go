package floor

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// Turn runs one turn: tool pass, the calls one after the other, streamed text pass.
func Turn(ctx context.Context, model *Model, tools *Tools, history []Message, each func(text string) error) error {
	answer, err := model.Ask(ctx, history, tools.Offer)
	if err != nil {
		return err
	}
	if len(answer.ToolCalls) == 0 {
		return each(answer.Content)
	}
	history = append(history, answer)
	for _, call := range answer.ToolCalls {
		output, err := tools.Call(ctx, call)
		if err != nil {
			return err
		}
		history = append(history, Message{Role: "tool", Content: output, ToolName: call.Function.Name})
	}
	return model.Stream(ctx, history, each)
}

// A Config is what a handler connects to.
type Config struct {
	// ModelURL is the base URL of an Ollama-wire server, Model the name asked for.
	ModelURL, Model string
	// MCPURL is a streamable HTTP endpoint.
	MCPURL string
}

// Handler connects to the tool server and returns a handler for
// POST /v1/chat/completions that always streams.
func Handler(ctx context.Context, cfg Config) (http.Handler, error) {
	client := NewClient()
	tools, err := ConnectHTTP(ctx, client, cfg.MCPURL)
	if err != nil {
		return nil, err
	}
	h := &handler{model: &Model{URL: cfg.ModelURL, Name: cfg.Model, Client: client}, tools: tools}
	mux := http.NewServeMux()
	mux.Handle("POST /v1/chat/completions", h)
	return mux, nil
}

type handler struct {
	model *Model
	tools *Tools
	turns atomic.Int64
}

type delta struct {
	Role    string `json:"role,omitempty"`
	Content string `json:"content,omitempty"`
}

type choice struct {
	Index        int     `json:"index"`
	Delta        delta   `json:"delta"`
	FinishReason *string `json:"finish_reason"`
}

type chunk struct {
	ID      string    `json:"id"`
	Object  string    `json:"object"`
	Created int64     `json:"created"`
	Model   string    `json:"model"`
	Choices [1]choice `json:"choices"`
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Model    string    `json:"model"`
		Messages []Message `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	head := chunk{
		ID: "chatcmpl-" + strconv.FormatInt(h.turns.Add(1), 10), Object: "chat.completion.chunk",
		Created: time.Now().Unix(), Model: in.Model,
	}
	flush := http.NewResponseController(w)
	started := false
	send := func(c choice) error {
		if !started {
			started = true
			w.Header().Set("Content-Type", "text/event-stream")
			c.Delta.Role = "assistant"
		}
		event := head
		event.Choices[0] = c
		encoded, err := json.Marshal(event)
		if err != nil {
			return err
		}
		line := append(append([]byte("data: "), encoded...), "\n\n"...)
		if _, err := w.Write(line); err != nil {
			return err
		}
		return flush.Flush()
	}
	err := Turn(r.Context(), h.model, h.tools, in.Messages, func(text string) error {
		return send(choice{Delta: delta{Content: text}})
	})
	if err != nil {
		if !started {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		panic(http.ErrAbortHandler) // a broken answer must not look finished
	}
	if send(choice{FinishReason: new("stop")}) == nil {
		_, _ = w.Write([]byte("data: [DONE]\n\n"))
	}
}
