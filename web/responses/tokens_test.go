package responses_test

import (
	"net/http"
	"testing"
)

// The estimate counts what the client sends, and what it refers to.
func TestInputTokens(t *testing.T) {
	h := serve(t, play(text("ok"), done()))
	count := func(body string) float64 {
		t.Helper()
		status, data := h.do(http.MethodPost, "/v1/responses/input_tokens", body)
		o := read(t, data)
		if status != http.StatusOK || o["object"] != "response.input_tokens" {
			t.Fatalf("%s: status %d: %s", body, status, data)
		}
		return o["input_tokens"].(float64)
	}
	first := h.create(`{"input":"one"}`)
	tests := map[string]float64{
		`{"model":"dental","input":"0123456789abcdef"}`:                                          4,
		`{"input":"0123456789abcdef","instructions":"01234567"}`:                                 6,
		`{"input":[{"role":"system","content":"01234567"},{"role":"user","content":"0123"}]}`:    3,
		`{"input":"0123","tools":[{"type":"function","name":"abcd","parameters":{"a":"b"}}]}`:    5,  // 4 + 4 + 9 bytes
		`{"input":"0123","conversation":"known"}`:                                                10, // 34 bytes are stored
		`{"input":"0123","previous_response_id":"` + id(first) + `"}`:                            10, // 19 + 17 bytes are stored
		`{"input":[{"role":"user","content":[{"type":"input_image","image_url":"https://a"}]}]}`: 1000,
	}
	for body, want := range tests {
		if got := count(body); got != want {
			t.Errorf("%s: %v tokens, want %v", body, got, want)
		}
	}
	if status, data := h.do(http.MethodPost, "/v1/responses/input_tokens", `{"input":"x","previous_response_id":"resp_none"}`); status != http.StatusBadRequest {
		t.Errorf("status %d: %s", status, data)
	}
}
