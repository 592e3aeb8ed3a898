package openai_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"molar/providers"
	"molar/providers/openai"
)

// Refusals in the forms and with the codes of the servers that speak this wire format.
func TestStream_Refusals(t *testing.T) {
	t.Parallel()
	overflow := `{"error":{"message":"This model's maximum context length is 8192 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`
	for name, c := range map[string]struct {
		status int
		body   string
		kind   providers.Kind
		text   string
		final  bool
	}{
		"overflow by code":          {400, strings.Replace(overflow, "maximum context length", "length", 1), providers.KindContextLength, "8192 tokens", false},
		"overflow, llama.cpp":       {400, `{"error":{"code":400,"message":"the request is too long","type":"exceed_context_size_error"}}`, providers.KindContextLength, "", false},
		"overflow, vLLM":            {400, `{"object":"error","message":"This model's maximum context length is 5 tokens","type":"BadRequestError","code":400}`, providers.KindContextLength, "5 tokens", false},
		"overflow behind a gateway": {400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"This model's maximum context length is 8192 tokens.\"}}","provider_name":"X"}}}`, providers.KindContextLength, "Provider returned error: This model's maximum context length", false},
		"overflow by type":          {400, `{"error":{"code":400,"message":"it is long","type":"too_many_prompt_tokens"}}`, providers.KindContextLength, "it is long", false},
		"overflow, OpenRouter":      {400, `{"error":{"code":400,"message":"Token limit reached"}}`, providers.KindContextLength, "", false},
		"a limit of tokens":         {429, `{"error":{"code":429,"message":"Token limit reached"}}`, providers.KindQuota, "", false},
		"a key by its words":        {400, `{"code":"invalid-argument","error":"Incorrect API key provided."}`, providers.KindAuth, "check OPENAI_API_KEY", false},
		"details":                   {422, `{"detail":[{"loc":["body"],"msg":"field required"}]}`, providers.KindInvalid, "field required", false},
		"a key by code":             {400, `{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}`, providers.KindAuth, "check OPENAI_API_KEY", false},
		"a model by code":           {400, `{"error":{"message":"no","code":"model_not_found"}}`, providers.KindModelNotFound, "check llm.openai.model", false},
		"no model without a word":   {404, ``, providers.KindModelNotFound, "", false},
		"no page, FastAPI":          {404, `{"detail":"Not Found"}`, providers.KindUnavailable, "ends in /v1", false},
		"a limit by code":           {400, `{"error":{"message":"slow","code":"rate_limit_exceeded"}}`, providers.KindQuota, "slow", false},
		"a limit behind a gateway":  {429, `{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"z-ai/glm:free is temporarily rate-limited upstream. Please retry shortly.","provider_name":"BaseTen"}}}`, providers.KindQuota, "Provider returned error: z-ai/glm:free is temporarily rate-limited upstream", false},
		"out of credit":             {429, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota","type":"insufficient_quota"}}`, providers.KindQuota, "current quota", true},
		"out of credit, Kimi":       {429, `{"error":{"message":"You exceeded your current token quota","type":"exceeded_current_quota_error"}}`, providers.KindQuota, "token quota", true},
		"it says not to":            {500, ``, providers.KindUnavailable, "status 500 without an explanation", true},
		"a status beside the words": {503, `{"error":"no"}`, providers.KindUnavailable, "status 503: no", false},
		"an error inside a list":    {400, `[{"error":{"code":400,"message":"API key not valid","status":"INVALID_ARGUMENT"}}]`, providers.KindInvalid, "API key not valid", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := []string{}
			if name == "it says not to" {
				header = []string{"X-Should-Retry", "false"}
			}
			f := newFake(t, status(c.status, c.body, header...))
			a := ask(t.Context(), newProvider(t, openai.Config{BaseURL: f.url, APIKey: "sk-secret-1234"}), question("hi"))
			e, isOurs := errors.AsType[*providers.Error](a.err)
			if !isOurs || e.Kind != c.kind || !strings.Contains(e.Error(), c.text) || e.Status != c.status || e.Final != c.final {
				t.Errorf("got %+v: %v; want kind %q, %q", e, a.err, c.kind, c.text)
			}
		})
	}
}

// What the content filter refuses is a withheld answer, however the service says it. It is neither
// asked again nor an outage.
func TestStream_TheContentFilter(t *testing.T) {
	t.Parallel()
	const fault = `{"error":{"code":"content_filter","message":"no such talk","param":"prompt","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`
	for name, c := range map[string]struct {
		api    openai.API
		answer http.HandlerFunc
		text   string
	}{
		"a refusal":                    {openai.APIChat, status(400, fault), ""},
		"a refusal, Responses":         {openai.APIResponses, status(400, fault), ""},
		"whole":                        {openai.APIChat, raw("application/json", fault), ""},
		"whole, Responses":             {openai.APIResponses, raw("application/json", fault), ""},
		"in the stream":                {openai.APIChat, raw("text/event-stream", "data: "+fault+"\n\n"), ""},
		"in the stream, after text":    {openai.APIChat, raw("text/event-stream", "data: "+say("a")+"\n\ndata: "+fault+"\n\n"), "a"},
		"in the stream, Responses":     {openai.APIResponses, raw("text/event-stream", event(`{"type":"error","code":"content_filter","message":"no such talk"}`)), ""},
		"a failed response":            {openai.APIResponses, raw("text/event-stream", event(`{"type":"response.failed","response":{"status":"failed","error":{"code":"content_filter","message":"no such talk"},"output":[]}}`)), ""},
		"a failed response after text": {openai.APIResponses, raw("text/event-stream", speaks(0, "", "a")+event(`{"type":"response.failed","response":{"status":"failed","error":{"code":"content_filter","message":"no such talk"},"output":[]}}`)), "a"},
	} {
		f := newFake(t, c.answer)
		a := askWithRetries(t.Context(), newProvider(t, openai.Config{API: c.api, BaseURL: f.url}), question("hi"))
		if a.err != nil || a.text != c.text || a.finish != providers.FinishContentFilter || len(f.requests()) != 1 ||
			!strings.Contains(strings.Join(a.notes, "\n"), "no such talk") {
			t.Errorf("%s: %+v after %d requests", name, a, len(f.requests()))
		}
	}
}

// good returns a whole answer, says a refusal with a body.
func good() *http.Response { return ok(strings.NewReader(events(say("a"), stop, done))) }

func says(code int, body string) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
}

// A role is not output, and the end marker may be missing after a finish reason.
func TestStream_Waits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sent, said string
		kind       providers.Kind
		took       time.Duration
	}{
		"a role alone":           {events(role), "", providers.KindTimeout, 180 * time.Second},
		"a reason, never closed": {events(say("a"), stop), "a", "", 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newProvider(t, openai.Config{API: openai.APIChat, HTTPClient: &http.Client{Transport: wire(func(r *http.Request) *http.Response {
					body, w := io.Pipe()
					go func() {
						_, _ = io.WriteString(w, c.sent)
						<-r.Context().Done()
						w.CloseWithError(r.Context().Err())
					}()
					return ok(body)
				})}})
				start := time.Now()
				a := ask(t.Context(), p, question("hi"))
				if providers.KindOf(a.err) != c.kind || a.text != c.said || time.Since(start) != c.took {
					t.Errorf("got %+v after %v", a, time.Since(start))
				}
			})
		})
	}
}
