package ollama_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"molar/providers/ollama"
)

const benchChunks = 1000

// benchStream is a stream of as many pieces of text.
func benchStream() string {
	return strings.Repeat(say(" tooth")+"\n", benchChunks) + end + "\n"
}

// BenchmarkStream measures what a streamed chunk costs; BenchmarkDecode, how much
// of it is the decoding of its JSON.
func BenchmarkStream(b *testing.B) {
	stream := benchStream()
	p := newProvider(b, ollama.Config{HTTPClient: &http.Client{Transport: wire(func(*http.Request) *http.Response {
		return ok(io.NopCloser(strings.NewReader(stream)))
	})}})
	req := question("hi")
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range p.Stream(b.Context(), req) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchChunks, "ns/chunk")
}

func BenchmarkDecode(b *testing.B) {
	line := []byte(say(" tooth"))
	type decoded struct {
		Message struct {
			Content, Thinking string
			ToolCalls         []json.RawMessage `json:"tool_calls"`
		}
		Done            bool
		DoneReason      string `json:"done_reason"`
		PromptEvalCount int    `json:"prompt_eval_count"`
		EvalCount       int    `json:"eval_count"`
		Error           json.RawMessage
	}
	b.ReportAllocs()
	for b.Loop() {
		for range benchChunks {
			var d decoded
			if err := json.Unmarshal(line, &d); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchChunks, "ns/chunk")
}
