package models

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

type ollamaDetails struct {
	Format   string   `json:"format"`
	Family   string   `json:"family"`
	Families []string `json:"families"`
}

type ollamaModel struct {
	Name          string        `json:"name"`
	Model         string        `json:"model"`
	ModifiedAt    *time.Time    `json:"modified_at,omitempty"`
	Size          int64         `json:"size"`
	Digest        string        `json:"digest"`
	Details       ollamaDetails `json:"details"`
	ExpiresAt     *time.Time    `json:"expires_at,omitempty"`
	ContextLength int           `json:"context_length,omitempty"`
}

func describeOllama(name string) ollamaModel {
	return ollamaModel{
		Name: name, Model: name, Size: 4_683_087_332, Digest: strings.Repeat("ab", 32),
		Details: ollamaDetails{Format: "gguf", Family: "qwen2", Families: []string{"qwen2"}},
	}
}

// ollamaTags lists the models, newest first as Ollama does: the first configured one counts as
// newest.
func (s *Server) ollamaTags(w http.ResponseWriter, _ *http.Request) {
	models := []ollamaModel{}
	for i, name := range s.cfg.Models {
		m := describeOllama(name)
		m.ModifiedAt = new(s.started.Add(-time.Duration(i+1) * time.Hour))
		models = append(models, m)
	}
	writeJSON(w, map[string]any{"models": models})
}

func (s *Server) ollamaLoaded(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	loaded := slices.Clone(s.loaded)
	s.mu.Unlock()
	models := []ollamaModel{}
	for _, name := range loaded {
		m := describeOllama(name)
		m.ExpiresAt, m.ContextLength = new(time.Now().Add(5*time.Minute)), s.cfg.ContextLength
		models = append(models, m)
	}
	writeJSON(w, map[string]any{"models": models})
}

func (s *Server) ollamaShow(w http.ResponseWriter, r *http.Request) {
	var in struct{ Model, Name string }
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&in); err != nil {
		ollamaError(w, http.StatusBadRequest, err.Error())
		return
	}
	name := in.Model + in.Name
	if s.findModel(name) == "" {
		ollamaError(w, http.StatusNotFound, fmt.Sprintf("model '%s' not found", name))
		return
	}
	writeJSON(w, map[string]any{
		"template": "{{ if .Tools }}{{ .Tools }}{{ end }}{{ .Prompt }}",
		"details":  describeOllama(name).Details,
		"model_info": map[string]any{
			"general.architecture": "qwen2",
			"qwen2.context_length": s.cfg.ContextLength,
		},
		"capabilities": s.cfg.Capabilities,
		"modified_at":  s.started,
	})
}

// findModel returns the served name; a name without a tag means ":latest".
func (s *Server) findModel(name string) string {
	for _, m := range s.cfg.Models {
		if m == name || m == name+":latest" || m+":latest" == name {
			return m
		}
	}
	return ""
}
