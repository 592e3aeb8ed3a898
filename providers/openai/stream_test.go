package openai_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"molar/providers"
	"molar/providers/openai"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func TestStream_ReadsWhatServersSend(t *testing.T) {
	t.Parallel()
	whole := `{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"ab"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`
	for name, c := range map[string]struct {
		body     http.HandlerFunc
		finish   providers.FinishReason
		thinking string
		usage    int
		text     string // "ab" when empty
	}{
		"plain":                       {body: stream(role, say("a"), say("b"), stop, done)},
		"usage on every chunk":        {body: stream(strings.TrimSuffix(say("a"), "}")+`,"usage":{"prompt_tokens":1,"completion_tokens":1}}`, strings.TrimSuffix(say("b"), "}")+`,"usage":{"prompt_tokens":1,"completion_tokens":2}}`, stop, done), usage: 3},
		"usage chunk, null choices":   {body: stream(say("ab"), stop, `{"choices":null,"usage":{"total_tokens":9}}`, done), usage: 9},
		"usage chunk, no choices":     {body: stream(say("ab"), stop, `{"usage":{"total_tokens":9}}`, done), usage: 9},
		"odd usage":                   {body: stream(say("ab"), `{"choices":[],"usage":{"prompt_tokens":"3","total_tokens":9}}`, stop, done), usage: 9},
		"no DONE":                     {body: stream(say("a"), say("b"), stop)},
		"DONE without finish":         {body: stream(say("a"), say("b"), done)},
		"empty finish reasons":        {body: stream(head+`"delta":{"content":"ab"},"finish_reason":""`+tail, stop, done)},
		"null error":                  {body: stream(strings.TrimSuffix(say("ab"), "}")+`,"error":null}`, stop, done)},
		"empty error":                 {body: stream(strings.TrimSuffix(say("ab"), "}")+`,"error":{}}`, stop, done)},
		"changing ids":                {body: stream(strings.ReplaceAll(say("a"), "chatcmpl-1", "x"), say("b"), stop, done)},
		"no role":                     {body: stream(say("ab"), stop, done)},
		"null delta":                  {body: stream(say("ab"), head+`"delta":null,"finish_reason":"stop"`+tail, done)},
		"null content":                {body: stream(head+`"delta":{"content":null,"tool_calls":null,"refusal":null}`+tail, say("ab"), stop, done)},
		"content in parts":            {body: stream(head+`"delta":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`+tail, stop, done)},
		"text after the finish":       {body: stream(say("a"), stop, say("b"), done)},
		"choice 1 only":               {body: stream(strings.ReplaceAll(say("ab"), `"index":0`, `"index":1`), strings.ReplaceAll(stop, `"index":0`, `"index":1`), done)},
		"a second choice":             {body: stream(say("ab"), strings.ReplaceAll(say("zz"), `"index":0`, `"index":1`), stop, done)},
		"unknown reason after text":   {body: stream(say("ab"), strings.ReplaceAll(stop, `"stop"`, `"eos"`), done)},
		"filtered":                    {body: stream(say("ab"), strings.ReplaceAll(stop, `"stop"`, `"content_filter"`), done), finish: providers.FinishContentFilter},
		"refusal":                     {body: stream(head+`"delta":{"refusal":"a"}`+tail, head+`"delta":{"refusal":"b"}`+tail, stop, done), finish: providers.FinishContentFilter},
		"reasoning_content":           {body: stream(head+`"delta":{"reasoning_content":"hm"}`+tail, say("ab"), stop, done), thinking: "hm"},
		"reasoning":                   {body: stream(head+`"delta":{"reasoning":"hm"}`+tail, say("ab"), stop, done), thinking: "hm"},
		"reasoning under both names":  {body: stream(head+`"delta":{"reasoning":"hm","reasoning_content":"hm"}`+tail, say("ab"), stop, done), thinking: "hm"},
		"thinking in the content":     {body: stream(head+`"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"h"}]}]}`+tail, head+`"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"m"}]},{"type":"text","text":"a"}]}`+tail, say("b"), stop, done), thinking: "hm"},
		"sensitive":                   {body: stream(say("ab"), strings.ReplaceAll(stop, `"stop"`, `"sensitive"`), done), finish: providers.FinishContentFilter},
		"the window is full":          {body: stream(say("ab"), strings.ReplaceAll(stop, `"stop"`, `"model_context_window_exceeded"`), done), finish: providers.FinishLength},
		"an answer that is no stream": {body: raw("application/json", whole), usage: 3},
		"the same, indented":          {body: raw("application/json", "\n"+strings.ReplaceAll(whole, ",", ",\n  ")+"\n"), usage: 3},
		"the same, without a reason":  {body: raw("text/plain", strings.ReplaceAll(whole, `,"finish_reason":"stop"`, "")), usage: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := ask(t.Context(), at(t, newFake(t, c.body)), question("hi"))
			text, finish := "ab", providers.FinishStop
			if c.text != "" {
				text = c.text
			}
			if c.finish != "" {
				finish = c.finish
			}
			if a.err != nil || a.text != text || a.finish != finish || a.thinking != c.thinking || a.usage.TotalTokens != c.usage || a.afterEnd {
				t.Errorf("got %+v; want %q, finish %q", a, text, finish)
			}
		})
	}
}

func TestStream_Faults(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 9<<20)
	for name, c := range map[string]struct {
		body http.HandlerFunc
		kind providers.Kind
		text string // part of the error
		said string // text before the error
	}{
		"DONE only":           {stream(done), providers.KindIncomplete, "empty", ""},
		"error text":          {stream(say("a"), `{"error":"boom"}`), providers.KindUnavailable, "boom", "a"},
		"error without data:": {raw("text/event-stream", events(say("a"))+`{"error":{"message":"boom"}}`+"\n"), providers.KindUnavailable, "boom", "a"},
		"error in a field of that name, llama.cpp": {raw("text/event-stream", events(say("a"))+"error: {\"code\":500,\"message\":\"the slot is gone\"}\n\n"), providers.KindUnavailable, "the slot is gone", "a"},
		"error event":             {raw("text/event-stream", events(say("a"))+"event: error\ndata: {\"message\":\"boom\"}\n\n"), providers.KindUnavailable, "boom", "a"},
		"error after the finish":  {stream(say("a"), stop, `{"error":"boom"}`), providers.KindUnavailable, "boom", "a"},
		"error without a text":    {stream(`{"error":{"code":7}}`), providers.KindUnavailable, "without a text", ""},
		"error as a whole answer": {raw("application/json", `{"error":"Unexpected endpoint"}`), providers.KindUnavailable, "Unexpected endpoint", ""},
		"malformed whole answer":  {raw("application/json", `{"choices":} `), providers.KindProtocol, "cannot be read", ""},
		"cut whole answer":        {raw("application/json", `{"choices":[{"mess`), providers.KindIncomplete, "broke off", ""},
		"another JSON":            {raw("application/json", `{"status":"ok"}`), providers.KindProtocol, "no choices", ""},
		"whole answer over 8 MB":  {raw("application/json", `{"a":"`+long+`"}`), providers.KindProtocol, "8 MB", ""},
		"empty stop":              {stream(role, stop, done), providers.KindProtocol, `"stop"`, ""},
		"unknown reason, no text": {stream(strings.ReplaceAll(stop, `"stop"`, `"weird"`), done), providers.KindProtocol, `"weird"`, ""},
		"tool_calls without any":  {stream(call, done), providers.KindProtocol, "empty", ""},
		"reason error":            {stream(say("a"), strings.ReplaceAll(stop, `"stop"`, `"error"`), done), providers.KindUnavailable, "gave up", "a"},
		"network error":           {stream(say("a"), strings.ReplaceAll(stop, `"stop"`, `"network_error"`), done), providers.KindUnavailable, "gave up", "a"},
		"no resources":            {stream(say("a"), strings.ReplaceAll(stop, `"stop"`, `"insufficient_system_resource"`), done), providers.KindUnavailable, "gave up", "a"},
		"the window is full":      {stream(role, strings.ReplaceAll(stop, `"stop"`, `"model_context_window_exceeded"`), done), providers.KindContextLength, "context window", ""},
		"a call without a name":   {stream(tool(`{"index":0,"id":"a","function":{"arguments":"{}"}}`), call, done), providers.KindProtocol, "without a name", ""},
		"too many calls":          {stream(tool(strings.TrimSuffix(strings.Repeat(`{"function":{"name":"f","arguments":"{}"}},`, 300), ",")), call, done), providers.KindProtocol, "256", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, c.body)
			a := ask(t.Context(), at(t, f), question("hi"))
			if providers.KindOf(a.err) != c.kind || !strings.Contains(fmt.Sprint(a.err), c.text) || a.text != c.said || a.finish != "" || a.afterEnd || len(a.calls) > 0 {
				t.Fatalf("got %+v, kind %q; want %q of kind %q after %q", a, providers.KindOf(a.err), c.text, c.kind, c.said)
			}
			if n := len(f.requests()); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
		})
	}
}

func TestStream_HugeArgumentsAreRefused(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is slow: it decodes 9 MB")
	}
	args := events(more(0, strings.Repeat("x", 1<<20)))
	p := over(t, func() io.Reader {
		return io.MultiReader(strings.NewReader(events(begin(0, "a", "f"))), strings.NewReader(strings.Repeat(args, 9)))
	})
	a := ask(t.Context(), p, question("hi"))
	if providers.KindOf(a.err) != providers.KindProtocol || !strings.Contains(a.err.Error(), "8 MB") {
		t.Errorf("got %v", a.err)
	}
}

// benchChunks is the number of pieces of text in a benchmarked stream.
const benchChunks = 1000

// BenchmarkStream measures the cost of a streamed chunk; BenchmarkDecode, the part of it that is
// the decoding of its JSON.
func BenchmarkStream(b *testing.B) {
	body := events(role) + strings.Repeat(events(say(" tooth")), benchChunks) + events(stop, done)
	p := newProvider(b, openai.Config{API: openai.APIChat, HTTPClient: &http.Client{Transport: wire(func(*http.Request) *http.Response {
		return ok(strings.NewReader(body))
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

// BenchmarkDecode decodes the same chunks with encoding/json and nothing else.
func BenchmarkDecode(b *testing.B) {
	chunk := []byte(say(" tooth"))
	type decoded struct {
		Choices []struct {
			Index int
			Delta struct {
				Content, Refusal, Reasoning string
				ReasoningContent            string            `json:"reasoning_content"`
				ToolCalls                   []json.RawMessage `json:"tool_calls"`
			}
			FinishReason string `json:"finish_reason"`
		}
		Usage *struct{ PromptTokens int }
		Error json.RawMessage
	}
	b.ReportAllocs()
	for b.Loop() {
		for range benchChunks {
			var d decoded
			if err := json.Unmarshal(chunk, &d); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchChunks, "ns/chunk")
}
