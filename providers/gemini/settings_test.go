package gemini_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/providers"
	"molar/providers/gemini"
	"molar/schemas"
)

func TestStream_settings(t *testing.T) {
	f := newFake(t, events(ending("STOP", say("ok"))))
	p := newProvider(t, gemini.Config{BaseURL: f.url, Safety: "BLOCK_ONLY_HIGH", Tuning: schemas.Tuning{
		Temperature: new(0.5), TopP: new(0.75), MaxTokens: 100, Thinking: schemas.ThinkingHigh,
		Headers: map[string]schemas.Secret{"X-Team": "a"}, ExtraBody: json.RawMessage(`{"generationConfig":{"topK":40},"labels":{"a":"b"}}`),
	}})
	req := question("q")
	req.Temperature, req.Seed, req.Headers = new(0.0), new(int64(7)), map[string]string{"X-Team": "b"}
	if a := ask(t.Context(), p, req); a.err != nil {
		t.Fatal(a.err)
	}
	sent := f.requests()[0]
	var body struct {
		GenerationConfig map[string]json.RawMessage `json:"generationConfig"`
		SafetySettings   []struct{ Category, Threshold string }
		Labels           map[string]string
	}
	if err := json.Unmarshal([]byte(sent.Raw), &body); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for k, v := range body.GenerationConfig {
		got[k] = string(v)
	}
	want := map[string]string{
		"temperature": "0", "topP": "0.75", "maxOutputTokens": "100", "seed": "7", "topK": "40",
		"thinkingConfig": `{"includeThoughts":true,"thinkingLevel":"HIGH"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(body.SafetySettings) != 4 || body.SafetySettings[0].Threshold != "BLOCK_ONLY_HIGH" || body.Labels["a"] != "b" || sent.Header.Get("X-Team") != "b" {
		t.Errorf("sent %s, headers %v", sent.Raw, sent.Header)
	}
}

// The thinking settings depend on the model's family, and on the values that it refused.
func TestStream_thinking(t *testing.T) {
	refused := status(400, fault(400, "INVALID_ARGUMENT", "Budget 0 is invalid. This model only works in thinking mode.", ""))
	good := events(ending("STOP", say("ok")))
	for _, tt := range []struct {
		model string
		wish  schemas.Thinking
		pass  providers.Pass
		steps []http.HandlerFunc
		want  []string
	}{
		{"gemini-2.5-flash", "", providers.PassAnswer, []http.HandlerFunc{good}, []string{""}},
		{"gemini-2.5-flash", "", providers.PassGuardrail, []http.HandlerFunc{good}, []string{`{"thinkingBudget":0}`}},
		{"gemini-2.5-flash", schemas.ThinkingLow, providers.PassAnswer, []http.HandlerFunc{good}, []string{`{"includeThoughts":true,"thinkingBudget":1024}`}},
		{"gemini-2.5-pro", schemas.ThinkingOff, providers.PassAnswer, []http.HandlerFunc{refused, good}, []string{`{"thinkingBudget":0}`, `{"thinkingBudget":128}`}},
		{"gemini-3-flash", schemas.ThinkingOff, providers.PassAnswer, []http.HandlerFunc{good}, []string{`{"thinkingLevel":"MINIMAL"}`}},
		{"gemini-3-pro", "", providers.PassSummary, []http.HandlerFunc{refused, refused, good}, []string{`{"thinkingLevel":"MINIMAL"}`, `{"thinkingLevel":"LOW"}`, ""}},
		{"gemini-2.0-flash", schemas.ThinkingHigh, providers.PassAnswer, []http.HandlerFunc{good}, []string{""}},
		{"gemma-3-27b-it", "", providers.PassGuardrail, []http.HandlerFunc{good}, []string{""}},
	} {
		f := newFake(t, tt.steps...)
		p := at(t, f)
		req := question("q")
		req.Model, req.Thinking, req.Pass = tt.model, tt.wish, tt.pass
		for range 2 { // a refused value is not sent again
			if a := ask(t.Context(), p, req); a.err != nil {
				t.Fatal(a.err)
			}
		}
		var got []string
		for _, sent := range f.requests() {
			got = append(got, string(sent.GenerationConfig["thinkingConfig"]))
		}
		if diff := cmp.Diff(append(tt.want, tt.want[len(tt.want)-1]), got); diff != "" {
			t.Errorf("%s, %q, %s: %s", tt.model, tt.wish, tt.pass, diff)
		}
	}
}

// A judge that thinks nevertheless gets more tokens.
func TestStream_smallAnswerNotStarved(t *testing.T) {
	starved := `{"candidates":[{"content":{"role":"model"},"finishReason":"MAX_TOKENS"}],"usageMetadata":{"promptTokenCount":5,"thoughtsTokenCount":21,"totalTokenCount":26}}`
	f := newFake(t, events(starved), events(starved), events(ending("STOP", say("YES"))))
	p := at(t, f)
	req := question("q")
	req.Pass, req.MaxTokens = providers.PassGuardrail, 24
	if a := ask(t.Context(), p, req); a.text != "YES" || a.usage.TotalTokens != 52+15 {
		t.Errorf("%+v", a)
	}
	var got []string
	for _, sent := range f.requests() {
		got = append(got, string(sent.GenerationConfig["maxOutputTokens"]))
	}
	if diff := cmp.Diff([]string{"24", "1048", ""}, got); diff != "" {
		t.Error(diff)
	}
}

// Signatures that a gateway encoded again, and a list in place of events.
func TestStream_oddForms(t *testing.T) {
	req := question("q")
	req.Tools = []schemas.ToolInfo{weather()}
	t.Run("signatures", func(t *testing.T) {
		for _, signature := range []string{"-_-_", "+/+/", "YQ", "YQ=="} {
			f := newFake(t, events(ending("STOP", `{"functionCall":{"name":"w__get_weather"},"thoughtSignature":"`+signature+`"}`)), events(ending("STOP", say("ok"))))
			p := at(t, f)
			first := ask(t.Context(), p, req)
			next := req
			next.Messages = slices.Concat(req.Messages, []schemas.Message{first.message, results(first.calls, "done")})
			ask(t.Context(), p, next)
			want := map[string]string{"-_-_": "+/+/", "+/+/": "+/+/", "YQ": "YQ==", "YQ==": "YQ=="}[signature]
			if first.err != nil || !strings.Contains(f.requests()[1].Raw, `"thoughtSignature":"`+want+`"`) {
				t.Errorf("%s: %v, sent back %s", signature, first.err, f.requests()[1].Raw)
			}
		}
	})
	t.Run("a list", func(t *testing.T) {
		f := newFake(t, raw("[{\n \"candidates\": [{\"content\": {\"parts\": [{\"text\": \"a\"}]}}]\n}\n,\n"+ending("STOP", say("b"))+"\n]\n"))
		if a := ask(t.Context(), at(t, f), req); a.err != nil || a.text != "ab" {
			t.Errorf("%+v", a)
		}
	})
}

// Requests to Vertex AI carry a token of the application default credentials, use the project's
// path, and never carry a key.
func TestVertex(t *testing.T) {
	tokens := 0
	login := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tokens++
		if r.FormValue("assertion") == "" {
			t.Errorf("asked for a token with %v", r.Form)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"access_token":"vertex-token","token_type":"Bearer","expires_in":3600}`))
	}))
	defer login.Close()
	file := filepath.Join(t.TempDir(), "adc.json")
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	credentials, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "molar@my-project.iam.gserviceaccount.com", "private_key_id": "1",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})), "token_uri": login.URL + "/token",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, credentials, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
	f := newFake(t, events(ending("STOP", say("ok"))))
	p, err := gemini.New(gemini.Config{BaseURL: f.url, Project: "my-project", Location: "europe-west4"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if a := ask(t.Context(), p, question("q")); a.err != nil || a.text != "ok" {
			t.Fatalf("%+v", a)
		}
	}
	sent := f.requests()[0]
	want := "/v1beta1/projects/my-project/locations/europe-west4/publishers/google/models/" + model + ":streamGenerateContent"
	if sent.Path != want || sent.Header.Get("Authorization") != "Bearer vertex-token" || sent.Header.Get("X-Goog-Api-Key") != "" || tokens != 1 {
		t.Errorf("asked %s with %v after %d tokens", sent.Path, sent.Header, tokens)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(t.TempDir(), "none.json"))
	if _, err := gemini.New(gemini.Config{BaseURL: f.url, Project: "my-project"}); err == nil || !strings.Contains(err.Error(), "gcloud auth application-default login") {
		t.Errorf("without credentials: %v", err)
	}
}
