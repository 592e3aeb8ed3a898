package ollama_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/ollama/ollama/api"

	"molar/providers"
	"molar/providers/ollama"
)

const benchChunks = 1000

// benchProvider returns a provider whose streams have benchChunks pieces of text.
func benchProvider(t testing.TB) *ollama.Provider {
	t.Helper()
	stream := strings.Repeat(say(" tooth")+"\n", benchChunks) + end + "\n"
	return newProvider(t, ollama.Config{HTTPClient: &http.Client{Transport: wire(func(*http.Request) *http.Response {
		return ok(body(stream))
	})}})
}

func drain(t testing.TB, p *ollama.Provider, req providers.Request) {
	t.Helper()
	for _, err := range p.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// decode does what the api package's own client does with each line.
func decode(t testing.TB, line []byte) {
	t.Helper()
	var r api.ChatResponse
	if err := json.Unmarshal(line, &r); err != nil {
		t.Fatal(err)
	}
}

func perChunk(b *testing.B) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchChunks, "ns/chunk")
}

// BenchmarkStream measures the cost of a streamed chunk; BenchmarkDecode, the cost of decoding
// its JSON alone in the api package.
func BenchmarkStream(b *testing.B) {
	p := benchProvider(b)
	for name, req := range map[string]providers.Request{"plain": question("hi"), "tools": withTools("m", "hi")} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				drain(b, p, req)
			}
			perChunk(b)
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	line := []byte(say(" tooth"))
	b.ReportAllocs()
	for b.Loop() {
		for range benchChunks {
			decode(b, line)
		}
	}
	perChunk(b)
}

// A chunk may cost five allocations more than its decoding.
func TestCost_AllocationsOfAChunk(t *testing.T) {
	p, line := benchProvider(t), []byte(say(" tooth"))
	alone := testing.AllocsPerRun(10, func() { decode(t, line) })
	chunk := testing.AllocsPerRun(10, func() { drain(t, p, withTools("m", "hi")) }) / benchChunks
	if chunk > alone+5 {
		t.Errorf("%.1f allocations a chunk, %.1f for decoding alone; at most 5 more", chunk, alone)
	}
}

// An open stream may cost 110 kB, the test's own server included.
func TestCost_MemoryOfOpenStreams(t *testing.T) {
	const streams, most = 250, 110 << 10
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/api/chat") {
			_, _ = io.WriteString(w, toolModel)
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		lines(say("a"))(w, r)
		select {
		case <-release:
			_, _ = io.WriteString(w, end+"\n")
		case <-r.Context().Done():
		}
	}))
	defer srv.Close()
	p := newProvider(t, ollama.Config{BaseURL: srv.URL, HTTPClient: client(t)})
	before := inUse()
	var open, done sync.WaitGroup
	open.Add(streams)
	for range streams {
		done.Go(func() {
			first := sync.OnceFunc(open.Done)
			defer first()
			for chunk, err := range p.Stream(t.Context(), withTools("m", "hi")) {
				if err != nil {
					t.Error(err)
				}
				if chunk.Text != "" {
					first()
				}
			}
		})
	}
	open.Wait()
	each := (inUse() - before) / streams
	close(release)
	done.Wait()
	t.Logf("%d bytes for each of %d open streams", each, streams)
	if each > most {
		t.Errorf("%d bytes for each open stream, at most %d", each, most)
	}
}

// inUse returns the memory of heap and stacks, in bytes.
func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
