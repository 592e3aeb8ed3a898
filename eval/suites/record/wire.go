package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
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

// events writes server-sent events, each flushed.
func events(w http.ResponseWriter, end string, list ...any) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range list {
		data, ok := e.(string)
		if !ok {
			encoded, err := json.Marshal(e)
			if err != nil {
				return
			}
			data = string(encoded)
		}
		_, _ = io.WriteString(w, "data: "+data+end+end)
		_ = http.NewResponseController(w).Flush()
	}
}

func refuse(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

type object = map[string]any

// gemini answers streamGenerateContent.
func (m *model) gemini(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	name := strings.TrimSuffix(r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:], ":streamGenerateContent")
	s := m.reply(string(body) + small(name))
	if s.Status != 0 {
		refuse(w, s.Status, fmt.Sprintf(`{"error":{"code":%d,"message":"The service failed.","status":"INTERNAL"}}`, s.Status))
		return
	}
	event := func(finish string, parts ...any) object {
		candidate := object{"content": object{"role": "model", "parts": parts}, "index": 0}
		e := object{"candidates": []any{candidate}, "modelVersion": name, "responseId": "scripted"}
		if finish != "" {
			candidate["finishReason"] = finish
			e["usageMetadata"] = object{"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}
		}
		return e
	}
	var list []any
	for _, word := range words(s.Text) {
		list = append(list, event("", object{"text": word}))
	}
	var calls []any
	for i, c := range s.Calls {
		part := object{"functionCall": object{"name": c.Name, "args": c.arguments()}}
		if i == 0 { // the first call of a step carries the signature
			part["thoughtSignature"] = "c2NyaXB0ZWQ="
		}
		calls = append(calls, part)
	}
	if len(calls) > 0 {
		list = append(list, event("", calls...))
	}
	events(w, "\r\n", append(list, event("STOP", object{"text": ""}))...)
}

// small marks a request of a small model, whatever the service calls it.
func small(name string) string {
	if strings.Contains(name, "lite") || strings.Contains(name, "nano") {
		return smallModel
	}
	return ""
}

// openai answers chat/completions.
func (m *model) openai(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var in struct {
		Model string `json:"model"`
	}
	if json.Unmarshal(body, &in) != nil {
		refuse(w, http.StatusBadRequest, `{"error":{"message":"no JSON"}}`)
		return
	}
	s := m.reply(string(body) + small(in.Model))
	if s.Status != 0 {
		refuse(w, s.Status, `{"error":{"message":"The service failed.","type":"server_error"}}`)
		return
	}
	chunk := func(delta object, finish any) object {
		return object{
			"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 1, "model": in.Model,
			"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}},
		}
	}
	list := []any{chunk(object{"role": "assistant", "content": ""}, nil)}
	for _, word := range words(s.Text) {
		list = append(list, chunk(object{"content": word}, nil))
	}
	reason := "stop"
	for i, c := range s.Calls {
		reason = "tool_calls"
		list = append(list, chunk(object{"tool_calls": []any{object{
			"index": i, "id": fmt.Sprintf("call_%d", i), "type": "function", "function": object{"name": c.Name, "arguments": ""},
		}}}, nil))
		for _, piece := range halves(string(c.arguments())) {
			list = append(list, chunk(object{"tool_calls": []any{object{"index": i, "function": object{"arguments": piece}}}}, nil))
		}
	}
	list = append(list, chunk(object{}, reason), object{
		"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 1, "model": in.Model, "choices": []any{},
		"usage": object{"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
	}, "[DONE]")
	events(w, "\n", list...)
}

func words(text string) []string {
	if text == "" {
		return nil
	}
	return strings.SplitAfter(text, " ")
}

// halves cuts arguments in two, as a service that streams them does.
func halves(s string) []string {
	if len(s) < 8 {
		return []string{s}
	}
	return []string{s[:len(s)/2], s[len(s)/2:]}
}
