package traffic_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/bench/traffic"
	"molar/eval/cassettes"
)

const (
	chatURL   = "https://api.example/v1/chat/completions"
	geminiURL = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse"
	ollamaURL = "http://127.0.0.1:11434/api/chat"
)

// offer returns a request of Chat Completions that offers a tool, after some messages.
func offer(messages ...string) string {
	return `{"model":"m","messages":[` + strings.Join(append([]string{`{"role":"user","content":"?"}`}, messages...), ",") +
		`],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"a":{"type":"integer"}}}}}]}`
}

func stream(events ...string) string {
	return "data: " + strings.Join(events, "\n\ndata: ") + "\n\n"
}

func chatEnd(reason string) string {
	return `{"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}],"usage":{"prompt_tokens":7,"completion_tokens":3}}`
}

// Answers that Molar reads as they say, on each API that it speaks.
func TestCheck_exact(t *testing.T) {
	t.Parallel()
	geminiTools := `{"contents":[],"tools":[{"functionDeclarations":[{"name":"f"}]}]}`
	for name, e := range map[string]cassettes.Exchange{
		"chat, streamed": {URL: chatURL, Request: offer(), Response: stream(
			`{"choices":[{"index":0,"delta":{"reasoning_content":"Hm."}}]}`, `{"choices":[{"index":0,"delta":{"content":"Xin chào"}}]}`, chatEnd("stop"), "[DONE]")},
		"chat, calls": {URL: chatURL, Request: offer(), Response: stream(
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":""}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":12345678901234567890}"}}]}}]}`, chatEnd("tool_calls"))},
		"chat, whole": {URL: chatURL, Request: offer(), Response: `{"choices":[{"message":{"content":"Hi","refusal":null},"finish_reason":"length"}]}`},
		"chat, alone": {Response: `{"choices":[{"message":{"tool_calls":[{"id":"c","function":{"name":"g","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`},
		"gemini": {URL: geminiURL, Request: geminiTools, Response: stream(
			`{"candidates":[{"content":{"parts":[{"thought":true,"text":"Hm."},{"text":"Hi "}]}}]}`,
			`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":1}},"thoughtSignature":"c2ln"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":3,"thoughtsTokenCount":2}}`)},
		"gemini, whole":   {URL: geminiURL, Response: "{\n \"candidates\": [{\"content\": {\"parts\": [{\"text\": \"Hi\"}]}, \"finishReason\": \"STOP\"}]\n}"},
		"gemini, blocked": {URL: geminiURL, Response: `{"promptFeedback":{"blockReason":"SAFETY"}}`},
		"ollama": {URL: ollamaURL, Request: offer(), Response: `{"message":{"thinking":"Hm."},"done":false}` + "\n" +
			`{"message":{"content":"","tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]},"done":false}` + "\n" +
			`{"message":{"content":""},"done":true,"done_reason":"stop","prompt_eval_count":7,"eval_count":3}` + "\n"},
		"anthropic": {URL: "https://api.anthropic.com/v1/messages", Response: stream(
			`{"type":"message_start","message":{"content":[],"usage":{"input_tokens":5,"cache_read_input_tokens":2,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t1","name":"f","input":{}}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}`,
			`{"type":"content_block_stop","index":1}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}`, `{"type":"message_stop"}`)},
		"responses": {URL: "https://api.openai.com/v1/responses", Response: `{"object":"response","status":"completed","output":[` +
			`{"type":"reasoning","id":"rs_1","encrypted_content":"c2VhbGVk","summary":[{"type":"summary_text","text":"Hm."}]},` +
			`{"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":"{\"a\":1}"}],"usage":{"input_tokens":7,"output_tokens":3}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := traffic.Check(t.Context(), "f", []cassettes.Exchange{e})
			switch {
			case len(all) != 1:
				t.Error("it was skipped")
			case all[0].Verdict != traffic.Exact || all[0].Next != strings.Contains(e.Response, `"name"`):
				t.Errorf("%+v", all[0])
			}
		})
	}
}

// Other verdicts, and why.
func TestCheck_verdicts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		exchange cassettes.Exchange
		want     traffic.Verdict
		why      string
	}{
		// The plain reading takes text for text; Molar finds the call in it.
		"printed call": {
			cassettes.Exchange{URL: chatURL, Request: offer(), Response: `{"choices":[{"message":{"content":"<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>"},"finish_reason":"stop"}]}`},
			traffic.Differs, `whole: calls: want "", got "f {}`,
		},
		// No service takes such a name back, so Molar sends another.
		"next request": {
			cassettes.Exchange{URL: geminiURL, Response: `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"a%b","args":{}}}]},"finishReason":"STOP"}]}`},
			traffic.Differs, `next request: call 1: name: want "a%b"`,
		},
		"empty":        {cassettes.Exchange{URL: geminiURL, Response: `{"candidates":[{"finishReason":"STOP"}]}`}, traffic.Asked, "without an answer"},
		"malformed":    {cassettes.Exchange{URL: geminiURL, Response: `{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}`}, traffic.Asked, "could not be read"},
		"cut":          {cassettes.Exchange{URL: chatURL, Response: "data: {\"choices\":"}, traffic.Unreadable, "cut off"},
		"no body":      {cassettes.Exchange{URL: chatURL}, traffic.Unreadable, "no event"},
		"without end":  {cassettes.Exchange{URL: ollamaURL, Response: `{"message":{"content":"a"},"done":false}`}, traffic.Unreadable, "no end"},
		"number enums": {cassettes.Exchange{URL: geminiURL, Response: `{"candidates":[{"finishReason":1}]}`}, traffic.Unreadable, "numbers"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := traffic.Check(t.Context(), "f", []cassettes.Exchange{tt.exchange})
			if len(all) != 1 || all[0].Verdict != tt.want || !strings.Contains(strings.Join(all[0].Why, " "), tt.why) {
				t.Errorf("%+v", all)
			}
		})
	}
}

// Traffic that is no answer of a model is skipped.
func TestCheck_skips(t *testing.T) {
	t.Parallel()
	all := traffic.Check(t.Context(), "f", []cassettes.Exchange{
		{Method: http.MethodGet, URL: "https://api.example/v1/models", Response: `{"data":[]}`},
		{Method: http.MethodPost, URL: "https://api.example/v1/embeddings", Response: `{"object":"list","data":[]}`},
		{Method: http.MethodPost, URL: "https://api.example/v1/completions", Response: `{"choices":[{"text":"a"}]}`},
	})
	if len(all) != 0 {
		t.Errorf("%+v", all)
	}
}

// The next request has the recorded results.
func TestCheck_recordedResults(t *testing.T) {
	t.Parallel()
	call := `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	all := traffic.Check(t.Context(), "f", []cassettes.Exchange{
		{URL: chatURL, Request: offer(), Response: `{"choices":[{"message":` + call + `,"finish_reason":"tool_calls"}]}`},
		{URL: chatURL, Request: offer(call, `{"role":"tool","tool_call_id":"c1","content":"it is 31"}`), Response: `{"choices":[{"message":{"content":"31"},"finish_reason":"stop"}]}`},
	})
	if len(all) != 2 || all[0].Verdict != traffic.Exact || !all[0].Recorded || all[1].Next {
		t.Errorf("%+v", all)
	}
}

// What comes of recorded failures.
func TestCheck_failures(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		exchange   cassettes.Exchange
		kind, then string
	}{
		"key":   {cassettes.Exchange{URL: chatURL, Status: 401, Response: `{"error":{"message":"bad key"}}`}, "auth", "the next provider"},
		"limit": {cassettes.Exchange{URL: chatURL, Status: 429, Response: `{"error":{"message":"slow down"}}`}, "quota", "waits, asks again; then the next provider"},
		"long wait": {
			cassettes.Exchange{URL: chatURL, Status: 429, Header: http.Header{"Retry-After": {"3600"}}, Response: `{"error":{"message":"slow down"}}`}, "quota", "the next provider",
		},
		"length": {
			cassettes.Exchange{URL: chatURL, Status: 400, Response: `{"error":{"message":"too long","code":"context_length_exceeded"}}`},
			"context_length_exceeded", "shortens, asks again; then the next provider",
		},
		"withheld":      {cassettes.Exchange{URL: chatURL, Response: `{"error":{"message":"no such talk","code":"content_filter","status":400}}`}, "", "the answer is withheld"},
		"bad request":   {cassettes.Exchange{URL: geminiURL, Status: 400, Response: `{"error":{"message":"no"}}`}, "invalid_request", "ends"},
		"in the stream": {cassettes.Exchange{URL: chatURL, Response: stream(`{"choices":[{"delta":{"content":"a"}}]}`, `{"error":{"message":"overloaded"}}`)}, "unavailable", "ends, with what was shown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := traffic.Check(t.Context(), "f", []cassettes.Exchange{tt.exchange})
			if len(all) != 1 || all[0].Verdict != traffic.Refused || all[0].Fault.Kind != tt.kind || all[0].Fault.Then != tt.then {
				t.Errorf("%+v %+v", all, all[0].Fault)
			}
		})
	}
}

func TestFolder(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, data := range map[string]string{
		"one/a.yaml": "interactions:\n- request: {method: POST, url: '" + chatURL + "'}\n  response: {code: 200, body: '{\"choices\":[{\"message\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}'}\n",
		"one/b.json": `{"choices":[{"message":{"content":"<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>","tool_calls":[]},"finish_reason":"stop"}]}`,
		"two/c.json": `{"candidates":[{"finishReason":"STOP"}]}`,
		"two/d.yaml": "interactions: [\n",
		"two/e.txt":  "nothing of ours",
		"f.json":     `{"error":{"message":"no model here"}}`,
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	answers, faults, err := traffic.Folder(t.Context(), root)
	if err != nil || len(faults) != 1 || !strings.Contains(faults[0].Error(), "two/d.yaml") {
		t.Fatalf("%v, faults %v", err, faults)
	}
	got := map[string]traffic.Verdict{}
	for _, a := range answers {
		got[a.ID()] = a.Verdict
	}
	want := map[string]traffic.Verdict{"one/a.yaml#1": traffic.Exact, "one/b.json#1": traffic.Exact, "two/c.json#1": traffic.Asked}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	report := traffic.Report{Unread: []string{"x.yaml: bad"}, Answers: []traffic.Answer{
		{File: "one/a.yaml", Index: 1, Service: "api.example", Wire: "chat", Verdict: traffic.Exact, Next: true, Recorded: true},
		{File: "one/b.yaml", Index: 2, Service: "api.example", Wire: "chat", Verdict: traffic.Differs, Why: []string{"text: …"}},
		{File: "two/c.yaml", Index: 1, Wire: "gemini", Verdict: traffic.Differs, Why: []string{"calls: …"}},
		{File: "two/c.yaml", Index: 2, Wire: "gemini", Verdict: traffic.Unreadable, Why: []string{"cut off"}},
		{File: "two/d.yaml", Index: 1, Wire: "gemini", Verdict: traffic.Refused, Fault: &traffic.Fault{Status: 429, Kind: "quota", Then: "the next provider", Message: "slow down"}},
	}}
	if err := report.Mark("# a comment\n\ntwo/c.yaml#1\tit is printed\n"); err != nil {
		t.Fatal(err)
	}
	if unknown := report.Unknown(); len(unknown) != 1 || unknown[0].ID() != "one/b.yaml#2" {
		t.Errorf("unknown %v", unknown)
	}
	want := `     API     answers  exact  differs  asked again  refused  unreadable
one  chat    2        1      1        -            -        -
two  gemini  3        -      1        -            1        1
all  chat    2        1      1        -            -        -
all  gemini  3        -      1        -            1        1
all  all     5        1      2        -            1        1

Next requests: 1 of 1 bring the calls and results back as they should (1 with the recorded results).

Differs:
  one/b.yaml#2 (chat): text: …

Differs, as it should:
  two/c.yaml#1 (gemini): it is printed

No plain reading:
  1 gemini: cut off, such as two/c.yaml#2

Cannot be read as a recording:
  x.yaml: bad

Failures:
  n  API     status  kind   then               message
  1  gemini  429     quota  the next provider  slow down
`
	if diff := cmp.Diff(want, report.Text(traffic.ByFolder, true)); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"two/c.yaml#1", "two/c.yaml#1 no tab"} {
		if err := report.Mark(bad); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
	if got := fmt.Sprint(traffic.ByService(report.Answers[2]), traffic.ByFolder(traffic.Answer{File: "a"})); got != "(without an address)." {
		t.Error(got)
	}
}
