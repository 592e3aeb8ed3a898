package gemini_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"molar/providers"
	"molar/providers/gemini"
	chassis "molar/providers/wire"
	"molar/schemas"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A wire is a transport without a network, for tests of time and of many bytes.
type wire func(req *http.Request) (*http.Response, error)

func (w wire) RoundTrip(req *http.Request) (*http.Response, error) { return w(req) }

func (w wire) client() *http.Client { return &http.Client{Transport: w} }

// reply makes an answer. Its body ends with the request's context, as a real one.
func reply(req *http.Request, code int, body io.Reader, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{
		StatusCode: code, Status: strconv.Itoa(code) + " " + http.StatusText(code), Header: h,
		Body: io.NopCloser(body), Request: req,
	}
}

// piped answers with a body that write fills.
func piped(req *http.Request, write func(ctx context.Context, w io.Writer)) *http.Response {
	r, w := io.Pipe()
	stop := context.AfterFunc(req.Context(), func() { _ = r.CloseWithError(req.Context().Err()) })
	go func() {
		defer stop()
		write(req.Context(), w)
		_ = w.Close()
	}()
	resp := reply(req, http.StatusOK, nil)
	resp.Body = r
	return resp
}

// 1, 19 and 70: faults before any output, their kinds, and no secret in any text.
func TestStream_status(t *testing.T) {
	leaky := "bad thing at https://host/v1?key=" + testKey + "&x=1 with key " + testKey
	tests := []struct {
		name string
		step http.HandlerFunc
		kind providers.Kind
		says string
		wait time.Duration
	}{
		{"400", status(400, fault(400, "INVALID_ARGUMENT", leaky, "")), providers.KindInvalid, "bad thing at https://host/v1 with key [key]", 0},
		{"400 without JSON", status(400, "<html>no</html>"), providers.KindInvalid, "no", 0},
		{"400 too long", status(400, fault(400, "INVALID_ARGUMENT", "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).", "")), providers.KindContextLength, "1048576", 0},
		{
			"400 key", status(400, fault(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", `[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]`)),
			providers.KindAuth, "GEMINI_API_KEY", 0,
		},
		{"401", status(401, fault(401, "UNAUTHENTICATED", "who?", "")), providers.KindAuth, "who?", 0},
		{"403", status(403, fault(403, "PERMISSION_DENIED", "not you", "")), providers.KindAuth, "not you", 0},
		{"404", status(404, fault(404, "NOT_FOUND", "models/x is not found for API version v1beta", "")), providers.KindModelNotFound, "models/x", 0},
		{"404 elsewhere", status(404, "404 page not found"), providers.KindUnavailable, "base URL", 0},
		{"429 without a wait", status(429, fault(429, "RESOURCE_EXHAUSTED", "quota", "")), providers.KindQuota, "quota", 0},
		{"429 with a long wait", status(429, fault(429, "RESOURCE_EXHAUSTED", "quota", ""), "Retry-After", "3600"), providers.KindQuota, "quota", time.Hour},
		{"429 with a long RetryInfo", status(429, fault(429, "RESOURCE_EXHAUSTED", "quota", `[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"90.5s"}]`)), providers.KindQuota, "quota", 90500 * time.Millisecond},
		{"502", status(502, "bad gateway"), providers.KindUnavailable, "bad gateway", 0},
		{"504", status(504, fault(504, "DEADLINE_EXCEEDED", "too slow", "")), providers.KindTimeout, "too slow", 0},
		{"307", status(307, "", "Location", "http://elsewhere.invalid/"), providers.KindProtocol, "redirects", 0},
		{"an endless error", status(418, strings.Repeat("x", 1<<20)), providers.KindInvalid, "…", 0},
		{"error in the first event", events(fault(400, "INVALID_ARGUMENT", leaky, "")), providers.KindInvalid, "[key]", 0},
		{"a page instead of a stream", raw("<html><body>Welcome " + testKey + "</body></html>"), providers.KindProtocol, "cannot be read", 0},
		{"a page with blank lines", raw("<html>\n\n<body>Welcome " + testKey + "</body>\n\n</html>\n\n"), providers.KindProtocol, "cannot be read", 0},
		{"malformed event", raw("data: {\"candidates\":[{]}\n\n"), providers.KindProtocol, "cannot be read", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var logged bytes.Buffer
			f := newFake(t, tt.step)
			p := newProvider(t, gemini.Config{BaseURL: f.url, Logger: slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))})
			a := once(t.Context(), p, question("q"))
			if providers.KindOf(a.err) != tt.kind || !strings.Contains(a.err.Error(), tt.says) || a.finish != "" {
				t.Fatalf("error %v, want kind %q and %q", a.err, tt.kind, tt.says)
			}
			if strings.Contains(a.err.Error()+logged.String(), testKey) || strings.Contains(a.err.Error(), "?") && tt.name != "401" {
				t.Errorf("a secret or a query in %q", a.err)
			}
			if e, _ := errors.AsType[*providers.Error](a.err); e.RetryAfter != tt.wait || len(e.Error()) > 1000 {
				t.Errorf("wait %v, want %v; text of %d bytes", e.RetryAfter, tt.wait, len(e.Error()))
			}
			if n := len(f.requests()); n != 1 {
				t.Errorf("%d requests: it was retried", n)
			}
		})
	}
	t.Run("nobody listens", func(t *testing.T) {
		a := once(t.Context(), newProvider(t, gemini.Config{BaseURL: "http://127.0.0.1:1"}), question("q"))
		if providers.KindOf(a.err) != providers.KindUnavailable || strings.Contains(a.err.Error(), "alt=sse") {
			t.Error(a.err)
		}
	})
}

// 18: retries before the first output, their waits and their bounds.
func TestStream_retries(t *testing.T) {
	quota := func(details string, header ...string) func(*http.Request) *http.Response {
		return func(req *http.Request) *http.Response {
			return reply(req, 429, strings.NewReader(fault(429, "RESOURCE_EXHAUSTED", "quota", details)), header...)
		}
	}
	code := func(code int, body string, header ...string) func(*http.Request) *http.Response {
		return func(req *http.Request) *http.Response { return reply(req, code, strings.NewReader(body), header...) }
	}
	good := code(200, sse(parts(say("a")), ending("STOP", say("b"))))
	info := `[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.5s"}]`
	tests := []struct {
		name     string
		steps    []func(*http.Request) *http.Response
		requests int
		kind     providers.Kind
		min, max time.Duration
	}{
		{"RetryInfo", []func(*http.Request) *http.Response{quota(info), good}, 2, "", 1500 * time.Millisecond, 1500 * time.Millisecond},
		{"Retry-After", []func(*http.Request) *http.Response{quota("", "Retry-After", "2"), good}, 2, "", 2 * time.Second, 2 * time.Second},
		{"the longer of both", []func(*http.Request) *http.Response{quota(info, "Retry-After", "3"), good}, 2, "", 3 * time.Second, 3 * time.Second},
		{"a wait in the text", []func(*http.Request) *http.Response{code(429, fault(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota. Please retry in 4.5s.", "")), good}, 2, "", 4500 * time.Millisecond, 4500 * time.Millisecond},
		{"no wait at all", []func(*http.Request) *http.Response{code(429, fault(429, "RESOURCE_EXHAUSTED", "Resource exhausted. Please try again later.", "")), good}, 2, "", 2 * time.Second, 2500 * time.Millisecond},
		{
			"a day's quota is used up", []func(*http.Request) *http.Response{quota(`[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier","quotaValue":"250"}]},` +
				`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.5s"}]`), good}, 1, providers.KindQuota, 0, 0,
		},
		{"two at most", []func(*http.Request) *http.Response{quota(info)}, 3, providers.KindQuota, 3 * time.Second, 3 * time.Second},
		{"503", []func(*http.Request) *http.Response{code(503, fault(503, "UNAVAILABLE", "overloaded", "")), good}, 2, "", time.Second, 1250 * time.Millisecond},
		{"503 with a wait", []func(*http.Request) *http.Response{code(503, "", "Retry-After", "7"), good}, 2, "", 7 * time.Second, 7 * time.Second},
		{"500 with an empty body", []func(*http.Request) *http.Response{code(500, "")}, 3, providers.KindUnavailable, 3 * time.Second, 3750 * time.Millisecond},
		{"a wait too long", []func(*http.Request) *http.Response{code(503, "", "Retry-After", "31")}, 1, providers.KindUnavailable, 0, 0},
		{
			"none after output",
			[]func(*http.Request) *http.Response{code(200, sse(parts(say("a")), fault(503, "UNAVAILABLE", "x", "")))},
			1, providers.KindUnavailable, 0, 0,
		},
		{
			"none after a call",
			[]func(*http.Request) *http.Response{code(200, sse(parts(`{"functionCall":{"name":"f"}}`), fault(500, "INTERNAL", "x", "")))},
			1, providers.KindUnavailable, 0, 0,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				w := wire(func(req *http.Request) (*http.Response, error) {
					step := tt.steps[min(n, len(tt.steps)-1)]
					n++
					return step(req), nil
				})
				start := time.Now()
				a := ask(t.Context(), newProvider(t, gemini.Config{HTTPClient: w.client()}), question("q"))
				took := time.Since(start)
				if providers.KindOf(a.err) != tt.kind || n != tt.requests || took < tt.min || took > tt.max {
					t.Errorf("error %v, %d requests in %v; want %q, %d, %v to %v", a.err, n, took, tt.kind, tt.requests, tt.min, tt.max)
				}
				if tt.kind == "" && (a.text != "ab" || len(a.notes) != 1) {
					t.Errorf("got %+v", a)
				}
			})
		})
	}
	t.Run("cancel ends the wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			w := wire(func(req *http.Request) (*http.Response, error) { return quota("", "Retry-After", "20")(req), nil })
			start := time.Now()
			a := ask(ctx, newProvider(t, gemini.Config{HTTPClient: w.client()}), question("q"))
			if providers.KindOf(a.err) != providers.KindTimeout || time.Since(start) != time.Second {
				t.Errorf("error %v after %v", a.err, time.Since(start))
			}
		})
	})
}

// Time runs only while the service is waited for: an idle limit, not one for the
// whole stream, and none for the consumer.
func TestStream_stall(t *testing.T) {
	first, end := sse(parts(say("a"))), sse(ending("STOP", say("b")))
	tests := []struct {
		name  string
		write func(ctx context.Context, w io.Writer)
		slow  time.Duration // what the consumer takes for a chunk
		text  string
		kind  providers.Kind
		took  time.Duration
	}{
		{"no answer", func(ctx context.Context, _ io.Writer) { <-ctx.Done() }, 0, "", providers.KindTimeout, chassis.DefaultFirst},
		{"stalled", func(ctx context.Context, w io.Writer) { _, _ = io.WriteString(w, first); <-ctx.Done() }, 0, "a", providers.KindTimeout, chassis.DefaultIdle},
		{"stalled within an event", func(ctx context.Context, w io.Writer) { _, _ = io.WriteString(w, first+end[:20]); <-ctx.Done() }, 0, "a", providers.KindTimeout, chassis.DefaultIdle},
		{
			"comments are no output", func(_ context.Context, w io.Writer) {
				_, _ = io.WriteString(w, first)
				for range 100 {
					time.Sleep(time.Second)
					if _, err := io.WriteString(w, ": still here\n\n"); err != nil {
						return
					}
				}
			}, 0, "a", providers.KindTimeout, chassis.DefaultIdle,
		},
		{
			"slow but steady", func(_ context.Context, w io.Writer) {
				for range 30 {
					time.Sleep(19 * time.Second)
					_, _ = io.WriteString(w, first)
				}
				_, _ = io.WriteString(w, end)
			}, 0, strings.Repeat("a", 30) + "b", "", 570 * time.Second,
		},
		{"a slow consumer", func(_ context.Context, w io.Writer) { _, _ = io.WriteString(w, first); _, _ = io.WriteString(w, end) }, time.Minute, "ab", "", 3 * time.Minute},
		{"ended but not closed", func(ctx context.Context, w io.Writer) { _, _ = io.WriteString(w, first+end); <-ctx.Done() }, 0, "ab", "", 2 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := wire(func(req *http.Request) (*http.Response, error) { return piped(req, tt.write), nil })
				p := newProvider(t, gemini.Config{HTTPClient: w.client()})
				start, text := time.Now(), ""
				var failed error
				for chunk, err := range p.Stream(t.Context(), question("q")) {
					text += chunk.Text
					failed = err
					time.Sleep(tt.slow)
				}
				if took := time.Since(start); providers.KindOf(failed) != tt.kind || text != tt.text || took != tt.took {
					t.Errorf("text %q, error %v after %v", text, failed, took)
				}
				time.Sleep(time.Minute) // the writer sees that nobody reads
			})
		})
	}
	t.Run("headers never come", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := wire(func(req *http.Request) (*http.Response, error) {
				<-req.Context().Done()
				return nil, req.Context().Err()
			})
			a := ask(t.Context(), newProvider(t, gemini.Config{HTTPClient: w.client(), FirstByte: time.Second}), question("q"))
			if providers.KindOf(a.err) != providers.KindTimeout || !strings.Contains(a.err.Error(), "1s") {
				t.Error(a.err)
			}
		})
	})
}

// A stream cut after any byte gives what arrived and one error, unless the answer
// was whole already.
func TestStream_cut(t *testing.T) {
	const said = "Xin chào"
	whole := sse(parts(say("Xin ")), parts(`{"functionCall":{"name":"f","args":{"q":"a \" b"}},"thoughtSignature":"c2ln"}`), ending("STOP", say("chào")))
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF} {
		for n := range len(whole) {
			w := wire(func(req *http.Request) (*http.Response, error) {
				return reply(req, http.StatusOK, io.MultiReader(strings.NewReader(whole[:n]), failing{end})), nil
			})
			a := ask(t.Context(), newProvider(t, gemini.Config{HTTPClient: w.client()}), question("q"))
			complete := a.text == said && a.finish == providers.FinishToolCalls && a.err == nil
			broken := providers.KindOf(a.err) == providers.KindIncomplete && a.finish == ""
			if !complete && !broken || a.afterEnd || !strings.HasPrefix(said, a.text) {
				t.Fatalf("cut after %d bytes with %v: %+v", n, end, a)
			}
			if complete && n < len(whole)-4 {
				t.Fatalf("cut after %d of %d bytes and taken for whole", n, len(whole))
			}
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// A long answer (100 MB) passes in bounded memory, and an endless event is refused.
func TestStream_large(t *testing.T) {
	const size = largeAnswer
	event := []byte(sse(parts(say(strings.Repeat("x", 64<<10)))))
	end := sse(ending("STOP", say("end")))
	w := wire(func(req *http.Request) (*http.Response, error) {
		body := io.MultiReader(&repeat{piece: event, times: size / len(event)}, strings.NewReader(end))
		return reply(req, http.StatusOK, body), nil
	})
	p := newProvider(t, gemini.Config{HTTPClient: w.client()})
	var before, during runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	got, peak, n := 0, uint64(0), 0
	for chunk, err := range p.Stream(t.Context(), question("q")) {
		if err != nil {
			t.Fatal(err)
		}
		got += len(chunk.Text)
		if n++; n%200 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&during)
			peak = max(peak, during.HeapAlloc)
		}
	}
	if used := int64(peak) - int64(before.HeapAlloc); got < size*9/10 || used > 16<<20 {
		t.Errorf("%d bytes of text, %d kB held", got, used>>10)
	}
	endless := wire(func(req *http.Request) (*http.Response, error) {
		body := io.MultiReader(strings.NewReader(sse(parts(say("a")))+`data: {"candidates":[{"content":{"parts":[{"text":"`), &repeat{piece: bytes.Repeat([]byte("x"), 1<<20), times: 1 << 20})
		return reply(req, http.StatusOK, body), nil
	})
	a := ask(t.Context(), newProvider(t, gemini.Config{HTTPClient: endless.client()}), question("q"))
	if providers.KindOf(a.err) != providers.KindProtocol || a.text != "a" || !strings.Contains(a.err.Error(), "8 MB") {
		t.Errorf("error %v", a.err)
	}
}

// repeat reads a piece again and again.
type repeat struct {
	piece []byte
	times int
	off   int
}

func (r *repeat) Read(p []byte) (int, error) {
	if r.times == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.piece[r.off:])
	if r.off += n; r.off == len(r.piece) {
		r.off, r.times = 0, r.times-1
	}
	return n, nil
}

// A consumer's panic is its own, also while the SDK's are caught.
func TestStream_consumerPanics(t *testing.T) {
	f := newFake(t, events(parts(say("a")), ending("STOP", say("b"))))
	p := newProvider(t, gemini.Config{BaseURL: f.url})
	defer func() {
		if got := recover(); got != "mine" {
			t.Errorf("recovered %v", got)
		}
	}()
	for _, err := range p.Stream(t.Context(), question("q")) {
		t.Log(err)
		panic("mine")
	}
}

// A refusal of a declaration costs that tool; what is said of a call costs none.
func TestStream_aRefusedTool(t *testing.T) {
	other := weather()
	other.Name = "w__deep"
	good := events(parts(say("a")), ending("STOP"))
	for _, tt := range []struct {
		message string
		kind    providers.Kind
		again   int // how many tools the next request offers
	}{
		{"* GenerateContentRequest.tools[0].function_declarations[1].parameters.properties[a].items: missing field.", "", 1},
		{`Invalid JSON payload received. Unknown name "const" at 'tools[0].functionDeclarations[1].parameters': Cannot find field.`, "", 1},
		{"Unable to submit request because `w__deep` functionDeclaration `parameters.a` schema specified other fields alongside any_of.", "", 1},
		{"function call `default_api:w__deep` in the 2. content block is missing a thought_signature.", providers.KindInvalid, 2},
	} {
		f := newFake(t, status(400, fault(400, "INVALID_ARGUMENT", tt.message, "")), good)
		p, req := newProvider(t, gemini.Config{BaseURL: f.url}), question("q")
		req.Tools = []schemas.ToolInfo{weather(), other}
		if a := ask(t.Context(), p, req); providers.KindOf(a.err) != tt.kind {
			t.Errorf("%s: %+v", tt.message, a)
		}
		ask(t.Context(), p, req)
		sent := f.requests()
		if declared := sent[len(sent)-1].Tools[0].FunctionDeclarations; len(declared) != tt.again || tt.again == 1 && declared[0].Name == "w__deep" {
			t.Errorf("%s: then offered %+v", tt.message, declared)
		}
	}
}
