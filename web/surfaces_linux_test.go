package web_test

import (
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"molar/agent/answer"
)

// BenchmarkSurfaces streams one turn of 200 pieces over each surface, and measures its processor
// time and its size in bytes.
func BenchmarkSurfaces(b *testing.B) {
	const pieces = 200
	begun := start()
	begun.Start.TurnID, begun.Start.ConversationID = uuid.NewString(), "chat_"+uuid.NewString()
	events := []answer.Event{begun}
	for range pieces {
		events = append(events, text("một từ "))
	}
	h := handler(b, play(nil, append(events, done())...))
	for _, surface := range []struct{ name, path, body string }{
		{"chat", "/v1/chat/completions", `{"stream":true,` + question + `}`},
		{"responses", "/v1/responses", `{"stream":true,"input":"hi"}`},
		{"responses not stored", "/v1/responses", `{"stream":true,"store":false,"input":"hi"}`},
	} {
		b.Run(surface.name, func(b *testing.B) {
			b.ReportAllocs()
			size, before := 0, processorTime(b)
			for b.Loop() {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, request(http.MethodPost, surface.path, surface.body))
				size = w.Body.Len()
			}
			b.ReportMetric(float64((processorTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
			b.ReportMetric(float64(size)/pieces, "bytes/piece")
		})
	}
}

// processorTime returns the processor time of the process so far. Other programs do not change it.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
