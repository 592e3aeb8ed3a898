package ollama_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.uber.org/goleak"

	"molar/providers"
	"molar/providers/ollama"
	"molar/schemas"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func TestStream_Text(t *testing.T) {
	t.Parallel()
	f := newFake(t, lines(say("Xin "), "", "  ", say("chào"), say("!"), end))
	a := ask(t.Context(), at(t, f), question("hi"))
	if a.err != nil || a.text != "Xin chào!" || a.finish != providers.FinishStop {
		t.Fatalf("got %+v", a)
	}
	if diff := cmp.Diff(schemas.Usage{PromptTokens: 7, CompletionTokens: 3, TotalTokens: 10}, a.usage); diff != "" {
		t.Error(diff)
	}
}

func TestStream_CallsGetOurIDs(t *testing.T) {
	t.Parallel()
	line := `{"message":{"role":"assistant","content":"Let me see.","tool_calls":[` +
		`{"function":{"index":0,"name":"w__get_weather","arguments":{"city":"Huế","id":9007199254740993,"x":1.0}}},` +
		`{"function":{"index":0,"name":"w__get_weather"}},` +
		`{"function":{"index":0,"name":"w__get_weather","arguments":"{\"city\": \"P\"}"}}]},"done":false}`
	f := newFake(t, lines(line, end))
	req := question("weather?")
	req.Tools = weather()
	a := ask(t.Context(), at(t, f), req)
	if a.err != nil || a.text != "Let me see." || a.finish != providers.FinishToolCalls {
		t.Fatalf("got %+v", a)
	}
	want := []string{`{"city":"Huế","id":9007199254740993,"x":1.0}`, `{}`, `{"city":"P"}`}
	seen := map[string]bool{}
	for i, call := range a.calls {
		if call.Function.Arguments != want[i] {
			t.Errorf("call %d: arguments %s, want %s", i, call.Function.Arguments, want[i])
		}
		if uuid.Validate(call.ID) != nil || seen[call.ID] {
			t.Errorf("call %d: id %q is no new uuid", i, call.ID)
		}
		seen[call.ID] = true
	}
	if len(a.calls) != 3 {
		t.Errorf("%d calls, want 3", len(a.calls))
	}
}

func TestStream_ThinkingIsNoText(t *testing.T) {
	t.Parallel()
	f := newFake(t, lines(`{"message":{"role":"assistant","content":"","thinking":"Hm. "},"done":false}`, say("Yes."), end))
	f.show = `{"capabilities":["completion","thinking"]}`
	p := at(t, f)
	a := ask(t.Context(), p, question("?"))
	if a.err != nil || a.text != "Yes." || a.thinking != "Hm. " {
		t.Fatalf("got %+v", a)
	}
	if got := f.sent()[0].Think; got != false {
		t.Errorf("think %v was sent, want false", got)
	}
}

// The errors that are specific to this server.
func TestStream_Faults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step http.HandlerFunc
		kind providers.Kind
		text string
	}{
		"an error as an object": {lines(`{"error":{"message":"boom"}}`), providers.KindUnavailable, "boom"},
		"no tools":              {status(400, `{"error":"registry.ollama.ai/library/m does not support tools"}`), providers.KindInvalid, "does not take tools"},
		"no such model":         {status(404, `{"error":"model 'm' not found"}`), providers.KindModelNotFound, "run: ollama pull m"},
		"an unknown status":     {status(204, ""), providers.KindProtocol, "unexpected status 204"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := ask(t.Context(), at(t, newFake(t, c.step)), question("hi"))
			if providers.KindOf(a.err) != c.kind || !strings.Contains(a.err.Error(), c.text) || a.finish != "" {
				t.Errorf("got %+v, kind %q", a, providers.KindOf(a.err))
			}
		})
	}
}

func TestStream_AsksAgainOnce(t *testing.T) {
	t.Parallel()
	parser := status(500, `{"error":"error parsing tool call: raw='{', err=unexpected end of JSON input"}`)
	good := lines(say("fine"), end)
	for name, c := range map[string]struct {
		steps    []http.HandlerFunc
		requests int
		kind     providers.Kind
		tokens   int
	}{
		"empty, then well":              {[]http.HandlerFunc{lines(end), good}, 2, "", 20},
		"blanks are empty":              {[]http.HandlerFunc{lines(say("\n "), end), good}, 2, "", 20},
		"empty for ever":                {[]http.HandlerFunc{lines(end)}, 3, providers.KindProtocol, 30},
		"unreadable call, then well":    {[]http.HandlerFunc{parser, good}, 2, "", 10},
		"unreadable call for ever":      {[]http.HandlerFunc{parser}, 3, providers.KindUnavailable, 0},
		"unreadable call in the stream": {[]http.HandlerFunc{lines(`{"error":"invalid character 'x' looking for beginning of value"}`), good}, 2, "", 10},
		"unreadable XML":                {[]http.HandlerFunc{lines(`{"error":"XML syntax error on line 5: element <parameter> closed by </function>"}`), good}, 2, "", 10},
		"unreadable XML, GLM":           {[]http.HandlerFunc{lines(`{"error":"failed to parse XML: EOF"}`), good}, 2, "", 10},
		"unreadable XML, as a status":   {[]http.HandlerFunc{status(500, `{"error":"expected element type <function> but have <parameter>"}`), good}, 2, "", 10},
		"unreadable, without a sign":    {[]http.HandlerFunc{lines(`{"error":"invalid format"}`), good}, 2, "", 10},
		"unreadable, with a name":       {[]http.HandlerFunc{lines(`{"error":"tool 'memory_lookup' not found"}`), good}, 2, "", 10},
		"out of memory":                 {[]http.HandlerFunc{lines(`{"error":"CUDA error: out of memory"}`), good}, 1, providers.KindUnavailable, 0},
		"no room for the model":         {[]http.HandlerFunc{lines(`{"error":"model requires more system memory (9.1 GiB) than is available (4.0 GiB)"}`), good}, 1, providers.KindUnavailable, 0},
		"the model crashed":             {[]http.HandlerFunc{lines(`{"error":"an error was encountered while running the model: unexpected EOF"}`), good}, 1, providers.KindUnavailable, 0},
		"it was cancelled":              {[]http.HandlerFunc{lines(`{"error":"request canceled"}`), good}, 1, providers.KindUnavailable, 0},
		"both":                          {[]http.HandlerFunc{parser, lines(end), good}, 3, "", 20},
		"never after text":              {[]http.HandlerFunc{lines(say("a"), `{"error":"invalid character 'x'"}`), good}, 1, providers.KindUnavailable, 0},
		"a cut-off answer is no fault":  {[]http.HandlerFunc{lines(endLength)}, 1, "", 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, c.steps...)
			req := question("hi")
			req.Tools = weather()
			a := ask(t.Context(), at(t, f), req)
			unloads := 0
			if strings.Contains(name, "unreadable") || name == "both" || name == "never after text" {
				unloads = 1
			}
			if name == "unreadable call for ever" {
				unloads = 3
			}
			if f.unloads != unloads {
				t.Errorf("the model was unloaded %d times, want %d", f.unloads, unloads)
			}
			if providers.KindOf(a.err) != c.kind || len(f.sent()) != c.requests || a.usage.TotalTokens != c.tokens {
				t.Errorf("got %+v after %d requests; want kind %q after %d, %d tokens", a, len(f.sent()), c.kind, c.requests, c.tokens)
			}
		})
	}
}

func TestStream_NobodyListens(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	p := newProvider(t, ollama.Config{BaseURL: strings.Replace(srv.URL, "http://", "http://user:hunter2@", 1), HTTPClient: client(t)})
	a := ask(t.Context(), p, question("hi"))
	if providers.KindOf(a.err) != providers.KindUnavailable || !strings.Contains(a.err.Error(), "nobody listens at "+srv.URL+": start Ollama") {
		t.Errorf("got %v", a.err)
	}
	if strings.Contains(a.err.Error(), "hunter2") {
		t.Errorf("the password shows: %v", a.err)
	}
	elsewhere := newProvider(t, ollama.Config{BaseURL: "http://gpu.internal.example:11434", HTTPClient: &http.Client{Transport: refused{}}})
	if a := ask(t.Context(), elsewhere, question("hi")); providers.KindOf(a.err) != providers.KindUnavailable || !strings.Contains(a.err.Error(), "nobody listens at [server]") || strings.Contains(a.err.Error(), "gpu") {
		t.Errorf("got %v", a.err)
	}
}

// refused is a network in which no server listens.
type refused struct{}

func (refused) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
}

func TestStream_ManyAtOnce(t *testing.T) {
	t.Parallel()
	f := newFake(t, lines(say("a"), say("b"), toolCall("w__get_weather", `{"city":"P"}`), end))
	p := at(t, f)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			req := question(fmt.Sprint("question ", i))
			req.Tools = weather()
			if a := ask(t.Context(), p, req); a.err != nil || a.text != "ab" || len(a.calls) != 1 {
				t.Errorf("stream %d: %+v", i, a)
			}
		})
	}
	wg.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.shows != 1 {
		t.Errorf("the model was asked about %d times, want once", f.shows)
	}
}
