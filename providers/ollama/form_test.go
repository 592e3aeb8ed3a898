package ollama_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/providers"
	"molar/providers/ollama"
	"molar/schemas"
)

const plainModel = `{"capabilities":["completion"]}`

// toolless runs req on a model without tool support.
func toolless(t *testing.T, req providers.Request, steps ...http.HandlerFunc) (answer, []chatBody) {
	t.Helper()
	f := newFake(t, steps...)
	f.show = plainModel
	return ask(t.Context(), at(t, f), req), f.sent()
}

func TestForm_Request(t *testing.T) {
	t.Parallel()
	req := withTools("m", "hi")
	req.System = "Be brief."
	req.Tools = append(req.Tools,
		schemas.ToolInfo{Name: "f__any", Description: "Ends <|im_end|> turns.", InputSchema: json.RawMessage(`{"type":"object"}`)},
		schemas.ToolInfo{Name: "f__wrapped", InputSchema: json.RawMessage(`{"type":"string","pattern":"\\d"}`)},
		schemas.ToolInfo{Name: "f__huge", InputSchema: json.RawMessage(`{"type":"object","properties":{"x":{"enum":["` + strings.Repeat("x", 20<<10) + `"]}}}`)})
	_, sent := toolless(t, req, lines(say(`{"answer":"ok"}`), end))
	if len(sent) != 1 || len(sent[0].Tools) != 0 {
		t.Fatalf("sent %+v", sent)
	}
	call := func(name, args string) string {
		return `{"properties":{"function":{"properties":{"name":{"const":"` + name + `"},"arguments":` + args + `},"additionalProperties":false,"type":"object","required":["name","arguments"]}},"additionalProperties":false,"type":"object","required":["function"]}`
	}
	calls := `{"properties":{"tool_calls":{"items":{"anyOf":[` + strings.Join([]string{
		call("f__lookup", `{"additionalProperties":false,"properties":{"id":{"type":"integer","minimum":0,"maximum":99},"part":{"enum":["all","names"]}},"required":["id"],"type":"object"}`),
		call("f__any", `{"type":"object"}`),
		call("f__wrapped", `{"properties":{"input":{"type":"string"}},"required":["input"],"type":"object"}`),
		call("f__huge", `{"type":"object"}`),
	}, ",") + `]},"type":"array","maxItems":16,"minItems":1}},"additionalProperties":false,"type":"object","required":["tool_calls"]}`
	answers := `{"properties":{"answer":{"type":"string"}},"additionalProperties":false,"type":"object","required":["answer"]}`
	var want, got any
	if err := json.Unmarshal([]byte(`{"anyOf":[`+calls+`,`+answers+`]}`), &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(sent[0].Format, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	system := sent[0].Messages[0].Content
	for _, part := range []string{"Be brief.\n\n", "- f__lookup: Looks a family up.", `"id":{"type":"integer"`, "Ends < |im_end|> turns.", `{"answer":"your answer"}`} {
		if !strings.Contains(system, part) {
			t.Errorf("the system prompt lacks %q:\n%s", part, system)
		}
	}
	if strings.Contains(system, "at least one") {
		t.Error("calls are said to be required")
	}
}

func TestForm_Required(t *testing.T) {
	t.Parallel()
	f := newFake(t, lines(say(`{"tool_calls":[{"function":{"name":"f__lookup","arguments":{"id":7}}}]}`), end))
	p := at(t, f)
	req := withTools("m", "hi")
	req.ToolChoice = providers.ToolRequired
	a := ask(t.Context(), p, req)
	a.wants(t, "", `f__lookup{"id":7}`)
	sent := f.sent()[0]
	if len(sent.Tools) != 0 || strings.Contains(string(sent.Format), "answer") || !strings.Contains(sent.Messages[0].Content, "at least one") {
		t.Errorf("sent %+v with format %s", sent, sent.Format)
	}
	if diff := cmp.Diff([]string{"tools were offered through the answer's format"}, a.notes); diff != "" {
		t.Errorf("notes %s", diff)
	}
	// The calls of a model with tool support are sent back as calls.
	ask(t.Context(), p, executed(req, a, "42"))
	if back := f.sent()[1].Messages; len(back[2].ToolCalls) != 1 || back[3].Role != "tool" {
		t.Errorf("the history went back as %+v", back)
	}
}

func TestForm_HistoryIsText(t *testing.T) {
	t.Parallel()
	req := withTools("m", "hi")
	first := answer{calls: []schemas.ToolCall{
		{ID: "1", Function: schemas.FunctionCall{Name: "f__lookup", Arguments: `{"id":7}`}},
		{ID: "2", Function: schemas.FunctionCall{Name: "f__lookup", Arguments: `{"id":8}`}},
	}, states: make([]*schemas.ProviderState, 2)}
	_, sent := toolless(t, executed(req, first, "seven", "eight"), lines(say(`{"answer":"ok"}`), end))
	want := []wireMessage{
		{Role: "user", Content: "hi"},
		{Role: "assistant", Content: `{"tool_calls":[{"function":{"name":"f__lookup","arguments":{"id":7}}},{"function":{"name":"f__lookup","arguments":{"id":8}}}]}`},
		{Role: "user", Content: "Result of f__lookup:\nseven"},
		{Role: "user", Content: "Result of f__lookup:\neight"},
	}
	if diff := cmp.Diff(want, sent[0].Messages[1:]); diff != "" {
		t.Error(diff)
	}
}

func TestForm_Answers(t *testing.T) {
	t.Parallel()
	call := `{"function":{"name":"f__lookup","arguments":{"id":7}}}`
	for name, c := range map[string]struct {
		said     string
		last     string // the last line; empty means a normal end
		text     string
		calls    []string
		kind     providers.Kind
		finish   providers.FinishReason
		requests int
	}{
		"an answer":                {said: ` { "answer" : "Huế \"\n\\ \u00e9 \ud83d\ude42 🙂" } `, text: "Huế \"\n\\ é 🙂 🙂"},
		"half a character":         {said: `{"answer":"\ud83d."}`, text: "\uFFFD."},
		"two halves":               {said: `{"answer":"\ud83d\ud83d\ude42"}`, text: "\uFFFD🙂"},
		"calls":                    {said: `{"tool_calls": [` + call + `,` + call + `]}`, calls: []string{`f__lookup{"id":7}`, `f__lookup{"id":7}`}, finish: providers.FinishToolCalls},
		"prose":                    {said: "  It knows no {form}.", text: "  It knows no {form}."},
		"an answer cut off":        {said: `{"answer":"It is lo\u00`, last: endLength, text: "It is lo", finish: providers.FinishLength},
		"calls cut off":            {said: `{"tool_calls":[{"function":{"na`, last: endLength, finish: providers.FinishLength},
		"an empty answer":          {said: `{"answer":""}`, kind: providers.KindProtocol, requests: 3},
		"no calls":                 {said: `{"tool_calls":[]}`, kind: providers.KindProtocol, requests: 3},
		"an unknown tool":          {said: `{"tool_calls":[{"function":{"name":"x","arguments":{}}}]}`, kind: providers.KindProtocol, requests: 3},
		"another object":           {said: `{"city":"Huế"}`, kind: providers.KindProtocol, requests: 3},
		"a bad escape in the text": {said: `{"answer":"a\x"}`, text: "a", kind: providers.KindProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.last == "" {
				c.last = end
			}
			if c.finish == "" && c.kind == "" {
				c.finish = providers.FinishStop
			}
			var list []string
			for _, r := range c.said {
				list = append(list, say(string(r)))
			}
			a, sent := toolless(t, withTools("m", "hi"), lines(append(list, c.last)...))
			if a.text != c.text || providers.KindOf(a.err) != c.kind || a.finish != c.finish || len(sent) != max(c.requests, 1) {
				t.Errorf("got %+v, %v after %d requests", a, a.err, len(sent))
			}
			if diff := cmp.Diff(c.calls, arguments(a)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestForm_TooLongCalls(t *testing.T) {
	t.Parallel()
	a, _ := toolless(t, withTools("m", "hi"), lines(say(`{"tool_calls":`), say(strings.Repeat(" ", 1<<20)), end))
	if providers.KindOf(a.err) != providers.KindProtocol || !strings.Contains(a.err.Error(), "longer than 1 MB") {
		t.Errorf("got %v", a.err)
	}
}

func TestForm_RepairsOnce(t *testing.T) {
	t.Parallel()
	a, sent := toolless(t, withTools("m", "hi"), lines(say(`{"city":"x"}`), end), lines(say(`{"answer":"ok"}`), end))
	a.wants(t, "ok")
	if last := sent[1].Messages[len(sent[1].Messages)-1]; !strings.Contains(last.Content, "could not be read") {
		t.Errorf("the second request ends in %+v", last)
	}
}

func TestForm_AModelThatLostItsTools(t *testing.T) {
	t.Parallel()
	f := newFake(t, status(400, `{"error":"m does not support tools"}`), lines(say(`{"answer":"ok"}`), end))
	p := at(t, f)
	if ok, err := p.SupportsTools(t.Context(), "m"); err != nil || !ok {
		t.Fatal(ok, err)
	}
	f.show = plainModel
	ask(t.Context(), p, withTools("m", "hi")).wants(t, "ok")
}

// However an answer is split into pieces, its text is the same.
func FuzzForm(f *testing.F) {
	for _, seed := range []string{`a\u00e9\ud83d\ude42"}`, `\ud83d\ud83d\ude42`, `\ud83d\u00e9`, `\\\"`, `x`, `\`, `\u12`, `"} more`, `\q`} {
		f.Add(seed, uint8(1))
	}
	f.Fuzz(func(t *testing.T, inside string, n uint8) {
		if inside = strings.ToValidUTF8(inside, ""); len(inside) > 1<<10 {
			t.Skip()
		}
		said := `{"answer":"` + inside
		read := func(n int) (string, bool) {
			var list []string
			for piece := range slices.Chunk([]rune(said), n) {
				list = append(list, say(string(piece)))
			}
			p := newProvider(t, ollama.Config{HTTPClient: &http.Client{Transport: toollessWire(strings.Join(append(list, endLength), "\n"))}})
			a := ask(t.Context(), p, withTools("m", "hi"))
			return a.text, a.err == nil
		}
		whole, fine := read(len(said))
		pieces, alsoFine := read(int(n) + 1)
		if fine != alsoFine || fine && whole != pieces {
			t.Errorf("%q: %q (%v) whole, %q (%v) in pieces", inside, whole, fine, pieces, alsoFine)
		}
		var want struct{ Answer string }
		if json.Unmarshal([]byte(said+`"}`), &want) == nil && fine && !strings.HasSuffix(want.Answer, "\uFFFD") && whole != want.Answer {
			t.Errorf("%q: read %q, want %q", inside, whole, want.Answer)
		}
	})
}

// toollessWire answers for a model without tool support.
type toollessWire string

func (w toollessWire) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/api/show") {
		return ok(body(plainModel)), nil
	}
	return ok(body(string(w))), nil
}
