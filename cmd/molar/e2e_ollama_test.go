package main

import (
	"bufio"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"molar/internal/testkit/ollamatest"
)

// The head of a prompt that did not change is not read again by a real Ollama: its time for
// the prompt of the next turn is a small part of that for a head that it has not seen.
// prompt_eval_count counts cached tokens too, so only the time shows it.
func TestServe_OllamaKeepsTheHead(t *testing.T) {
	if testing.Short() {
		t.Skip("a real model reads long prompts")
	}
	t.Parallel()
	model := ollamatest.Start(t)
	model.Model(t, "say", "{{ $say = `Twice a day.` }}")
	times := &promptTimes{}
	proxy := timesOf(t, model.URL, times)

	rule := strings.Repeat("Answer in one sentence and name what it rests on. ", 100)
	s := serveIn(t, map[string]string{"HOME": t.TempDir(), "OLLAMA_BASE_URL": proxy}, writeFile(t, "molar.yaml", `
llm: {provider: ollama, ollama: {model: say, small_model: say}}
memory: {summarize_threshold: 1000} # no summary comes between
assistants:
  first: {system_prompt: "Be brief. `+rule+`"}
  other: {system_prompt: "Be kind. `+rule+`"}
default: first
`))
	var next, fresh []time.Duration
	for range 2 {
		for i, assistant := range []string{"first", "first", "first", "other"} {
			into := &next
			if i%3 == 0 { // the model has read another head since
				into = &fresh
			}
			before := times.count()
			s.ask(t, assistant, "about-"+assistant, "How often should I brush?")
			*into = append(*into, times.since(t, before))
		}
	}
	t.Logf("prompt_eval_duration: head seen just before %v, another head before it %v", next, fresh)
	if a, b := least(next), least(fresh); a > b/2 {
		t.Errorf("the prompt of a next turn takes %v, that of another assistant's %v", a, b)
	}
}

func least(all []time.Duration) time.Duration {
	shortest := all[0]
	for _, d := range all {
		shortest = min(shortest, d)
	}
	return shortest
}

// promptTimes are the times that a model says it needed for its prompts.
type promptTimes struct {
	mu  sync.Mutex // guards all
	all []time.Duration
}

func (p *promptTimes) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.all)
}

func (p *promptTimes) since(t *testing.T, n int) (sum time.Duration) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.all) == n {
		t.Fatal("the model was not asked")
	}
	for _, d := range p.all[n:] {
		sum += d
	}
	return sum
}

// timesOf starts a proxy in front of a model that notes the times.
func timesOf(t *testing.T, model string, times *promptTimes) string {
	t.Helper()
	to, err := url.Parse(model)
	if err != nil {
		t.Fatal(err)
	}
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, FlushInterval: -1, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo),
		ModifyResponse: func(res *http.Response) error {
			if res.Request.URL.Path == "/api/chat" {
				res.Body = times.reader(res.Body)
			}
			return nil
		},
	}
	proxy := httptest.NewServer(forward)
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// reader notes the time in the last line of an answer.
func (p *promptTimes) reader(body io.ReadCloser) io.ReadCloser {
	out, in := io.Pipe()
	go func() {
		lines := bufio.NewReader(body)
		for {
			line, err := lines.ReadBytes('\n')
			var last struct {
				Done bool          `json:"done"`
				Took time.Duration `json:"prompt_eval_duration"`
			}
			if json.Unmarshal(line, &last) == nil && last.Done {
				p.mu.Lock()
				p.all = append(p.all, last.Took)
				p.mu.Unlock()
			}
			if _, failed := in.Write(line); failed != nil || err != nil {
				_ = in.CloseWithError(err)
				_ = body.Close()
				return
			}
		}
	}()
	return out
}
