package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"
)

// routeOllama adds the routes of github.com/ollama/ollama 0.17.
func (s *Server) routeOllama() {
	s.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "Ollama is running")
	})
	s.mux.HandleFunc("GET /api/version", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]string{"version": "0.17.4"})
	})
	s.mux.HandleFunc("GET /api/tags", s.ollamaTags)
	s.mux.HandleFunc("GET /api/ps", s.ollamaLoaded)
	s.mux.HandleFunc("POST /api/show", s.ollamaShow)
	s.mux.HandleFunc("POST /api/chat", s.ollamaChat)
}

// ollamaRequest is the part of a chat request that the script uses.
type ollamaRequest struct {
	Model    string `json:"model"`
	Stream   *bool  `json:"stream"`
	Messages []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
	Format  json.RawMessage `json:"format"`
	Options struct {
		NumPredict int `json:"num_predict"`
	} `json:"options"`
}

func (in ollamaRequest) request(body []byte) Request {
	r := Request{
		Wire: "ollama", Model: in.Model, Stream: in.Stream == nil || *in.Stream, Body: string(body),
		MaxTokens: in.Options.NumPredict, Start: time.Now(),
		Format: len(in.Format) > 0 && string(in.Format) != "null" && string(in.Format) != `""`,
	}
	for _, t := range in.Tools {
		r.Tools = append(r.Tools, t.Function.Name)
	}
	for _, m := range in.Messages {
		r.Roles = append(r.Roles, m.Role)
		if m.Role == "user" {
			r.LastUser = m.Content
			if tag := tagOf(m.Content); tag != "" {
				r.Tag = tag
			}
		}
	}
	r.Pass = passOf(r)
	return r
}

func (s *Server) ollamaChat(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 32<<20))
	if err != nil {
		ollamaError(w, http.StatusBadRequest, err.Error())
		return
	}
	var in ollamaRequest
	if err := json.Unmarshal(body, &in); err != nil {
		ollamaError(w, http.StatusBadRequest, err.Error())
		return
	}
	req := in.request(body)
	entry := s.record.begin(req)
	cancelled := true // still true if the handler is aborted
	defer func() { s.record.end(entry, cancelled) }()

	if s.refuseOllama(w, req) {
		cancelled = false
		return
	}
	release, err := s.acquire(r.Context())
	if err != nil {
		return
	}
	defer release()
	s.markLoaded(in.Model)
	reply := s.reply(req)
	err = s.play(r.Context(), reply, &ollamaAnswer{
		w: w, rc: http.NewResponseController(w), model: in.Model, started: req.Start,
		stream: req.Stream, first: func() { s.record.first(entry) },
	})
	cancelled = err != nil && !errors.Is(err, errCut)
	if errors.Is(err, errCut) && reply.Abort {
		panic(http.ErrAbortHandler) // drops the connection, like a crashing server
	}
}

func (s *Server) refuseOllama(w http.ResponseWriter, req Request) bool {
	switch {
	case req.Model == "":
		ollamaError(w, http.StatusBadRequest, "model is required")
	case s.findModel(req.Model) == "":
		ollamaError(w, http.StatusNotFound, fmt.Sprintf("model '%s' not found", req.Model))
	case len(req.Tools) > 0 && !slices.Contains(s.cfg.Capabilities, "tools"):
		ollamaError(w, http.StatusBadRequest, req.Model+" does not support tools")
	default:
		return false
	}
	return true
}

func ollamaError(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": message})
}
