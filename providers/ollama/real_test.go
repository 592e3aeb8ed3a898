package ollama_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"molar/internal/testkit/ollamatest"
	"molar/providers"
	"molar/providers/ollama"
	"molar/schemas"
)

// realTime bounds the exchanges of one test with the real server.
const realTime = 2 * time.Minute

// realProvider returns a provider for a real server.
func realProvider(t *testing.T, s *ollamatest.Server, cfg ollama.Config) *ollama.Provider {
	t.Helper()
	cfg.BaseURL, cfg.HTTPClient = s.URL, client(t)
	return newProvider(t, cfg)
}

// within returns the context for the exchanges of one test.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), realTime)
	t.Cleanup(cancel)
	return ctx
}

// lookup returns a tool that takes a number.
func lookup() []schemas.ToolInfo {
	return []schemas.ToolInfo{{
		Name: "f__lookup", Server: "f", ToolName: "lookup", Description: "Looks a family up.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer","minimum":0,"maximum":99},"part":{"enum":["all","names"]}},"required":["id"],"additionalProperties":false}`),
	}}
}

// withTools returns a request that offers the tool.
func withTools(model, text string) providers.Request {
	return providers.Request{Model: model, Tools: lookup(), Messages: question(text).Messages}
}

// executed adds the calls and a result for each to the conversation.
func executed(req providers.Request, a answer, results ...string) providers.Request {
	said := schemas.Message{Role: schemas.RoleAssistant}
	got := schemas.Message{Role: schemas.RoleTool}
	for i, c := range a.calls {
		said.Parts = append(said.Parts, schemas.Part{Kind: schemas.PartCall, Call: &c, State: a.states[i]})
		got.Parts = append(got.Parts, schemas.Part{Kind: schemas.PartResult, Text: results[i], Result: &schemas.ToolResult{ID: c.ID, ToolName: "lookup"}})
	}
	req.Messages = append(req.Messages, said, got)
	return req
}

func arguments(a answer) []string {
	var list []string
	for _, c := range a.calls {
		list = append(list, c.Function.Name+c.Function.Arguments)
	}
	return list
}

// wants fails the test unless the answer has these calls and this text.
func (a answer) wants(t *testing.T, text string, calls ...string) {
	t.Helper()
	finish := providers.FinishStop
	if len(calls) > 0 {
		finish = providers.FinishToolCalls
	}
	if a.err != nil || a.text != text || a.finish != finish || a.usage.TotalTokens == 0 {
		t.Fatalf("got %+v with error %v, want %q", a, a.err, text)
	}
	if diff := cmp.Diff(calls, arguments(a)); diff != "" {
		t.Fatal(diff)
	}
}

// printed returns a call as the test models print it.
func printed(id string) string {
	return `<tool_call>{"name": "f__lookup", "arguments": {"id": ` + id + `}}</tool_call>`
}

// script returns a fixed answer for each question and state of the conversation.
func script(lines ...string) string {
	var b strings.Builder
	for i := 0; i < len(lines); i += 3 {
		fmt.Fprintf(&b, "{{ if and (eq $q %q) (eq $turn %q) }}{{ $say = %s }}{{ end }}", lines[i], lines[i+1], lines[i+2])
	}
	return b.String()
}

const endless = "{{ if eq $q `on` }}{{ $say = `tick tock ` }}{{ $loop = true }}{{ else }}{{ $say = `fine` }}{{ end }}"

func TestReal_ToolLoop(t *testing.T) {
	s := ollamatest.Start(t)
	p := realProvider(t, s, ollama.Config{})
	s.Model(t, "m", script(
		"one", "", "`"+printed("7")+"`",
		"one", "at", "print `Said: ` $result",
		"both", "", "`"+printed("1")+printed("2")+"`",
		"both", "att", "print `Last: ` $result",
		"chain", "", "`"+printed("3")+"`",
		"chain", "at", "print `<tool_call>{\"name\": \"f__lookup\", \"arguments\": {\"id\": ` $result `}}</tool_call>`",
		"chain", "atat", "print `End: ` $result",
		"none", "", "`No tool is needed, ạ.`",
	))
	ctx := within(t)
	t.Run("one call", func(t *testing.T) {
		req := withTools("m", "one")
		a := ask(ctx, p, req)
		a.wants(t, "", `f__lookup{"id":7}`)
		ask(ctx, p, executed(req, a, `{"name":"Ängström"}`)).wants(t, `Said: {"name":"Ängström"}`)
	})
	t.Run("parallel calls", func(t *testing.T) {
		req := withTools("m", "both")
		a := ask(ctx, p, req)
		a.wants(t, "", `f__lookup{"id":1}`, `f__lookup{"id":2}`)
		ask(ctx, p, executed(req, a, "A", "B")).wants(t, "Last: B")
	})
	t.Run("a chain", func(t *testing.T) {
		req := withTools("m", "chain")
		a := ask(ctx, p, req)
		a.wants(t, "", `f__lookup{"id":3}`)
		req = executed(req, a, "42")
		a = ask(ctx, p, req)
		a.wants(t, "", `f__lookup{"id":42}`)
		ask(ctx, p, executed(req, a, "done")).wants(t, "End: done")
	})
	t.Run("no call", func(t *testing.T) {
		ask(ctx, p, withTools("m", "none")).wants(t, "No tool is needed, ạ.")
	})
}

func TestReal_Salvage(t *testing.T) {
	s := ollamatest.Start(t)
	p := realProvider(t, s, ollama.Config{})
	call := `{"name": "f__lookup", "arguments": {"id": 7}}`
	s.Model(t, "m", script(
		"bare", "", fmt.Sprintf("%q", call),
		"fence", "", fmt.Sprintf("%q", "```json\n["+call+", "+call+"]\n```"),
		"other", "", fmt.Sprintf("%q", `{"name": "f__lookup", "arguments": {"id": "seven"}}`),
		"words", "", fmt.Sprintf("%q", call+" That is all."),
	))
	ctx := within(t)
	ask(ctx, p, withTools("m", "bare")).wants(t, "", `f__lookup{"id":7}`)
	ask(ctx, p, withTools("m", "fence")).wants(t, "", `f__lookup{"id":7}`, `f__lookup{"id":7}`)
	ask(ctx, p, withTools("m", "other")).wants(t, `{"name": "f__lookup", "arguments": {"id": "seven"}}`)
	ask(ctx, p, withTools("m", "words")).wants(t, call+" That is all.")
}

func TestReal_ModelsWithoutTools(t *testing.T) {
	s := ollamatest.Start(t)
	p := realProvider(t, s, ollama.Config{})
	s.Make(t, "plain", ollamatest.Spec{NoTools: true, Script: script(
		"one", "", `"{\"tool_calls\":[{\"function\":{\"name\":\"f__lookup\",\"arguments\":{\"id\":7}}}]}"`,
		"Result of f__lookup:\nforty-two", "a", "`no`",
		"Result of f__lookup:\nforty-two", "", `"{\"answer\":\"It is 42, \\\"sure\\\" \\ud83d\\ude42 ạ.\"}"`,
	)})
	s.Make(t, "noise", ollamatest.Spec{Noise: true})
	s.Model(t, "able", script("one", "", `"{\"tool_calls\":[{\"function\":{\"name\":\"f__lookup\",\"arguments\":{\"id\":8}}}]}"`))
	ctx := within(t)
	t.Run("a call and an answer", func(t *testing.T) {
		req := withTools("plain", "one")
		a := ask(ctx, p, req)
		a.wants(t, "", `f__lookup{"id":7}`)
		ask(ctx, p, executed(req, a, "forty-two")).wants(t, `It is 42, "sure" 🙂 ạ.`)
	})
	t.Run("a call that must be", func(t *testing.T) {
		req := withTools("able", "one")
		req.ToolChoice = providers.ToolRequired
		ask(ctx, p, req).wants(t, "", `f__lookup{"id":8}`)
	})
	t.Run("noise answers or calls", func(t *testing.T) {
		for i := range 5 {
			a := ask(ctx, p, withTools("noise", fmt.Sprint("try ", i)))
			if a.err != nil || (a.text == "") == (len(a.calls) == 0) {
				t.Fatalf("got %+v, %v", a, a.err)
			}
		}
	})
	t.Run("schemas that a format must not hold", func(t *testing.T) {
		for i, schema := range []string{
			`{"properties":{"a":{"type":"string","pattern":"^(?:a|\\d)+$"},"b":{"type":"string","minLength":9,"maxLength":3}},"required":["a","b"]}`,
			`{"properties":{"a":{"type":"array","items":{"type":"boolean"},"minItems":3,"maxItems":2},"b":{"type":"integer","minimum":3,"maximum":2}},"required":["a","b"]}`,
			`{"properties":{"a":{"type":"string","maxLength":5000},"b":{"not":{}},"c":{"enum":[]}},"required":["a"]}`,
			`{"$defs":{"n":{"properties":{"n":{"$ref":"#/$defs/n"}}}},"properties":{"a":{"$ref":"#/$defs/n"}},"required":["a"]}`,
			`{"properties":{"a\"b":{"const":"\"\\"},"a b":true,"a-b":{"type":["integer","null"]},"é":{"enum":["é",null,[1]]}},"required":["a\"b","é"]}`,
			`{"type":"string"}`, `{"type":"object","patternProperties":{"^x":{}},"additionalProperties":false}`, `{}`,
		} {
			req := withTools("noise", "call")
			req.Tools = []schemas.ToolInfo{{Name: "t__x", InputSchema: json.RawMessage(schema)}}
			req.ToolChoice, req.MaxTokens = providers.ToolRequired, 400
			// A noise model may repeat one token thirty times, which ends the server's stream; a
			// crash or a hang would not recover.
			a := ask(ctx, p, req)
			for try := 0; try < 5 && providers.KindOf(a.err) == providers.KindIncomplete; try++ {
				a = ask(ctx, p, req)
			}
			if a.err != nil {
				t.Errorf("schema %d: %v", i, a.err)
			}
		}
	})
	t.Run("noise is held to the form", func(t *testing.T) {
		for i := range 10 {
			req := withTools("noise", fmt.Sprint("try ", i))
			req.ToolChoice = providers.ToolRequired
			a := ask(ctx, p, req)
			if a.err != nil || len(a.calls) == 0 || a.text != "" {
				t.Fatalf("got %+v, %v", a, a.err)
			}
			for _, c := range a.calls {
				var args struct{ ID *int }
				if err := json.Unmarshal([]byte(c.Function.Arguments), &args); err != nil || args.ID == nil || *args.ID < 0 || *args.ID > 99 {
					t.Errorf("call %+v: %v", c, err)
				}
			}
		}
	})
}

func TestReal_Thinking(t *testing.T) {
	s := ollamatest.Start(t)
	s.Make(t, "m", ollamatest.Spec{Thinking: true, Script: "{{ if .Think }}{{ $say = `<think>Hmm.</think>Yes.` }}{{ else }}{{ $say = `Yes.` }}{{ end }}"})
	ctx := within(t)
	for think, want := range map[schemas.Thinking]string{schemas.ThinkingHigh: "Hmm.", "": ""} {
		a := ask(ctx, realProvider(t, s, ollama.Config{Tuning: schemas.Tuning{Thinking: think}}), providers.Request{Model: "m", Messages: question("?").Messages})
		a.wants(t, "Yes.")
		if a.thinking != want {
			t.Errorf("think %v: thinking %q, want %q", think, a.thinking, want)
		}
	}
}

// If a parser of the server fails, the model is loaded again: it would hang for every client from
// then on.
func TestReal_ParserFault(t *testing.T) {
	s := ollamatest.Start(t)
	for parser, call := range map[string]string{
		"qwen3":       `<tool_call>{"name": nonsense}</tool_call>`,
		"qwen3-coder": "<tool_call>\n<function=f__lookup>\n<parameter=id>\n7\n</function>\n</tool_call>", // without </parameter>
	} {
		t.Run(parser, func(t *testing.T) {
			s.Make(t, parser, ollamatest.Spec{Parser: parser, Script: fmt.Sprintf("{{ if eq $q `one` }}{{ $say = %q }}{{ else }}{{ $say = `Repaired.` }}{{ end }}", call)})
			p, ctx := realProvider(t, s, ollama.Config{}), within(t)
			a := ask(ctx, p, withTools(parser, "one"))
			a.wants(t, "Repaired.")
			if diff := cmp.Diff([]string{"unreadable tool call, asked again"}, a.notes); diff != "" {
				t.Error(diff)
			}
			ask(ctx, p, withTools(parser, "two")).wants(t, "Repaired.")
		})
	}
}
