package gemini_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/genai"

	"molar/providers/gemini"
)

// whole is a service without a network whose every answer has this body.
type whole string

func (w whole) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(string(w))), Request: req}, nil
}

// BenchmarkStream_chunk compares the cost of a streamed chunk of text with that of the SDK alone
// over the same bytes. Both are reported per chunk.
func BenchmarkStream_chunk(b *testing.B) {
	const chunks = 1000
	body := sse(parts(say("a few words of an answer "))) // one event
	body = strings.Repeat(body, chunks-1) + sse(ending("STOP", say("end")))
	client := &http.Client{Transport: whole(body)}
	b.Run("sdk", func(b *testing.B) {
		sdk, err := genai.NewClient(b.Context(), &genai.ClientConfig{APIKey: testKey, Backend: genai.BackendGeminiAPI, HTTPClient: client})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for n := 0; n < b.N; n += chunks {
			cfg := &genai.GenerateContentConfig{AutomaticContinuation: new(false)}
			for _, err := range sdk.Models.GenerateContentStream(b.Context(), model, genai.Text("q"), cfg) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("molar", func(b *testing.B) {
		p := newProvider(b, gemini.Config{HTTPClient: client})
		b.ReportAllocs()
		for n := 0; n < b.N; n += chunks {
			for _, err := range p.Stream(b.Context(), question("q")) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
