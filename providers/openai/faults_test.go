package openai_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"molar/providers"
	"molar/providers/openai"
)

func TestStream_Statuses(t *testing.T) {
	t.Parallel()
	overflow := `{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","param":"messages","code":%s}}`
	for name, c := range map[string]struct {
		step  http.HandlerFunc
		kind  providers.Kind
		text  string
		after time.Duration
	}{
		"400":                     {step: status(400, `{"error":{"message":"bad thing","type":"invalid_request_error"}}`), kind: providers.KindInvalid, text: "bad thing"},
		"400 overflow by code":    {step: status(400, fmt.Sprintf(overflow, `"context_length_exceeded"`)), kind: providers.KindContextLength, text: "8192 tokens"},
		"400 overflow by text":    {step: status(400, fmt.Sprintf(overflow, `null`)), kind: providers.KindContextLength, text: "8192 tokens"},
		"400 overflow, llama.cpp": {step: status(400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`), kind: providers.KindContextLength},
		"400 overflow, vLLM":      {step: status(400, `{"object":"error","message":"This model's maximum context length is 5 tokens","type":"BadRequestError","code":400}`), kind: providers.KindContextLength},
		"422 with details":        {step: status(422, `{"detail":[{"loc":["body"],"msg":"field required"}]}`), kind: providers.KindInvalid, text: "field required"},
		"401":                     {step: status(401, `{"error":{"message":"Incorrect API key provided: sk-secret-1234.","code":"invalid_api_key"}}`), kind: providers.KindAuth, text: "check OPENAI_API_KEY"},
		"403":                     {step: status(403, ``), kind: providers.KindAuth},
		"404 model":               {step: status(404, "{\"error\":{\"message\":\"The model `x` does not exist\",\"code\":\"model_not_found\"}}"), kind: providers.KindModelNotFound, text: "does not exist"},
		"404 empty":               {step: status(404, ``), kind: providers.KindModelNotFound},
		"404 page":                {step: status(404, `404 page not found`), kind: providers.KindUnavailable, text: "ends in /v1"},
		"404 FastAPI":             {step: status(404, `{"detail":"Not Found"}`), kind: providers.KindUnavailable, text: "ends in /v1"},
		"402":                     {step: status(402, `{"error":{"message":"Insufficient Balance"}}`), kind: providers.KindQuota},
		"408":                     {step: status(408, ``), kind: providers.KindQuota},
		"429 without Retry-After": {step: status(429, `{"error":{"message":"slow down"}}`), kind: providers.KindQuota, text: "slow down"},
		"429 with a long one":     {step: status(429, ``, "Retry-After", "31"), kind: providers.KindQuota, after: 31 * time.Second},
		"429 with a date":         {step: status(429, ``, "Date", "Mon, 02 Jan 2006 15:04:05 GMT", "Retry-After", "Mon, 02 Jan 2006 15:06:05 GMT"), kind: providers.KindQuota, after: 2 * time.Minute},
		"429 with milliseconds":   {step: status(429, ``, "Retry-After-Ms", "60500", "Retry-After", "61"), kind: providers.KindQuota, after: 60500 * time.Millisecond},
		"429 out of credit":       {step: status(429, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`, "Retry-After", "1"), kind: providers.KindQuota, after: time.Second},
		"429 of a gateway":        {step: status(429, `{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"z-ai/glm:free is temporarily rate-limited upstream. Please retry shortly.","provider_name":"BaseTen"}}}`), kind: providers.KindQuota, text: "Provider returned error: z-ai/glm:free is temporarily rate-limited upstream"},
		"400 of a gateway":        {step: status(400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"This model's maximum context length is 8192 tokens.\"}}","provider_name":"X"}}}`), kind: providers.KindContextLength, text: "Provider returned error: This model's maximum context length"},
		"429 says not to":         {step: status(429, ``, "Retry-After", "1", "X-Should-Retry", "false"), kind: providers.KindQuota, after: time.Second},
		"429 too large a prompt":  {step: status(429, `{"error":{"message":"Request too large, maximum context length aside"}}`), kind: providers.KindQuota},
		"500 with an empty body":  {step: status(500, ``, "X-Should-Retry", "false"), kind: providers.KindUnavailable, text: "status 500 without an explanation"},
		"501":                     {step: status(501, `{"error":"no"}`), kind: providers.KindUnavailable},
		"503 with a long wait":    {step: status(503, ``, "Retry-After", "120"), kind: providers.KindUnavailable, after: 2 * time.Minute},
		"redirect":                {step: status(308, ``, "Location", "http://elsewhere.example/"), kind: providers.KindProtocol, text: "redirects"},
		"a long text":             {step: status(400, `{"error":{"message":"`+strings.Repeat("é", 40000)+`"}}`), kind: providers.KindInvalid, text: "…"},
		"100 MB of error": {step: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(400)
			_, _ = io.Copy(w, &endless{text: []byte("x"), left: 100 << 20})
		}, kind: providers.KindInvalid, text: "…"},
		"an error inside a list":   {step: status(400, `[{"error":{"code":400,"message":"API key not valid","status":"INVALID_ARGUMENT"}}]`), kind: providers.KindInvalid, text: "API key not valid"},
		"a model that is not here": {step: status(400, `{"error":{"message":"no","code":"model_not_found"}}`), kind: providers.KindModelNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, c.step)
			client := &http.Client{Transport: &http.Transport{}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			t.Cleanup(client.CloseIdleConnections)
			p := newProvider(t, openai.Config{BaseURL: f.url, APIKey: "sk-secret-1234", HTTPClient: client})
			a := ask(t.Context(), p, question("hi"))
			e, isOurs := errors.AsType[*providers.Error](a.err)
			if !isOurs || e.Kind != c.kind || !strings.Contains(e.Error(), c.text) || e.Status == 0 || e.RetryAfter != c.after {
				t.Fatalf("got %+v: %v; want kind %q, %q", e, a.err, c.kind, c.text)
			}
			asked := slices.DeleteFunc(f.requests(), func(sent map[string]any) bool { return sent == nil }) // the models are listed for a hint
			if len(asked) != 1 {
				t.Errorf("%d requests, want 1", len(asked))
			}
			if len(e.Error()) > 800 || strings.Contains(e.Error(), "sk-secret") {
				t.Errorf("the message: %v", e)
			}
		})
	}
}

// steps answers with one response after the other, the last one for ever.
func steps(list ...*http.Response) (http.RoundTripper, *int) {
	var n int
	return wire(func(*http.Request) *http.Response {
		resp := list[min(n, len(list)-1)]
		n++
		return resp
	}), &n
}

func refusal(code int, header ...string) *http.Response {
	resp := &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"error":{"message":"busy"}}`))}
	for i := 0; i+1 < len(header); i += 2 {
		resp.Header.Set(header[i], header[i+1])
	}
	return resp
}

// says is a refusal with a body.
func says(code int, body string) *http.Response {
	resp := refusal(code)
	resp.Body = io.NopCloser(strings.NewReader(body))
	return resp
}

func good() *http.Response { return ok(strings.NewReader(events(say("a"), stop, done))) }

func TestStream_AsksAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		steps       []*http.Response
		requests    int
		kind        providers.Kind
		least, most time.Duration
	}{
		"429, then well":            {[]*http.Response{refusal(429, "Retry-After", "7"), good()}, 2, "", 7 * time.Second, 7 * time.Second},
		"429 in milliseconds":       {[]*http.Response{refusal(429, "Retry-After-Ms", "250"), good()}, 2, "", 250 * time.Millisecond, 250 * time.Millisecond},
		"429 three times":           {[]*http.Response{refusal(429, "Retry-After", "30")}, 3, providers.KindQuota, time.Minute, time.Minute},
		"429 without a time":        {[]*http.Response{refusal(429), good()}, 2, "", 2 * time.Second, 2500 * time.Millisecond},
		"429 for ever":              {[]*http.Response{refusal(429)}, 3, providers.KindQuota, 6 * time.Second, 7500 * time.Millisecond},
		"429 with a time in words":  {[]*http.Response{says(429, `{"error":{"message":"Rate limit reached for gpt-5. Please try again in 1.2s. Visit the page to learn more.","code":"rate_limit_exceeded"}}`), good()}, 2, "", 1200 * time.Millisecond, 1200 * time.Millisecond},
		"429 with seconds in words": {[]*http.Response{says(429, `{"error":{"message":"Please retry after 26 seconds.","code":"429"}}`), good()}, 2, "", 26 * time.Second, 26 * time.Second},
		"429 with minutes in words": {[]*http.Response{says(429, `{"error":{"message":"Please try again in 7m12.5s.","code":"rate_limit_exceeded"}}`), good()}, 1, providers.KindQuota, 0, 0},
		"429 out of credit":         {[]*http.Response{says(429, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota","type":"insufficient_quota"}}`), good()}, 1, providers.KindQuota, 0, 0},
		"429 out of credit, Kimi":   {[]*http.Response{says(429, `{"error":{"message":"You exceeded your current token quota","type":"exceeded_current_quota_error"}}`), good()}, 1, providers.KindQuota, 0, 0},
		"408, then well":            {[]*http.Response{refusal(408), good()}, 2, "", 2 * time.Second, 2500 * time.Millisecond},
		"409, then well":            {[]*http.Response{refusal(409), good()}, 2, "", 2 * time.Second, 2500 * time.Millisecond},
		"500, then well":            {[]*http.Response{refusal(500), good()}, 2, "", time.Second, 1250 * time.Millisecond},
		"502, 503, then well":       {[]*http.Response{refusal(502), refusal(503), good()}, 3, "", 3 * time.Second, 3750 * time.Millisecond},
		"503 with a time":           {[]*http.Response{refusal(503, "Retry-After", "3"), good()}, 2, "", 3 * time.Second, 3 * time.Second},
		"529 three times":           {[]*http.Response{refusal(529)}, 3, providers.KindUnavailable, 3 * time.Second, 3750 * time.Millisecond},
		"400":                       {[]*http.Response{refusal(400)}, 1, providers.KindInvalid, 0, 0},
		"never after text":          {[]*http.Response{ok(strings.NewReader(events(say("a")))), good()}, 1, providers.KindIncomplete, 0, 0},
		"never in the stream":       {[]*http.Response{ok(strings.NewReader(events(`{"error":{"message":"busy","code":503}}`))), good()}, 1, providers.KindUnavailable, 0, 0},
		"waits for no longer":       {[]*http.Response{refusal(429, "Retry-After", "40")}, 1, providers.KindQuota, 0, 0},
		"a refusal, then a timeout": {[]*http.Response{refusal(500), nil}, 2, providers.KindTimeout, 180 * time.Second, 180 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				transport, n := steps(c.steps...)
				p := newProvider(t, openai.Config{HTTPClient: &http.Client{Transport: transport}})
				start := time.Now()
				a := askOn(t.Context(), p, question("hi"))
				took := time.Since(start)
				if providers.KindOf(a.err) != c.kind || *n != c.requests || took < c.least || took > c.most || len(a.notes) != c.requests-1 {
					t.Errorf("got %+v after %d requests and %v; want kind %q after %d and %v to %v", a, *n, took, c.kind, c.requests, c.least, c.most)
				}
			})
		})
	}
}

func TestStream_CancelEndsTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		transport, n := steps(refusal(429, "Retry-After", "30"))
		p := newProvider(t, openai.Config{HTTPClient: &http.Client{Transport: transport}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		a := askOn(ctx, p, question("hi"))
		if providers.KindOf(a.err) != providers.KindTimeout || !errors.Is(a.err, context.DeadlineExceeded) || time.Since(start) != time.Second || *n != 1 {
			t.Errorf("got %v after %v and %d requests", a.err, time.Since(start), *n)
		}
	})
}

// paced sends a piece after each pause and then falls silent, until the request
// ends.
func paced(ctx context.Context, pause time.Duration, pieces ...string) *http.Response {
	r, w := io.Pipe()
	go func() {
		for _, piece := range pieces {
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
			if _, err := io.WriteString(w, piece); err != nil {
				return
			}
		}
		<-ctx.Done()
		w.CloseWithError(ctx.Err())
	}()
	return ok(r)
}

func TestStream_Timeouts(t *testing.T) {
	t.Parallel()
	one := func(list ...string) []string {
		for i := range list {
			list[i] = events(list[i])
		}
		return list
	}
	for name, c := range map[string]struct {
		pause  time.Duration
		pieces []string
		none   bool
		kind   providers.Kind
		took   time.Duration
		said   string
	}{
		"nothing at all":            {none: true, kind: providers.KindTimeout, took: 180 * time.Second},
		"headers only":              {kind: providers.KindTimeout, took: 180 * time.Second},
		"comments only":             {pause: 10 * time.Second, pieces: strings.SplitAfter(strings.Repeat(": ping\n\n|", 40), "|"), kind: providers.KindTimeout, took: 180 * time.Second},
		"a role only":               {pieces: one(role), kind: providers.KindTimeout, took: 180 * time.Second},
		"stalled":                   {pause: time.Minute, pieces: one(say("a")), kind: providers.KindTimeout, took: 80 * time.Second, said: "a"},
		"stalled in the middle":     {pieces: []string{events(say("a")), "data: {"}, kind: providers.KindTimeout, took: 20 * time.Second, said: "a"},
		"a late start":              {pause: 170 * time.Second, pieces: []string{events(say("a"), stop, done)}, took: 170*time.Second + 250*time.Millisecond, said: "a"},
		"slow but steady":           {pause: 19 * time.Second, pieces: one(say("a"), say("b"), say("c"), stop+"\n\ndata: [DONE]"), took: 76*time.Second + 250*time.Millisecond, said: "abc"},
		"never closed after finish": {pieces: one(say("a"), stop), took: 2 * time.Second, said: "a"},
		"never closed after DONE":   {pieces: one(say("a"), stop, done), took: 250 * time.Millisecond, said: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newProvider(t, openai.Config{HTTPClient: &http.Client{Transport: wire(func(r *http.Request) *http.Response {
					if c.none {
						return nil
					}
					return paced(r.Context(), c.pause, c.pieces...)
				})}})
				start := time.Now()
				a := ask(t.Context(), p, question("hi"))
				if providers.KindOf(a.err) != c.kind || a.text != c.said || time.Since(start) != c.took {
					t.Errorf("got %+v after %v; want kind %q after %v", a, time.Since(start), c.kind, c.took)
				}
			})
		})
	}
}

func TestStream_ASlowConsumerIsNoStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProvider(t, openai.Config{HTTPClient: &http.Client{Transport: wire(func(r *http.Request) *http.Response {
			return paced(r.Context(), 0, events(say("a")), events(say("b")), events(stop, done))
		})}})
		for _, err := range p.Stream(t.Context(), question("hi")) {
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
		}
	})
}

func TestErrors_TellNoSecrets(t *testing.T) {
	t.Parallel()
	const key = "sk-secret-1234"
	leak := func(r *http.Request) string {
		return `bad ` + r.Header.Get("Authorization") + ` at http://` + r.Host + r.URL.RequestURI() + ` or https://u:pw1@other.example/a?token=pw2 and ` + r.URL.Query().Get("sig")
	}
	for name, step := range map[string]http.HandlerFunc{
		"status": func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, `{"error":{"message":"`+leak(r)+`"}}`, 400)
		},
		"stream": func(w http.ResponseWriter, r *http.Request) { stream(say("a"), `{"error":"`+leak(r)+`"}`)(w, r) },
		"reason": func(w http.ResponseWriter, r *http.Request) {
			stream(strings.ReplaceAll(stop, `"stop"`, `"`+leak(r)+`"`), done)(w, r)
		},
		"hang up": func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t, step)
			p := newProvider(t, openai.Config{BaseURL: f.url + "?sig=hunter2hunter2", APIKey: key})
			a := ask(t.Context(), p, question("hi"))
			if a.err == nil {
				t.Fatal("no error")
			}
			host := strings.TrimPrefix(strings.TrimSuffix(f.url, "/v1"), "http://")
			for _, secret := range []string{"secret", "hunter2", "pw1", "pw2", host, "127.0.0.1"} {
				if strings.Contains(a.err.Error(), secret) {
					t.Errorf("%q shows in: %v", secret, a.err)
				}
			}
			if f.header().Get("Authorization") != "Bearer "+key {
				t.Error("the key was not sent")
			}
		})
	}
}

func TestStream_NoServer(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	for name, c := range map[string]struct {
		base string
		dial error
		text string
		kind providers.Kind
	}{
		"nobody listens": {srv.URL, nil, "connection refused: start the server", providers.KindUnavailable},
		"unknown host":   {"http://gpu.internal.example", &net.DNSError{Err: "no such host", Name: "gpu.internal.example", IsNotFound: true}, "host name is not known", providers.KindUnavailable},
		"slow dial":      {"http://gpu.internal.example", &net.OpError{Op: "dial", Net: "tcp", Err: timeout{}}, "timed out", providers.KindTimeout},
		"another fault":  {"http://gpu.internal.example", errors.New("proxy gpu.internal.example says no"), "proxy [server] says no", providers.KindUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := openai.Config{BaseURL: c.base}
			if c.dial != nil {
				cfg.HTTPClient = &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, c.dial }}}
			}
			p := newProvider(t, cfg)
			a := ask(t.Context(), p, question("hi"))
			if providers.KindOf(a.err) != c.kind || !strings.Contains(a.err.Error(), c.text) || strings.Contains(a.err.Error(), "internal") || strings.Contains(a.err.Error(), "127.0.0.1") {
				t.Errorf("got %v", a.err)
			}
			if _, err := p.Models(t.Context()); providers.KindOf(err) != c.kind {
				t.Errorf("models: %v", err)
			}
		})
	}
}

type timeout struct{}

func (timeout) Error() string   { return "i/o timeout" }
func (timeout) Timeout() bool   { return true }
func (timeout) Temporary() bool { return true }

func TestNew_OwnClientFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	// An answer that ends with its connection leaves none idle behind.
	f := newFake(t, status(307, ``, "Location", "/v2/chat/completions", "Connection", "close"))
	p, err := openai.New(openai.Config{BaseURL: f.url, APIKey: "k"})
	if err != nil {
		t.Fatal(err)
	}
	if a := ask(t.Context(), p, question("hi")); providers.KindOf(a.err) != providers.KindProtocol || len(f.requests()) != 1 {
		t.Errorf("got %v after %d requests", a.err, len(f.requests()))
	}
}
