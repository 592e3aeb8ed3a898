package gemini_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log" //nolint:depguard // the SDK writes to it
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/providers"
	"molar/providers/gemini"
	"molar/schemas"
)

// The forms of a stream that the SDK refuses all say the same.
func TestMend_events(t *testing.T) {
	first, last := parts(say("Xin ")), ending("STOP", say("chào."))
	for name, body := range map[string]string{
		"comments and fields": ": ping\r\n\r\nevent: message\nid: 1\ndata: " + first + "\n\n: ping\n\n" + sse(last),
		"done":                sse(first, "[DONE]", last, "[DONE]"),
		"no blank line":       "data: " + first + "\ndata: " + last,
		"two data lines":      "data: " + first[:1] + "\ndata: " + first[1:] + "\n\n" + sse(last),
		"a list":              "[" + first + "\n,\r\n" + last + "]",
		"one object":          "{\n " + ending("STOP", say("Xin chào."))[1:],
		"lines of JSON":       first + "\n" + last + "\n",
	} {
		a := ask(t.Context(), at(t, newFake(t, raw(body))), question("q"))
		if a.err != nil || a.text != "Xin chào." || a.finish != providers.FinishStop {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// What the SDK fails at, or panics at, is not passed to it, and what Molar reads beside it is.
func TestMend_shapes(t *testing.T) {
	candidate := func(fields string) string {
		return `{"candidates":[{"content":{"parts":[{"text":"ok"}]},"finishReason":"STOP",` + fields + `}]}`
	}
	good := ending("STOP", say("ok"))
	for name, list := range map[string][]string{
		"no candidate":        {`{"candidates":[null]}`, good},
		"two candidates":      {`{"candidates":[{"content":{"parts":[{"text":"ok"}]},"finishReason":"STOP"},null]}`},
		"citations":           {candidate(`"citationMetadata":[]`)},
		"ratings":             {candidate(`"safetyRatings":{"a":1}`)},
		"probabilities":       {candidate(`"avgLogprobs":"NaN"`)},
		"index":               {candidate(`"index":"0"`)},
		"grounding":           {candidate(`"groundingMetadata":{"groundingChunks":[null],"groundingSupports":[null],"searchEntryPoint":"x"}`)},
		"no part":             {parts("null"), good},
		"other parts":         {parts(`{"executableCode":[]}`, `{"inlineData":{"data":"%%"}}`), good},
		"a damaged signature": {ending("STOP", `{"text":"ok","thoughtSignature":"%"}`)},
		"details of usage":    {`{"usageMetadata":{"promptTokensDetails":"x","trafficType":5},` + good[1:]},
		"times":               {`{"createTime":"now","modelStatus":[],"modelVersion":3,` + good[1:]},
	} {
		a := ask(t.Context(), at(t, newFake(t, events(list...))), question("q"))
		if a.err != nil || a.text != "ok" || a.finish != providers.FinishStop {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// An event that is not of the wire, and a panic of the SDK, are errors of the protocol that quote
// nothing.
func TestMend_unreadable(t *testing.T) {
	for name, body := range map[string]string{
		"no list":     sse(`{"candidates":{"secret":1}}`),
		"no object":   sse(`["secret"]`),
		"no JSON":     sse(`secret`),
		"many tokens": sse(`{"usageMetadata":{"promptTokenCount":5000000000},"candidates":[{"finishReason":"secret"}]}`),
	} {
		a := once(t.Context(), at(t, newFake(t, raw(body))), question("q"))
		if providers.KindOf(a.err) != providers.KindProtocol || strings.Contains(a.err.Error(), "secret") {
			t.Errorf("%s: %v", name, a.err)
		}
	}
	p := newProvider(t, gemini.Config{HTTPClient: &http.Client{Transport: panics{}}})
	a := once(t.Context(), p, question("q"))
	if providers.KindOf(a.err) != providers.KindProtocol || strings.Contains(a.err.Error(), "secret") {
		t.Errorf("panic: %v", a.err)
	}
}

// panics is a transport that panics, as the SDK does at odd answers.
type panics struct{}

func (panics) RoundTrip(*http.Request) (*http.Response, error) { panic("secret") }

// Errors inside a stream and of a request keep their status, kind and wait in every form.
func TestMend_errors(t *testing.T) {
	for name, tt := range map[string]struct {
		step http.HandlerFunc
		kind providers.Kind
		says string
		code int
	}{
		"a text":                 {raw(sse(`{"error":"overloaded"}`)), providers.KindUnavailable, "overloaded", 0},
		"a text after an event":  {raw(sse(parts(say("a")), `{"error":"overloaded"}`)), providers.KindUnavailable, "overloaded", 0},
		"odd details":            {raw(sse(`{"error":{"code":429,"message":"slow down","details":{}}}`)), providers.KindUnavailable, "slow down", 0},
		"an event of its own":    {raw("event: error\ndata: {\"error\":{\"code\":503,\"message\":\"busy\"}}\n\n"), providers.KindUnavailable, "busy", 503},
		"the status of the head": {status(503, `{"error":{"code":200,"message":"busy"}}`), providers.KindUnavailable, "busy", 503},
		"a list":                 {status(400, `[{"error":{"code":400,"message":"wrong"}}]`), providers.KindInvalid, "wrong", 400},
		"no JSON":                {status(502, "busy"), providers.KindUnavailable, "busy", 502},
		"a page":                 {status(502, "<html>"), providers.KindUnavailable, "without an explanation", 502},
		"a page as an answer":    {raw("<html>"), providers.KindProtocol, "web page", 0},
	} {
		a := once(t.Context(), at(t, newFake(t, tt.step)), question("q"))
		e, _ := errors.AsType[*providers.Error](a.err)
		if e == nil || e.Kind != tt.kind || e.Status != tt.code || !strings.Contains(e.Error(), tt.says) {
			t.Errorf("%s: %+v: %v", name, e, a.err)
		}
	}
}

// An event is passed on as soon as it is whole: the service sends the next one only after the
// consumer has the one before.
func TestMend_keepsNothingBack(t *testing.T) {
	taken := make(chan bool, 1)
	p := at(t, newFake(t, func(w http.ResponseWriter, r *http.Request) {
		for _, e := range []string{parts(say("a")), parts(say("b")), ending("STOP", say("c"))} {
			_, _ = io.WriteString(w, sse(e))
			_ = http.NewResponseController(w).Flush()
			select {
			case <-taken:
			case <-r.Context().Done():
			}
		}
	}))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	var text string
	for chunk, err := range p.Stream(ctx, question("q")) {
		if err != nil {
			t.Fatal(err)
		}
		if chunk.Text != "" {
			text += chunk.Text
			taken <- true
		}
	}
	if text != "abc" {
		t.Errorf("got %q", text)
	}
}

// breaking is a service whose answer breaks off with an error after these bytes.
type breaking string

func (b breaking) RoundTrip(req *http.Request) (*http.Response, error) {
	body := io.MultiReader(strings.NewReader(string(b)), iotest.ErrReader(errors.New("secret reset")))
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: closing{body}, Request: req}, nil
}

// closing fails to close.
type closing struct{ io.Reader }

func (closing) Close() error { return errors.New("secret close") }

// A broken stream is an error unless the answer was whole, and the SDK logs nothing of it.
func TestMend_brokenStreams(t *testing.T) {
	var logged bytes.Buffer
	before := log.Writer()
	log.SetOutput(&logged)
	defer log.SetOutput(before)
	for body, kind := range map[string]providers.Kind{
		"":                                       providers.KindIncomplete,
		sse(parts(say("a"))):                     providers.KindIncomplete,
		sse(parts(say("a"))) + "data: {\"candid": providers.KindIncomplete,
		sse(ending("STOP", say("a"))):            "",
	} {
		p := newProvider(t, gemini.Config{HTTPClient: &http.Client{Transport: breaking(body)}})
		if a := once(t.Context(), p, question("q")); providers.KindOf(a.err) != kind || a.afterEnd {
			t.Errorf("%q: %v", body, a.err)
		}
	}
	if logged.Len() > 0 {
		t.Errorf("logged %s", logged.String())
	}
}

// JSON passes the SDK with its digits, its order and its emptiness, even if it looks like what is
// passed instead of it.
func TestMend_verbatim(t *testing.T) {
	const args = `{"z":12345678901234567890,"a":1.0,"m":{},"molar:verbatim":"{\"b\":2}","é":"<&>"}`
	f := newFake(t, events(ending("STOP", `{"functionCall":{"name":"w__get_weather","args":`+args+`}}`)), events(ending("STOP", say("ok"))))
	p, req := at(t, f), question("q")
	req.Tools = []schemas.ToolInfo{weather()}
	first := ask(t.Context(), p, req)
	if first.err != nil || len(first.calls) != 1 || first.calls[0].Function.Arguments != args {
		t.Fatalf("got %+v", first)
	}
	back := results(first.calls, "")
	back.Parts[0].Result.Output = json.RawMessage(`{}`)
	req.Messages = append(req.Messages, first.message, back)
	if a := ask(t.Context(), p, req); a.err != nil {
		t.Fatal(a.err)
	}
	var got []string
	for _, line := range f.requests()[1].shape()[1:] {
		got = append(got, strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(line))
	}
	want := []string{
		`model {"functionCall":{"args":` + args + `,"name":"w__get_weather"},"thoughtSignature":"skip_thought_signature_validator"}`,
		`user {"functionResponse":{"name":"w__get_weather","response":{"output":{}}}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A schema goes beside tools where the model takes both, until it refuses.
func TestStream_schemaBesideTools(t *testing.T) {
	refused := status(400, fault(400, "INVALID_ARGUMENT", "Function calling with a response mime type: 'application/json' is unsupported", ""))
	for model, want := range map[string][]bool{"gemini-3-pro": {true, true}, "gemini-2.5-flash": {false, false}, "gemini-9-mini": {true, false, false}} {
		steps := []http.HandlerFunc{events(ending("STOP", say(`{"a":1}`)))}
		if len(want) > 2 {
			steps = append([]http.HandlerFunc{refused}, steps...)
		}
		f := newFake(t, steps...)
		p, req := at(t, f), question("q")
		if p.SchemaBesideTools(model, req.Schema) != want[0] {
			t.Errorf("%s: %v", model, !want[0])
		}
		req.Model, req.Tools = model, []schemas.ToolInfo{weather()}
		req.Schema = []byte(`{"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"integer"}}}`)
		for range 2 {
			if a := ask(t.Context(), p, req); a.err != nil {
				t.Fatal(a.err)
			}
		}
		var sent []bool
		for _, r := range f.requests() {
			schema := string(r.GenerationConfig["responseJsonSchema"])
			sent = append(sent, schema == string(req.Schema) && len(r.Tools) == 1)
		}
		if diff := cmp.Diff(want, sent); diff != "" || p.SchemaBesideTools(model, req.Schema) != want[len(want)-1] {
			t.Errorf("%s: %s", model, diff)
		}
	}
}
