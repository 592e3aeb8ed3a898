package openai_test

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"molar/providers"
	"molar/schemas"
)

func TestStream_PutsCallsTogether(t *testing.T) {
	t.Parallel()
	f := func(pairs ...string) (out []schemas.FunctionCall) {
		for pair := range slices.Chunk(pairs, 2) {
			out = append(out, schemas.FunctionCall{Name: pair[0], Arguments: pair[1]})
		}
		return out
	}
	for name, c := range map[string]struct {
		chunks []string
		want   []schemas.FunctionCall
	}{
		"as OpenAI streams":        {[]string{begin(0, "a", "f"), more(0, `{"x"`), more(0, `:1}`), begin(1, "b", "g"), more(1, `{}`)}, f("f", `{"x":1}`, "g", `{}`)},
		"interleaved":              {[]string{begin(0, "a", "f"), begin(1, "b", "g"), more(1, `{"y":`), more(0, `{"x":`), more(1, `2}`), more(0, `1}`)}, f("f", `{"x":1}`, "g", `{"y":2}`)},
		"whole in one delta":       {[]string{tool(`{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\": 1}"}},{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":"{}"}}`)}, f("f", `{"x":1}`, "g", `{}`)},
		"index from 1":             {[]string{begin(1, "a", "f"), more(1, `{}`)}, f("f", `{}`)},
		"a gap in the index":       {[]string{begin(0, "a", "f"), begin(5, "b", "g"), more(5, `{"y":2}`)}, f("f", `{}`, "g", `{"y":2}`)},
		"an index never used":      {[]string{tool(`{"index":0}`), begin(1, "b", "g")}, f("g", `{}`)},
		"no index":                 {[]string{tool(`{"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`), tool(`{"function":{"arguments":"1}"}}`), tool(`{"id":"b","function":{"name":"g","arguments":"{}"}}`)}, f("f", `{"x":1}`, "g", `{}`)},
		"no index, by id":          {[]string{tool(`{"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`), tool(`{"id":"b","function":{"name":"g"}}`), tool(`{"id":"a","function":{"arguments":"1}"}}`), tool(`{"id":"b","function":{"arguments":"{\"y\":2}"}}`)}, f("f", `{"x":1}`, "g", `{"y":2}`)},
		"no index and no id":       {[]string{tool(`{"function":{"name":"f","arguments":"{\"x\":1}"}},{"function":{"name":"g","arguments":"{}"}}`)}, f("f", `{"x":1}`, "g", `{}`)},
		"no ids, index always 0":   {[]string{tool(`{"index":0,"function":{"name":"f","arguments":"{\"x\":1}"}}`), tool(`{"index":0,"function":{"name":"f","arguments":"{\"x\":2}"}}`), tool(`{"index":0,"function":{"name":"g","arguments":"{}"}}`)}, f("f", `{"x":1}`, "f", `{"x":2}`, "g", `{}`)},
		"same index, other ids":    {[]string{begin(0, "a", "f"), more(0, `{"x":1}`), begin(0, "b", "g"), more(0, `{"y":2}`)}, f("f", `{"x":1}`, "g", `{"y":2}`)},
		"same call, same index":    {[]string{begin(0, "a", "f"), more(0, `{}`), begin(0, "b", "f"), more(0, `{}`)}, f("f", `{}`, "f", `{}`)},
		"late id":                  {[]string{tool(`{"index":0,"function":{"name":"f","arguments":"{"}}`), tool(`{"index":0,"id":"a","function":{"arguments":"}"}}`)}, f("f", `{}`)},
		"late name":                {[]string{tool(`{"index":0,"id":"a"}`), tool(`{"index":0,"function":{"name":"f"}}`), more(0, `{}`)}, f("f", `{}`)},
		"name repeated":            {[]string{begin(0, "a", "f"), tool(`{"index":0,"function":{"name":"f","arguments":"{\"x\":"}}`), tool(`{"index":0,"function":{"name":"f","arguments":"1}"}}`), tool(`{"index":0,"function":{"name":"f","arguments":""}}`)}, f("f", `{"x":1}`)},
		"id repeated":              {[]string{tool(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`), tool(`{"index":0,"id":"a","function":{"name":"f","arguments":"1}"}}`)}, f("f", `{"x":1}`)},
		"another id each time":     {[]string{tool(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`), tool(`{"index":0,"id":"b","function":{"arguments":"1}"}}`)}, f("f", `{"x":1}`)},
		"the whole call repeated":  {[]string{begin(0, "a", "f"), more(0, `{"x":1}`), tool(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`)}, f("f", `{"x":1}`)},
		"duplicate ids":            {[]string{begin(0, "a", "f"), more(0, `{}`), begin(1, "a", "g"), more(1, `{}`)}, f("f", `{}`, "g", `{}`)},
		"no type":                  {[]string{tool(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`)}, f("f", `{}`)},
		"arguments as an object":   {[]string{tool(`{"index":0,"id":"a","function":{"name":"f","arguments":{"x": 9007199254740993, "y": 1.0}}}`)}, f("f", `{"x":9007199254740993,"y":1.0}`)},
		"arguments quoted twice":   {[]string{tool(`{"index":0,"id":"a","function":{"name":"f","arguments":"\"{\\\"x\\\":1}\""}}`)}, f("f", `{"x":1}`)},
		"null arguments":           {[]string{tool(`{"index":0,"id":"a","function":{"name":"f","arguments":null}}`)}, f("f", `{}`)},
		"no arguments":             {[]string{begin(0, "a", "f")}, f("f", `{}`)},
		"invalid arguments":        {[]string{begin(0, "a", "f"), more(0, `{"x":`)}, f("f", `{"x":`)},
		"an empty object first":    {[]string{tool(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`), more(0, `{"x":`), more(0, `1}`)}, f("f", `{"x":1}`)},
		"braces in strings":        {[]string{begin(0, "a", "f"), more(0, `{"x":"}\"{`), more(0, `"}`)}, f("f", `{"x":"}\"{"}`)},
		"one call, not in a list":  {[]string{head + `"delta":{"tool_calls":{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}}` + tail}, f("f", `{}`)},
		"the old function_call":    {[]string{head + `"delta":{"function_call":{"name":"f","arguments":""}}` + tail, head + `"delta":{"function_call":{"arguments":"{\"x\":1}"}}` + tail}, f("f", `{"x":1}`)},
		"a quoted index":           {[]string{tool(`{"index":"0","id":"a","function":{"name":"f","arguments":"{"}}`), tool(`{"index":"0","function":{"arguments":"}"}}`)}, f("f", `{}`)},
		"digits of large integers": {[]string{begin(0, "a", "f"), more(0, `{"id":12345678901234567890123, "f":1e2}`)}, f("f", `{"id":12345678901234567890123,"f":1e2}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, end := range []string{call, stop, strings.ReplaceAll(call, "tool_calls", "function_call"), ""} {
				chunks := c.chunks
				if end != "" {
					chunks = append(slices.Clone(chunks), end)
				}
				a := ask(t.Context(), at(t, newFake(t, stream(append(slices.Clone(chunks), done)...))), question("hi"))
				if a.err != nil || a.finish != providers.FinishToolCalls {
					t.Fatalf("got %+v", a)
				}
				if diff := cmp.Diff(c.want, a.functions()); diff != "" {
					t.Error(diff)
				}
				seen := map[string]bool{}
				for _, call := range a.calls {
					if uuid.Validate(call.ID) != nil || seen[call.ID] {
						t.Errorf("id %q is no new uuid", call.ID)
					}
					seen[call.ID] = true
				}
			}
		})
	}
}

func TestStream_TextAndCalls(t *testing.T) {
	t.Parallel()
	a := ask(t.Context(), at(t, newFake(t, stream(say("Let me see."), begin(0, "call_1", "f"), more(0, `{}`), call, used, done))), question("hi"))
	if a.err != nil || a.text != "Let me see." || a.finish != providers.FinishToolCalls || a.usage.TotalTokens != 5 {
		t.Fatalf("got %+v", a)
	}
	if len(a.states) != 1 || a.states[0].Provider != "openai" || string(a.states[0].Data) != `{"id":"call_1"}` {
		t.Errorf("states %+v, want the server's id", a.states)
	}
}

func TestStream_CallsOfAWholeAnswer(t *testing.T) {
	t.Parallel()
	a := ask(t.Context(), at(t, newFake(t, raw("application/json", `{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,`+
		`"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]}}]}`))), question("hi"))
	if a.err != nil || a.finish != providers.FinishToolCalls || len(a.calls) != 2 {
		t.Errorf("got %+v", a)
	}
}

func TestStream_ACutOffAnswerRunsNoTool(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]providers.FinishReason{"length": providers.FinishLength, "content_filter": providers.FinishContentFilter} {
		a := ask(t.Context(), at(t, newFake(t, stream(begin(0, "a", "f"), more(0, `{"x":`), strings.ReplaceAll(stop, "stop", reason), done))), question("hi"))
		if a.err != nil || len(a.calls) != 0 || a.finish != want || len(a.notes) != 1 {
			t.Errorf("%s: got %+v", reason, a)
		}
	}
}

func FuzzStream_Calls(f *testing.F) {
	for _, seed := range []string{
		`{"index":0,"id":"a","function":{"name":"f","arguments":"{"}},{"index":0,"function":{"arguments":"}"}}`,
		`{"id":"a","function":{"name":"f","arguments":{"x":1}}},{"function":{"name":"g"}}`,
		`{"index":-1,"id":1,"function":{"name":null,"arguments":[1]},"extra_content":{"a":1}}`,
		`{"index":0,"function":{"name":"f","arguments":"\"{}\""}},{"index":0,"function":{"name":"f","arguments":"{}"}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, pieces string) {
		body := events(tool(pieces), call, done)
		a := ask(t.Context(), over(t, func() io.Reader { return strings.NewReader(body) }), question("hi"))
		if (a.err == nil) == (a.finish == "") || a.afterEnd {
			t.Fatalf("a stream that does not end once: %+v", a)
		}
		for i, c := range a.calls {
			if uuid.Validate(c.ID) != nil || c.Function.Name == "" || c.Function.Arguments == "" {
				t.Fatalf("a call that nobody can run: %+v", c)
			}
			if s := a.states[i]; s != nil && !json.Valid(s.Data) {
				t.Fatalf("state %s is no JSON", s.Data)
			}
		}
	})
}
