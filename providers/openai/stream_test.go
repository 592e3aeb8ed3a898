package openai_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"molar/providers"
	"molar/providers/openai"
	"molar/schemas"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func TestStream_Text(t *testing.T) {
	t.Parallel()
	f := newFake(t, stream(role, say("Xin "), say("chào"), say("!\n\""), stop, used, done))
	a := ask(t.Context(), at(t, f), question("hi"))
	if a.err != nil || a.text != "Xin chào!\n\"" || a.finish != providers.FinishStop || a.afterEnd {
		t.Fatalf("got %+v", a)
	}
	if diff := cmp.Diff(schemas.Usage{PromptTokens: 3, CompletionTokens: 2, TotalTokens: 5}, a.usage); diff != "" {
		t.Error(diff)
	}
}

func TestStream_ReadsWhatServersSend(t *testing.T) {
	t.Parallel()
	sse := "text/event-stream"
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
		"no last blank line":          {body: raw(sse, events(say("a"), say("b"))+"data: "+stop)},
		"single newlines":             {body: raw(sse, "data: "+say("a")+"\ndata: "+say("b")+"\ndata: "+stop+"\ndata: [DONE]\n")},
		"CRLF":                        {body: raw(sse, strings.ReplaceAll(events(say("a"), say("b"), stop, done), "\n", "\r\n"))},
		"no blank after the colon":    {body: raw(sse, strings.ReplaceAll(events(say("a"), say("b"), stop, done), "data: ", "data:"))},
		"comments, ids and names":     {body: raw(sse, ": ping\n\n:\nid: 1\nevent: message\nretry: 5\ndata: "+say("a")+"\n\n: ping\n\nevent: x\n\ndata\n\n"+events(say("b"), stop, done))},
		"several data lines":          {body: raw(sse, "data: {\"choices\":\ndata: [{\"delta\":{\"content\":\ndata: \"ab\"}}]}\n\n"+events(stop, done))},
		"byte order mark":             {body: raw(sse, "\ufeff"+events(say("ab"), stop, done))},
		"null error":                  {body: stream(strings.TrimSuffix(say("ab"), "}")+`,"error":null}`, stop, done)},
		"empty error":                 {body: stream(strings.TrimSuffix(say("ab"), "}")+`,"error":{}}`, stop, done)},
		"changing ids":                {body: stream(strings.ReplaceAll(say("a"), "chatcmpl-1", "x"), say("b"), stop, done)},
		"no role":                     {body: stream(say("ab"), stop, done)},
		"null delta":                  {body: stream(say("ab"), head+`"delta":null,"finish_reason":"stop"`+tail, done)},
		"null content":                {body: stream(head+`"delta":{"content":null,"tool_calls":null,"refusal":null}`+tail, say("ab"), stop, done)},
		"content in parts":            {body: stream(head+`"delta":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`+tail, stop, done)},
		"text after the finish":       {body: stream(say("a"), stop, say("b"), done)},
		"data after DONE":             {body: stream(say("ab"), stop, done, say("c"))},
		"choice 1 only":               {body: stream(strings.ReplaceAll(say("ab"), `"index":0`, `"index":1`), strings.ReplaceAll(stop, `"index":0`, `"index":1`), done)},
		"a second choice":             {body: stream(say("ab"), strings.ReplaceAll(say("zz"), `"index":0`, `"index":1`), stop, done)},
		"unknown reason after text":   {body: stream(say("ab"), strings.ReplaceAll(stop, `"stop"`, `"eos"`), done)},
		"length":                      {body: stream(say("ab"), strings.ReplaceAll(stop, `"stop"`, `"length"`), done), finish: providers.FinishLength},
		"filtered":                    {body: stream(say("ab"), strings.ReplaceAll(stop, `"stop"`, `"content_filter"`), done), finish: providers.FinishContentFilter},
		"refusal":                     {body: stream(head+`"delta":{"refusal":"a"}`+tail, head+`"delta":{"refusal":"b"}`+tail, stop, done), finish: providers.FinishContentFilter},
		"reasoning_content":           {body: stream(head+`"delta":{"reasoning_content":"hm"}`+tail, say("ab"), stop, done), thinking: "hm"},
		"reasoning":                   {body: stream(head+`"delta":{"reasoning":"hm"}`+tail, say("ab"), stop, done), thinking: "hm"},
		"reasoning under both names":  {body: stream(head+`"delta":{"reasoning":"hm","reasoning_content":"hm"}`+tail, say("ab"), stop, done), thinking: "hm"},
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
		"no end":                   {stream(say("a")), providers.KindIncomplete, "broke off", "a"},
		"empty 200":                {raw("text/event-stream", ""), providers.KindIncomplete, "broke off", ""},
		"blanks only":              {raw("text/event-stream", "\n\n \n"), providers.KindIncomplete, "broke off", ""},
		"comments only":            {raw("text/event-stream", ": a\n\n: b\n\n"), providers.KindIncomplete, "broke off", ""},
		"DONE only":                {stream(done), providers.KindIncomplete, "empty", ""},
		"error object":             {stream(say("a"), `{"error":{"message":"boom","type":"server_error","code":null}}`), providers.KindUnavailable, "boom", "a"},
		"error text":               {stream(say("a"), `{"error":"boom"}`), providers.KindUnavailable, "boom", "a"},
		"error without data:":      {raw("text/event-stream", events(say("a"))+`{"error":{"message":"boom"}}`+"\n"), providers.KindUnavailable, "boom", "a"},
		"error event":              {raw("text/event-stream", events(say("a"))+"event: error\ndata: {\"message\":\"boom\"}\n\n"), providers.KindUnavailable, "boom", "a"},
		"error after the finish":   {stream(say("a"), stop, `{"error":"boom"}`), providers.KindUnavailable, "boom", "a"},
		"error without a text":     {stream(`{"error":{"code":7}}`), providers.KindUnavailable, "without a text", ""},
		"overflow in the stream":   {stream(`{"error":{"message":"maximum context length is 5 tokens","code":400}}`), providers.KindContextLength, "5 tokens", ""},
		"rate limit in the stream": {stream(`{"error":{"message":"slow","code":429}}`), providers.KindQuota, "slow", ""},
		"error as a whole answer":  {raw("application/json", `{"error":"Unexpected endpoint"}`), providers.KindUnavailable, "Unexpected endpoint", ""},
		"malformed":                {stream(say("a"), `{"choices":[}`, stop, done), providers.KindProtocol, "cannot be read", "a"},
		"malformed whole answer":   {raw("application/json", `{"choices":} `), providers.KindProtocol, "cannot be read", ""},
		"cut whole answer":         {raw("application/json", `{"choices":[{"mess`), providers.KindIncomplete, "broke off", ""},
		"another JSON":             {raw("application/json", `{"status":"ok"}`), providers.KindProtocol, "no choices", ""},
		"a web page":               {raw("text/html", "<!doctype html>\n<html>\n</html>\n"), providers.KindProtocol, "web page", ""},
		"line over 8 MB":           {stream(say("a"), long), providers.KindProtocol, "8 MB", "a"},
		"event over 8 MB":          {raw("text/event-stream", events(say("a"))+"data: [\n"+strings.Repeat("data: "+long[:1<<20]+"\n", 9)), providers.KindProtocol, "8 MB", "a"},
		"whole answer over 8 MB":   {raw("application/json", `{"a":"`+long+`"}`), providers.KindProtocol, "8 MB", ""},
		"empty stop":               {stream(role, stop, done), providers.KindProtocol, `"stop"`, ""},
		"unknown reason, no text":  {stream(strings.ReplaceAll(stop, `"stop"`, `"weird"`), done), providers.KindProtocol, `"weird"`, ""},
		"tool_calls without any":   {stream(call, done), providers.KindProtocol, "empty", ""},
		"reason error":             {stream(say("a"), strings.ReplaceAll(stop, `"stop"`, `"error"`), done), providers.KindUnavailable, "gave up", "a"},
		"a call without a name":    {stream(tool(`{"index":0,"id":"a","function":{"arguments":"{}"}}`), call, done), providers.KindProtocol, "without a name", ""},
		"too many calls":           {stream(tool(strings.TrimSuffix(strings.Repeat(`{"function":{"name":"f","arguments":"{}"}},`, 300), ",")), call, done), providers.KindProtocol, "256", ""},
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

// recorded is a stream with all that streams hold.
func recorded() string {
	return events(role, say("Hello, "), say("wörld"), begin(0, "call_1", "w__get_weather"), more(0, `{"city":`), more(0, `"Tokyo"}`), call, used, done)
}

func TestStream_CutAnywhereIsAnErrorOrWhole(t *testing.T) {
	t.Parallel()
	whole := recorded()
	// With the finish reason nothing is lacking but the usage.
	enough := strings.Index(whole, call) + len(call)
	for n := range len(whole) + 1 {
		a := ask(t.Context(), over(t, func() io.Reader { return strings.NewReader(whole[:n]) }), question("hi"))
		complete := n >= enough
		switch {
		case complete && (a.err != nil || a.finish != providers.FinishToolCalls || a.text != "Hello, wörld" || len(a.calls) != 1 || a.calls[0].Function.Arguments != `{"city":"Tokyo"}`):
			t.Fatalf("%d of %d bytes: got %+v, want success", n, len(whole), a)
		case !complete && (providers.KindOf(a.err) != providers.KindIncomplete || a.finish != "" || len(a.calls) > 0):
			t.Fatalf("%d of %d bytes: got %+v, want an incomplete stream", n, len(whole), a)
		case a.afterEnd:
			t.Fatalf("%d of %d bytes: something came after the end", n, len(whole))
		}
	}
}

func TestStream_AnyChunkingGivesTheSame(t *testing.T) {
	t.Parallel()
	whole := strings.ReplaceAll(recorded(), "\n", "\r\n")
	want := ask(t.Context(), over(t, func() io.Reader { return strings.NewReader(whole) }), question("hi"))
	check := func(how string, body func() io.Reader) {
		a := ask(t.Context(), over(t, body), question("hi"))
		if a.err != nil || a.text != want.text || a.usage != want.usage || !cmp.Equal(a.functions(), want.functions()) {
			t.Fatalf("%s: got %+v, want %+v", how, a, want)
		}
	}
	for n := range len(whole) {
		check(fmt.Sprint("split at ", n), func() io.Reader {
			return io.MultiReader(strings.NewReader(whole[:n]), strings.NewReader(whole[n:]))
		})
	}
	check("byte by byte", func() io.Reader { return iotest.OneByteReader(strings.NewReader(whole)) })
}

// endless gives a text again and again.
type endless struct {
	text []byte
	left int64
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n := copy(p, e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	e.left -= int64(n)
	return n, nil
}

func TestStream_AHugeAnswerTakesLittleMemory(t *testing.T) {
	var before, after runtime.MemStats
	text := []byte(events(say(strings.Repeat("word ", 2000))))
	p := over(t, func() io.Reader {
		return io.MultiReader(&endless{text: text, left: 100 << 20}, strings.NewReader("\n\n"+events(stop, done)))
	})
	runtime.GC()
	runtime.ReadMemStats(&before)
	var most uint64
	chunks := 0
	for chunk, err := range p.Stream(t.Context(), question("hi")) {
		if err != nil && providers.KindOf(err) != providers.KindProtocol {
			t.Fatal(err)
		}
		if chunks++; chunks%1000 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&after)
			most = max(most, after.HeapAlloc)
		}
		_ = chunk
	}
	if chunks < 5000 || most > before.HeapAlloc+(8<<20) {
		t.Errorf("%d chunks took %d kB", chunks, (most-before.HeapAlloc)>>10)
	}
}

func TestStream_HugeArgumentsAreRefused(t *testing.T) {
	t.Parallel()
	args := events(more(0, strings.Repeat("x", 1<<20)))
	p := over(t, func() io.Reader {
		return io.MultiReader(strings.NewReader(events(begin(0, "a", "f"))), strings.NewReader(strings.Repeat(args, 9)))
	})
	a := ask(t.Context(), p, question("hi"))
	if providers.KindOf(a.err) != providers.KindProtocol || !strings.Contains(a.err.Error(), "8 MB") {
		t.Errorf("got %v", a.err)
	}
}

func TestStream_IsSentOnlyWhenRangedOver(t *testing.T) {
	t.Parallel()
	f := newFake(t, stream(say("a"), stop, done))
	p := at(t, f)
	_ = p.Stream(t.Context(), question("hi"))
	if n := len(f.requests()); n != 0 {
		t.Errorf("%d requests before the first range", n)
	}
}

func FuzzStream(f *testing.F) {
	for _, seed := range []string{
		recorded(), events(say("a"), stop, done), "data: " + say("a") + "\ndata: " + stop + "\n", ": ping\r\n\r\ndata:[DONE]",
		"data: {\"choices\":\ndata: [{\"delta\":{\"content\":\"a\"}}]}\n\n", `{"choices":[{"message":{"content":"a"}}]}`,
		events(`{"error":"x"}`), "event: error\ndata: x\n\n", "\ufeffdata: [DONE]\n", "data: [1\ndata: {\n", "{\n\n", "<html>",
	} {
		f.Add([]byte(seed), 7)
	}
	f.Fuzz(func(t *testing.T, body []byte, at int) {
		at = max(0, min(at, len(body)))
		whole := ask(t.Context(), over(t, func() io.Reader { return bytes.NewReader(body) }), question("hi"))
		split := ask(t.Context(), over(t, func() io.Reader {
			return io.MultiReader(bytes.NewReader(body[:at]), iotest.OneByteReader(bytes.NewReader(body[at:])))
		}), question("hi"))
		if whole.afterEnd || (whole.err == nil) == (whole.finish == "") {
			t.Fatalf("a stream that does not end once: %+v", whole)
		}
		if whole.text != split.text || whole.finish != split.finish || fmt.Sprint(whole.err) != fmt.Sprint(split.err) || !cmp.Equal(whole.functions(), split.functions()) {
			t.Fatalf("split at %d: %+v, whole: %+v", at, split, whole)
		}
		if whole.err != nil && providers.KindOf(whole.err) == "" {
			t.Fatalf("an error without a kind: %v", whole.err)
		}
	})
}

// benchChunks is how many pieces of text a benchmarked stream has.
const benchChunks = 1000

// BenchmarkStream measures what a streamed chunk costs; BenchmarkDecode, how much
// of it is the decoding of its JSON.
func BenchmarkStream(b *testing.B) {
	body := events(role) + strings.Repeat(events(say(" tooth")), benchChunks) + events(stop, done)
	p := newProvider(b, openai.Config{HTTPClient: &http.Client{Transport: wire(func(*http.Request) *http.Response {
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
