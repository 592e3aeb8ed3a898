package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"molar/agent"
	"molar/eval"
	"molar/eval/tape"
	"molar/internal/config"
	"molar/providers/chain"
)

// openRecorder creates a tape and returns its recorder. done closes the file and says
// what went wrong with it.
func openRecorder(file, caseID string, cfg *config.Config, provider, model string) (rec *tape.Recorder, done func() error, err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return nil, nil, &exitError{exitUsage, fmt.Errorf("--record: %w", err)}
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		if errors.Is(err, os.ErrExist) {
			err = fmt.Errorf("%s exists; a tape is never overwritten: remove it or choose another name", file)
		}
		return nil, nil, &exitError{exitUsage, fmt.Errorf("record: %w", err)}
	}
	header, err := recordHeader(cfg, provider, model)
	if err == nil {
		header.Case = caseID
		rec, err = tape.NewRecorder(tape.RecorderConfig{To: f, Header: header, Redactor: redactorOf(cfg), Skip: []string{memoryServer}})
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close(), os.Remove(file))
	}
	return rec, func() error { return errors.Join(rec.Err(), f.Close()) }, nil
}

// redactorOf knows the secrets of a config.
func redactorOf(cfg *config.Config) *tape.Redactor {
	secrets := []string{cfg.LLM.GeminiKey.Reveal(), cfg.LLM.OpenAIKey.Reveal()}
	for _, s := range cfg.MCPServers {
		for _, v := range s.Value.Headers {
			secrets = append(secrets, v.Reveal(), strings.TrimPrefix(v.Reveal(), "Bearer "))
		}
		for _, v := range s.Value.Env {
			secrets = append(secrets, v.Reveal())
		}
	}
	return tape.NewRedactor(secrets...)
}

// recordHeader asks the chain which provider a turn would take.
func recordHeader(cfg *config.Config, provider, model string) (tape.Header, error) {
	models, err := openModels(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return tape.Header{}, err
	}
	if provider == "" && model == "" {
		assistant, _ := cfg.Assistants.Get(cfg.Default)
		provider, model = assistant.Provider, assistant.Model
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	route, err := models.Pick(ctx, chain.Want{Provider: provider, Model: model})
	if err != nil {
		return tape.Header{}, err
	}
	h := tape.Header{
		TapeID: uuid.NewString(), Host: hostVersion(), Recorded: time.Now().UTC().Format(time.RFC3339),
		Provider: route.Provider.Name(), Model: route.Model, Small: route.SmallModel,
	}
	switch h.Provider {
	case "gemini":
		h.BaseURL = cfg.LLM.Gemini.BaseURL
	case "openai":
		h.BaseURL = cfg.LLM.OpenAI.BaseURL
	case "ollama":
		h.BaseURL = cfg.LLM.Ollama.BaseURL
	}
	h.BaseURL = withoutUser(h.BaseURL)
	return h, nil
}

// answer runs a turn, in sight of the recorder if there is one.
func (a observedAgent) answer(ctx context.Context, t agent.Turn) iter.Seq2[agent.Event, error] {
	if a.rec == nil {
		return a.Agent.Run(ctx, t)
	}
	return a.rec.Turn(ctx, t, a.Agent.Run)
}

// record starts the recording of --record; without the flag there are no edges.
func record(file string, cfg *config.Config, provider, model string) (eval.Edges, func() error, error) {
	if file == "" {
		return nil, func() error { return nil }, nil
	}
	rec, done, err := openRecorder(file, "", cfg, provider, model)
	if err != nil {
		return nil, nil, err
	}
	return rec, done, nil
}

// withoutUser takes user, password and query out of an address.
func withoutUser(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

var _ eval.Edges = (*tape.Recorder)(nil)
