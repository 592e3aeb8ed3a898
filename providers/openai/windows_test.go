package openai_test

import (
	"net/http"
	"testing"

	"molar/providers/openai"
)

// The window of a model is the configured one, else as servers report it; a server that reports none
// is asked once.
func TestWindow_reported(t *testing.T) {
	answers := func(models, props string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/v1/models" && models != "":
				_, _ = w.Write([]byte(models))
			case r.URL.Path == "/props" && props != "":
				_, _ = w.Write([]byte(props))
			default:
				w.WriteHeader(http.StatusNotFound)
			}
		}
	}
	for name, tt := range map[string]struct {
		models, props string
		configured    int
		want          int
		asked         int // requests for two questions
	}{
		"configured": {models: `{"data":[{"id":"m","max_model_len":8192}]}`, configured: 4096, want: 4096},
		"vLLM":       {models: `{"data":[{"id":"other","max_model_len":1},{"id":"m","max_model_len":8192}]}`, want: 8192, asked: 1},
		"OpenRouter": {models: `{"data":[{"id":"m","context_length":131072}]}`, want: 131_072, asked: 1},
		"LM Studio":  {models: `{"data":[{"id":"m","max_context_length":32768,"loaded_context_length":4096}]}`, want: 4096, asked: 1},
		"Groq":       {models: `{"data":[{"id":"m","context_window":131072}]}`, want: 131_072, asked: 1},
		"llama.cpp":  {models: `{"data":[{"id":"m","owned_by":"llamacpp","meta":{"n_ctx_train":131072}}]}`, props: `{"default_generation_settings":{"n_ctx":8192}}`, want: 8192, asked: 2},
		"no list":    {asked: 1},
		"none":       {models: `{"data":[{"id":"m"}]}`, asked: 1},
		"odd":        {models: `{"data":[{"id":"m","owned_by":"llamacpp","max_model_len":-1}]}`, props: `[]`, asked: 2},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t, answers(tt.models, tt.props))
			p, err := openai.New(openai.Config{BaseURL: f.url, Window: tt.configured})
			if err != nil {
				t.Fatal(err)
			}
			first, second := p.Window(t.Context(), "m"), p.Window(t.Context(), "m")
			if first != tt.want || second != tt.want || len(f.requests()) != tt.asked {
				t.Errorf("%d, then %d, with %d requests, want %d", first, second, len(f.requests()), tt.want)
			}
		})
	}
}
