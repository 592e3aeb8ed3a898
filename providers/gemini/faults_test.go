package gemini_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"molar/providers"
	"molar/schemas"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The refusals that are specific to this service, and how long it asks to wait.
func TestStream_refusals(t *testing.T) {
	info := func(delay string) string {
		return `{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"` + delay + `"}`
	}
	quota := func(details string) string { return fault(429, "RESOURCE_EXHAUSTED", "quota", "["+details+"]") }
	for name, tt := range map[string]struct {
		step  http.HandlerFunc
		kind  providers.Kind
		says  string
		wait  time.Duration
		final bool
	}{
		"too long": {step: status(400, fault(400, "INVALID_ARGUMENT", "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).", "")), kind: providers.KindContextLength, says: "1048576"},
		"a bad key": {
			step: status(400, fault(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", `[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]`)),
			kind: providers.KindAuth, says: "GEMINI_API_KEY",
		},
		"a bad key, by its reason": {step: status(400, fault(400, "INVALID_ARGUMENT", "no", `[{"reason":"API_KEY_INVALID"}]`)), kind: providers.KindAuth, says: "no"},
		"no API":                   {step: status(404, fault(404, "", "nothing here", "")), kind: providers.KindUnavailable, says: "llm.gemini.base_url"},
		"a wait":                   {step: status(429, quota(info("90.5s"))), kind: providers.KindQuota, says: "quota", wait: 90500 * time.Millisecond},
		"the longer of two":        {step: status(429, quota(info("1.5s")), "Retry-After", "3"), kind: providers.KindQuota, says: "quota", wait: 3 * time.Second},
		"the longer of two, again": {step: status(429, quota(info("1.5s")), "Retry-After", "1"), kind: providers.KindQuota, says: "quota", wait: 1500 * time.Millisecond},
		"a day's quota is used up": {
			step: status(429, quota(`{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier","quotaValue":"250"}]},`+info("1.5s"))),
			kind: providers.KindQuota, says: "quota", wait: 1500 * time.Millisecond, final: true,
		},
		"a limit between the events": {step: raw(sse(parts(say("a"))) + "{\n  \"error\": {\n    \"code\": 429,\n    \"message\": \"slow down\",\n    \"status\": \"RESOURCE_EXHAUSTED\"\n  }\n}\n"), kind: providers.KindQuota, says: "slow down"},
	} {
		t.Run(name, func(t *testing.T) {
			a := once(t.Context(), at(t, newFake(t, tt.step)), question("q"))
			e, _ := errors.AsType[*providers.Error](a.err)
			if e == nil || e.Kind != tt.kind || !strings.Contains(e.Error(), tt.says) || e.RetryAfter != tt.wait || e.Final != tt.final || a.finish != "" {
				t.Errorf("got %+v: %v", e, a.err)
			}
		})
	}
}

// A panic of the consumer is passed on, although panics of the SDK are caught.
func TestStream_consumerPanics(t *testing.T) {
	f := newFake(t, events(parts(say("a")), ending("STOP", say("b"))))
	p := at(t, f)
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

// A tool whose declaration is refused is left out; an error about a call leaves out none.
func TestStream_aRefusedTool(t *testing.T) {
	other := weather()
	other.Name = "w__deep"
	good := events(parts(say("a")), ending("STOP"))
	for _, tt := range []struct {
		message string
		kind    providers.Kind
		again   int // the number of tools that the next request offers
	}{
		{"* GenerateContentRequest.tools[0].function_declarations[1].parameters.properties[a].items: missing field.", "", 1},
		{`Invalid JSON payload received. Unknown name "const" at 'tools[0].functionDeclarations[1].parameters': Cannot find field.`, "", 1},
		{"FunctionDeclaration 'w__deep' in the request exceeds the maximum allowed nesting depth.", "", 1},
		{"Unable to submit request because `w__deep` functionDeclaration `parameters.a` schema specified other fields alongside any_of.", "", 1},
		{"function call `default_api:w__deep` in the 2. content block is missing a thought_signature.", providers.KindInvalid, 2},
	} {
		f := newFake(t, status(400, fault(400, "INVALID_ARGUMENT", tt.message, "")), good)
		p, req := at(t, f), question("q")
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
