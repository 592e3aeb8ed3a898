package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"molar/eval/tape"
)

// listen serves a handler on a free port until the process ends.
func listen(ctx context.Context, h http.Handler) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = srv.Serve(l) }()
	return "http://" + l.Addr().String(), nil
}

type object = map[string]any

// ServeHTTP answers in the wire of the request. Requests other than model calls are answered
// like Ollama and OpenAI.
func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	provider, name := tape.WireOf(r.URL.Path)
	if r.URL.Path == "/v1/models" {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"gpt-4.1-mini","object":"model"},{"id":"gpt-4.1-nano","object":"model"}]}`)
		return
	}
	if provider == "" {
		m.ollama.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if name == "" {
		var in struct {
			Model string `json:"model"`
		}
		_ = json.Unmarshal(body, &in) // without a model the name is empty
		name = in.Model
	}
	s := m.reply(string(body) + small(name))
	if s.Status != 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(s.Status)
		_, _ = w.Write(tape.Refusal(s.Status, "The service failed."))
		return
	}
	stream := s.answer().Stream(provider, name)
	w.Header().Set("Content-Type", stream.ContentType)
	for _, chunk := range stream.Chunks {
		_, _ = w.Write(chunk)
		_ = http.NewResponseController(w).Flush()
	}
}

// small returns smallModel if the name is that of a provider's small model.
func small(name string) string {
	if strings.Contains(name, "lite") || strings.Contains(name, "nano") {
		return smallModel
	}
	return ""
}
