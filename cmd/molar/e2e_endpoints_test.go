package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// An endpoint is a server with OpenAI's API that keeps what it was asked.
type endpoint struct {
	*httptest.Server
	mu     sync.Mutex
	models []string
	keys   []string
}

// newEndpoint serves models that answer text, or the JSON of a verdict where one is asked for, and count
// 1,000 tokens in and 100 out. Without a text it is overloaded for long. more is added to the usage.
func newEndpoint(t *testing.T, text, more string) *endpoint {
	t.Helper()
	e := &endpoint{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Model  string
			Format json.RawMessage `json:"response_format"`
		}
		_ = json.NewDecoder(r.Body).Decode(&q)
		e.mu.Lock()
		e.keys = append(e.keys, r.Header.Get("Authorization"))
		if r.Method == http.MethodPost {
			e.models = append(e.models, q.Model)
		}
		e.mu.Unlock()
		switch {
		case r.Method == http.MethodGet:
			_, _ = io.WriteString(w, `{"data":[{"id":"big"},{"id":"small"}]}`)
		case text == "":
			w.Header().Set("Retry-After", "3600")
			http.Error(w, `{"error":{"message":"overloaded"}}`, http.StatusServiceUnavailable)
		default:
			answer := text
			if len(q.Format) > 0 {
				answer = `{"verdict":"YES","language":"en"}`
			}
			quoted, _ := json.Marshal(answer)
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],"+
				"\"usage\":{\"prompt_tokens\":1000,\"completion_tokens\":100,\"total_tokens\":1100%s}}\n\ndata: [DONE]\n\n", quoted, more)
		}
	}))
	t.Cleanup(e.Close)
	return e
}

// asked returns the models of its calls, and the keys of all its requests.
func (e *endpoint) asked() (models, keys []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.models), slices.Compact(slices.Sorted(slices.Values(e.keys)))
}

// A whole turn over three named endpoints: the first is down, the second answers, and the third judges. Each
// gets its own key, and the turn costs what both cost.
func TestServe_Endpoints(t *testing.T) {
	t.Parallel()
	down, main, judge := newEndpoint(t, "", ""), newEndpoint(t, "Once a week.", `,"cost":0.25`), newEndpoint(t, "About watering.", "")
	config := writeFile(t, "molar.yaml", fmt.Sprintf(`
default: garden
llm:
  provider: [first, second]
  small: judge
  providers:
    first: {api: openai, base_url: "%s/v1", key: "${FIRST}", model: big}
    second: {api: openai, base_url: "%s/v1", key: "${SECOND}", model: big}
    judge: {api: openai, base_url: "%s/v1", small_model: small, small_price: {input: 1, output: 10}}
    spare: {api: openai}
assistants:
  garden: {topic: garden, description: Gardening}
topics:
  garden: {description: {en: gardening, vi: làm vườn}, phrases: [tulips]}
memory: {store: ./molar.db}
`, down.URL, main.URL, judge.URL))
	env := homeEnv(t, nil)
	env["FIRST"], env["SECOND"], env["OPENAI_API_KEY"] = "key-one", "key-two", "key-of-openai"
	s := serveIn(t, env, config)

	status, body := s.do(t, http.MethodPost, "/v1/chat/completions", `{"model":"garden","messages":[{"role":"user","content":"How often do they want something to drink?"}]}`)
	var got struct {
		Choices []struct{ Message struct{ Content string } }
		Usage   struct{ Cost json.Number }
		Molar   struct {
			TurnID   string `json:"turn_id"`
			Provider string
			Warnings []string
			Usage    struct{ Cost json.Number }
		}
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || status != http.StatusOK {
		t.Fatalf("%d, %v: %s", status, err, body)
	}
	if got.Choices[0].Message.Content != "Once a week." || got.Molar.Provider != "second" || len(got.Molar.Warnings) != 1 || !strings.Contains(got.Molar.Warnings[0], "second answers instead: first model big") {
		t.Errorf("%s", body)
	}
	// The second's own report, and 0.002 for the judge.
	if got.Usage.Cost != "0.252" || got.Molar.Usage.Cost != "0.252" {
		t.Errorf("cost %s and %s, want 0.252", got.Usage.Cost, got.Molar.Usage.Cost)
	}
	for name, want := range map[string]struct {
		at          *endpoint
		model, keys string
	}{
		"first": {down, "big", "Bearer key-one"}, "second": {main, "big", "Bearer key-two"}, "judge": {judge, "small", ""},
	} {
		models, keys := want.at.asked()
		if len(models) == 0 || slices.ContainsFunc(models, func(m string) bool { return m != want.model }) || !slices.Equal(keys, []string{want.keys}) {
			t.Errorf("%s was asked for %v with %q", name, models, keys)
		}
	}

	eventually(t, "the trace is there", func() bool {
		status, body = s.do(t, http.MethodGet, "/v1/turns/"+got.Molar.TurnID, "")
		return status == http.StatusOK && strings.Contains(body, `"passes"`)
	})
	for _, want := range []string{`"provider":"judge"`, `"cost":0.002`, `"cost":0.25,`, `"cost":0.252`} {
		if !strings.Contains(strings.ReplaceAll(body, "}", ","), want) {
			t.Errorf("the trace has no %s:\n%s", want, body)
		}
	}
	var shown strings.Builder
	if code := execute(t.Context(), []string{"turns", "show", got.Molar.TurnID, "--config", config}, lookup(env), strings.NewReader(""), &shown, &shown); code != 0 ||
		!strings.Contains(shown.String(), "used 2000 tokens in, 200 out, cost 0.252\n") || !strings.Contains(shown.String(), "small of judge: 1000 tokens in, 100 out, cost 0.002\n") {
		t.Errorf("turns show: %d: %s", code, &shown)
	}
	_, body = s.do(t, http.MethodGet, "/metrics", "")
	for _, want := range []string{`molar_cost_total{model="big",provider="second"} 0.25`, `molar_cost_total{model="small",provider="judge"} 0.00`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(body, `molar_cost_total{model="big",provider="first"}`) {
		t.Error("a call without a price has a cost")
	}
	for path, want := range map[string]string{
		"/v1/models":    `"molar":{"providers":["first","second"]}`,
		"/v1/providers": `{"name":"spare","api":"openai","setting":"llm.providers.spare","key_setting":"llm.providers.spare.key","ready":false,"missing":"set llm.providers.spare.key"}`,
		"/v1/config":    `"llm.providers.second.base_url"`,
	} {
		if _, body := s.do(t, http.MethodGet, path, ""); !strings.Contains(body, want) {
			t.Errorf("%s has no %s:\n%s", path, want, body)
		}
	}
	if status, body := s.do(t, http.MethodPost, "/v1/providers/second/test", "{}"); status != http.StatusOK || !strings.Contains(body, `"ok":true`) || !strings.Contains(body, `"models":["big","small"]`) {
		t.Errorf("%d: %s", status, body)
	}
	_, found := molarIn(t, env, "doctor", "--config", config)
	for _, want := range []string{"first is ready with big", "judge is ready with big"} {
		if other := strings.Replace(want, "first", "second", 1); !strings.Contains(found, want) && !strings.Contains(found, other) {
			t.Errorf("the doctor says nothing of %q:\n%s", want, found)
		}
	}
	// A request may name one, too.
	status, body = s.do(t, http.MethodPost, "/v1/chat/completions", `{"model":"garden","molar":{"provider":"judge","model":"big"},"messages":[{"role":"user","content":"And my tulips?"}]}`)
	if status != http.StatusOK || !strings.Contains(body, "About watering.") {
		t.Errorf("%d: %s", status, body)
	}
}

// A service that cannot be reached does not answer, and an address where nothing is gets a warning.
func TestDoctor_Unreachable(t *testing.T) {
	t.Parallel()
	unlisted := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(unlisted.Close)
	config := writeFile(t, "molar.yaml", fmt.Sprintf(`
llm:
  provider: [far, plain]
  providers:
    far: {api: anthropic, base_url: "http://127.0.0.1:1", model: big}
    plain: {api: chat, base_url: "%s/v1", model: big}
memory: {store: ./molar.db}
`, unlisted.URL))
	_, found := molarIn(t, homeEnv(t, nil), "doctor", "--config", config)
	for _, want := range []string{"warn  model        far would be asked with big, and does not answer: ", "warn  model        plain: no OpenAI API at this address"} {
		if !strings.Contains(found, want) {
			t.Errorf("the doctor does not say %q:\n%s", want, found)
		}
	}
}

// The only model is reported once, and not with the command that would overwrite the settings.
func TestDoctor_OnlyModelGone(t *testing.T) {
	t.Parallel()
	config := writeFile(t, "molar.yaml", "llm: {provider: openai, openai: {base_url: \"http://127.0.0.1:1/v1\"}}\nmemory: {store: ./molar.db}\n")
	_, found := molarIn(t, homeEnv(t, nil), "doctor", "--config", config)
	if !strings.Contains(found, "FAIL  model") || !strings.Contains(found, "name another one in llm.provider") || strings.Count(found, "no answer from the service") != 1 {
		t.Errorf("the doctor says:\n%s", found)
	}
}

// A molar with other settings at the same address is not taken for the one of these settings.
func TestDoctor_OtherSettings(t *testing.T) {
	t.Parallel()
	other := serveHost(t, writeFile(t, "molar.yaml", "memory: {store: ./molar.db}\n"), nil)
	config := writeFile(t, "molar.yaml", fmt.Sprintf("listen: %q\nmcpServers: {lamp: {command: no-such-program}}\nmemory: {store: ./molar.db}\n", strings.TrimPrefix(other.url, "http://")))
	_, found := molarIn(t, homeEnv(t, nil), "doctor", "--config", config)
	if !strings.Contains(found, "has other settings: it does not have lamp") {
		t.Errorf("the doctor says:\n%s", found)
	}
}
