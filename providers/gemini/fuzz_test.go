package gemini_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"molar/providers"
	"molar/providers/gemini"
)

// Whatever the service sends, a stream ends with a finish or with one typed error,
// and every call has a JSON value as its arguments.
func FuzzStream(f *testing.F) {
	for _, seed := range []string{
		sse(parts(say("a")), ending("STOP", say("b"))),
		sse(parts(`{"functionCall":{"name":"f","args":{"a":1}},"thoughtSignature":"c2ln"}`), ending("STOP")),
		sse(`{"promptFeedback":{"blockReason":"SAFETY"}}`),
		sse(fault(429, "RESOURCE_EXHAUSTED", "x", `[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1s"}]`)),
		": c\nevent: x\nid: 1\ndata: [DONE]\n\n{\"error\":\"x\"}\n",
		"data: null\n\ndata: 5\n\n",
		sse(`{"candidates":5}`), sse(`{"candidates":[5]}`), sse(`{"candidates":[null]}`), sse(`{"candidates":{}}`),
		sse(`{"candidates":[{"content":5}]}`), sse(`{"candidates":[{"content":{"parts":5}}]}`), sse(`{"candidates":[{"content":{"parts":[5,null]}}]}`),
		sse(`{"candidates":[{"content":{"parts":[{"functionCall":5}]}}]}`), sse(`{"candidates":[{"content":{"parts":[{"functionCall":{"args":[]}}]}}]}`),
		sse(`{"candidates":[{"content":{"parts":[{"text":"a","thoughtSignature":"%%"}]}}]}`), sse(`{"candidates":[{"finishReason":5}]}`),
		sse(`{"promptFeedback":5}`), sse(`{"usageMetadata":5}`), sse(`{"usageMetadata":{"totalTokenCount":"x"}}`), sse(`{"error":[]}`), sse(`{"error":{"code":"x"}}`),
		sse(`{"candidates":[{"groundingMetadata":{"groundingChunks":[5]}}]}`), sse(`{"candidates":[{"groundingMetadata":5,"citationMetadata":5}]}`),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		w := wire(func(req *http.Request) (*http.Response, error) {
			return reply(req, http.StatusOK, strings.NewReader(body)), nil
		})
		p := newProvider(t, gemini.Config{HTTPClient: w.client()})
		finished := false
		var failed error
		for chunk, err := range p.Stream(t.Context(), question("q")) {
			if failed != nil || finished {
				t.Fatal("a chunk after the end")
			}
			failed, finished = err, chunk.Finish != ""
			if chunk.Call != nil && !json.Valid([]byte(chunk.Call.Function.Arguments)) {
				t.Fatalf("arguments %q", chunk.Call.Function.Arguments)
			}
			if strings.HasPrefix(chunk.Note, "asked again after") {
				return // a busy service: the wait is tested elsewhere
			}
		}
		if _, ok := errors.AsType[*providers.Error](failed); !finished && !ok {
			t.Fatalf("ended with %v", failed)
		}
	})
}
