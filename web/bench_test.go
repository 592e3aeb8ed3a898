package web_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"molar/agent"
	"molar/agent/answer"
)

// BenchmarkStream_Event measures the cost of one text event: encoding and flushing it into a writer
// without cost, and over a loopback connection.
func BenchmarkStream_Event(b *testing.B) {
	answer := func(n int) script {
		return func(_ context.Context, _ agent.Turn, yield func(answer.Event) bool) error {
			yield(start())
			ev := text("một từ ")
			for range n {
				if !yield(ev) {
					return nil
				}
			}
			yield(done())
			return nil
		}
	}
	b.Run("discard", func(b *testing.B) {
		h := handler(b, answer(b.N))
		b.ReportAllocs()
		b.ResetTimer()
		h.ServeHTTP(&discard{header: http.Header{}}, request(http.MethodPost, "/v1/chat/completions", `{"stream":true,`+question+`}`))
	})
	b.Run("loopback", func(b *testing.B) {
		ts := live(b, config(b, answer(b.N)))
		b.ReportAllocs()
		b.ResetTimer()
		resp, err := ts.Client().Post(ts.URL+"/v1/chat/completions", "application/json", strings.NewReader(`{"stream":true,`+question+`}`))
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		n, err := io.Copy(io.Discard, resp.Body)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(n / int64(b.N))
	})
}

// BenchmarkChat_Short measures a whole short turn without a connection, which is the cost of the
// endpoint itself.
func BenchmarkChat_Short(b *testing.B) {
	h := handler(b, play(nil, start(), text("Hello"), done()))
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, request(http.MethodPost, "/v1/chat/completions", `{"stream":true,`+question+`}`))
	}
}

type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(int)             {}
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) FlushError() error           { return nil }
