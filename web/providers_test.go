package web_test

import (
	"net/http"
	"testing"
)

// A page shows the state of providers as the host found it: no model for a provider that would not
// answer, and a missing key only for a provider that needs one.
func TestProviders(t *testing.T) {
	const want = `{"object":"list","data":[{"name":"gemini","key_setting":"GEMINI_API_KEY","ready":false,"missing":"set GEMINI_API_KEY"},` +
		`{"name":"openai","key_setting":"OPENAI_API_KEY","ready":true,"model":"scripted","small_model":"scripted-small"},` +
		`{"name":"ollama","ready":false,"error":{"code":"unavailable","message":"ollama: nobody listens"}},{"name":"offline","ready":true}]}`
	w := serve(build(t, operated(t, play(nil))), request(http.MethodGet, "/v1/providers", ""))
	if w.Code != http.StatusOK || w.Body.String() != want {
		t.Errorf("%d %s\nwant %s", w.Code, w.Body, want)
	}
}
