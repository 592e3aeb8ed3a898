package web_test

import (
	"net/http"
	"testing"

	"molar/internal/httpguard"
)

// With keys on, a client can choose only among the models that the config allows.
func TestChat_ModelsThatAClientMayChoose(t *testing.T) {
	key := httpguard.NewKeyText()
	ring := httpguard.NewKeyring(nil)
	ring.Set([]httpguard.Key{{ID: "k", Owner: "k", Hash: httpguard.HashOf(key), Scopes: []string{httpguard.ScopeChat}}})
	for _, tt := range []struct {
		name, body string
		keyless    bool
		status     int
		param      string
	}{
		{"none", `{` + question + `}`, false, 200, ""},
		{"one that is allowed", `{"molar":{"provider":"ollama","model":"small"},` + question + `}`, false, 200, ""},
		{"another", `{"molar":{"provider":"ollama","model":"big"},` + question + `}`, false, 403, "molar.model"},
		{"of another provider", `{"molar":{"provider":"gemini","model":"small"},` + question + `}`, false, 403, "molar.model"},
		{"for the guardrail", `{"molar":{"provider":"ollama","model":"small","guardrail_model":"big"},` + question + `}`, false, 403, "molar.guardrail_model"},
		{"in the older form", `{"ollama_model":"big",` + question + `}`, false, 403, "molar.model"},
		{"without keys", `{"molar":{"provider":"ollama","model":"big"},` + question + `}`, true, 200, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := config(t, play(nil, start(), done()))
			cfg.MayChoose = func(assistant, provider, model string) bool {
				return assistant == "dental" && provider == "ollama" && model == "small"
			}
			if !tt.keyless {
				cfg.Access.Keys = ring
			}
			r := request(http.MethodPost, "/v1/chat/completions", tt.body)
			r.Header.Set("Authorization", "Bearer "+key)
			w := serve(build(t, cfg), r)
			if w.Code != tt.status {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			if tt.status == 200 {
				return
			}
			if code, param, _ := errorOf(t, w.Body.Bytes()); code != "model_not_allowed" || param != tt.param {
				t.Errorf("%s, param %q", code, param)
			}
		})
	}
}
