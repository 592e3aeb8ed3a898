package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"molar/providers/wire"
	"molar/schemas"
)

// windows holds the context windows that the service reports, in tokens. It is safe for concurrent
// use.
type windows struct {
	// configured beats what is reported, unless it is 0.
	configured int

	mu sync.Mutex
	// reported are the windows by model.
	reported map[string]int
	// silent are the models for which the service answered without a window.
	silent map[string]bool
	// properties is set if the server is llama.cpp's, which has its window in its properties.
	properties bool
	// next is when the service may be asked again.
	next time.Time
}

// report records what the service said of a model's window.
func (w *windows) report(model string, tokens int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if tokens <= 0 {
		return
	}
	if w.reported == nil {
		w.reported = make(map[string]int)
	}
	w.reported[model] = tokens
}

// served records the owner of a model in a list.
func (w *windows) served(owner string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.properties = w.properties || owner == "llamacpp"
}

// inProperties reports whether the server has its window in its properties.
func (w *windows) inProperties() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.properties
}

// of returns the window of a model, 0 if it is not known; ask is set if the service should be asked
// for it, which no other call does for a while.
func (w *windows) of(model string) (tokens int, ask bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	tokens = w.reported[model]
	if tokens > 0 || w.silent[model] || time.Now().Before(w.next) {
		return tokens, false
	}
	w.next = time.Now().Add(windowAgain)
	return 0, true
}

// answered records that the service was asked for the window of a model, and returns it.
func (w *windows) answered(model string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next = time.Time{}
	if w.reported[model] == 0 {
		if w.silent == nil {
			w.silent = make(map[string]bool)
		}
		w.silent[model] = true
	}
	return w.reported[model]
}

const (
	// windowTime bounds the questions for a model's window, and windowAgain is the time between two
	// of them while the service does not answer.
	windowTime  = 2 * time.Second
	windowAgain = time.Minute
)

// Window returns the model's window as configured, else as the service reports it in its list of models
// or, for llama.cpp, in its properties; 0 if it reports none. OpenAI's own service reports none and
// is not asked.
func (p *Provider) Window(ctx context.Context, model string) int {
	if p.windows.configured > 0 || p.original {
		return p.windows.configured
	}
	tokens, ask := p.windows.of(model)
	if !ask {
		return tokens
	}
	ctx, cancel := context.WithTimeout(ctx, windowTime)
	defer cancel()
	if _, err := p.Models(ctx); err != nil && noList(err) == nil {
		return 0
	}
	if p.windows.inProperties() {
		p.windows.report(model, p.servedWindow(ctx))
	}
	return p.windows.answered(model)
}

// A reportedWindow is the window of a model in the lists of several servers.
type reportedWindow struct {
	// MaxModelLen is vLLM's and SGLang's.
	MaxModelLen int `json:"max_model_len"`
	// ContextLength is OpenRouter's and Together's, MaxContextLength and LoadedContextLength are LM
	// Studio's, ContextWindow is Groq's.
	ContextLength       int `json:"context_length"`
	LoadedContextLength int `json:"loaded_context_length"`
	MaxContextLength    int `json:"max_context_length"`
	ContextWindow       int `json:"context_window"`
}

func (w reportedWindow) tokens() int {
	return cmp.Or(w.MaxModelLen, w.LoadedContextLength, w.ContextLength, w.ContextWindow, w.MaxContextLength)
}

// servedWindow returns the window of llama.cpp's server, which serves one model; 0 for any other
// server. Its list of models only has the window that the model was trained with.
func (p *Provider) servedWindow(ctx context.Context) int {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.props, nil)
	if err != nil {
		return 0
	}
	resp, err := p.do(req, schemas.RevealAll(p.tuning.Headers))
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0
	}
	var props struct {
		Defaults struct {
			Context int `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	data, err := wire.All(resp.Body)
	if err != nil || json.Unmarshal(data, &props) != nil {
		return 0
	}
	return props.Defaults.Context
}
