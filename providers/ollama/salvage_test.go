package ollama_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/providers"
	"molar/providers/ollama"
	"molar/schemas"
)

// salvageTools returns a tool with arguments of all types.
func salvageTools() []schemas.ToolInfo {
	return append(lookup(),
		schemas.ToolInfo{Name: "f__any", InputSchema: json.RawMessage(`{"type":"object","properties":{
			"n":{"type":["number","null"]},"b":{"type":"boolean"},"s":{"type":"string"},"l":{"type":"array"},"o":{"type":"object"},
			"u":{"anyOf":[{"type":"string"},{"type":"integer"}]},"x":{},"e":{"enum":["a",1,[2]]}}}`)},
		schemas.ToolInfo{Name: "f__wrapped", InputSchema: json.RawMessage(`{"anyOf":[{"type":"object"},{"type":"string"}]}`)})
}

// speak streams an answer in pieces of n characters and reads it with the tools offered.
func speak(t testing.TB, text string, n int, cfg ollama.Config, tools []schemas.ToolInfo) answer {
	t.Helper()
	var list []string
	for piece := range slices.Chunk([]rune(text), n) {
		list = append(list, say(string(piece)))
	}
	stream := strings.Join(append(list, end), "\n")
	cfg.HTTPClient = &http.Client{Transport: wire(func(*http.Request) *http.Response {
		return ok(body(stream))
	})}
	req := question("hi")
	req.Tools = tools
	return ask(t.Context(), newProvider(t, cfg), req)
}

func TestSalvage(t *testing.T) {
	t.Parallel()
	const seven, eight = `{"name":"f__lookup","arguments":{"id":7}}`, `{"name":"f__lookup","arguments":{"id":8}}`
	one, two := []string{`f__lookup{"id":7}`}, []string{`f__lookup{"id":7}`, `f__lookup{"id":8}`}
	for name, c := range map[string]struct {
		text  string
		calls []string // nil: it stays text
	}{
		"a call":                   {seven, one},
		"blanks around":            {"\n  " + seven + " \r\n", one},
		"spread over lines":        {"{\n  \"name\": \"f__lookup\",\n  \"arguments\": {\n    \"id\": 7\n  }\n}", one},
		"two, one after another":   {seven + "\n" + eight, two},
		"a list":                   {"[" + seven + ", " + eight + "]", two},
		"tool_calls":               {`{"tool_calls":[` + seven + `,` + eight + `]}`, two},
		"a fence":                  {"```json\n" + seven + "\n```", one},
		"a fence, CRLF":            {"```json\r\n" + seven + "\r\n```\r\n", one},
		"a fence without a name":   {"```\n[" + seven + "]\n```", one},
		"two fences":               {"```json\n" + seven + "\n```\n\n```json\n" + eight + "\n```", two},
		"tags":                     {"<tool_call>\n" + seven + "\n</tool_call>\n<tool_call>" + eight + "</tool_call>", two},
		"two in a tag":             {"<tool_call>" + seven + eight + "</tool_call>", two},
		"an open list's tag":       {"[TOOL_CALLS] [" + seven + "," + eight + "]", two},
		"a closed list's tag":      {"[TOOL_CALLS][" + seven + "][/TOOL_CALLS]", one},
		"OpenAI's form":            {`{"id":"x","type":"function","function":{"name":"f__lookup","arguments":"{\"id\": 7}"}}`, one},
		"parameters":               {`{"type":"function","name":"f__lookup","parameters":{"id":7}}`, one},
		"all types":                {`{"name":"f__any","arguments":{"n":null,"b":true,"s":"","l":[],"o":{},"u":2.0,"x":[1],"e":1,"more":1}}`, []string{`f__any{"n":null,"b":true,"s":"","l":[],"o":{},"u":2.0,"x":[1],"e":1,"more":1}`}},
		"digits are kept":          {`{"name":"f__any","arguments":{"n":9007199254740993.10}}`, []string{`f__any{"n":9007199254740993.10}`}},
		"a tag inside a string":    {"<tool_call>" + `{"name":"f__any","arguments":{"s":"</tool_call>"}}` + "</tool_call>", []string{`f__any{"s":"</tool_call>"}`}},
		"wrapped arguments":        {`{"name":"f__wrapped","arguments":{"input":{"a":1}}}`, []string{`f__wrapped{"a":1}`}},
		"words before":             {"I will call " + seven, nil},
		"words after":              {seven + " is my call.", nil},
		"words between":            {seven + " and " + eight, nil},
		"words beside the fence":   {"```json\n" + seven + "\n```\nDone.", nil},
		"an open fence":            {"```json\n" + seven, nil},
		"an empty tag":             {"<tool_call></tool_call>", nil},
		"cut off":                  {seven[:len(seven)-1], nil},
		"an unknown tool":          {`{"name":"f__other","arguments":{"id":7}}`, nil},
		"the tool's own name":      {`{"name":"lookup","arguments":{"id":7}}`, one},
		"one good, one unknown":    {seven + `{"name":"x","arguments":{}}`, nil},
		"no arguments":             {`{"name":"f__lookup"}`, nil},
		"arguments null":           {`{"name":"f__any","arguments":null}`, nil},
		"arguments as a list":      {`{"name":"f__any","arguments":[]}`, nil},
		"a key of no call":         {`{"name":"f__lookup","arguments":{"id":7},"why":"x"}`, nil},
		"a key twice":              {`{"name":"f__lookup","arguments":{"id":7,"id":8}}`, nil},
		"twice in a string":        {`{"name":"f__lookup","arguments":"{\"id\":7,\"id\":8}"}`, nil},
		"a required one missing":   {`{"name":"f__lookup","arguments":{"part":"all"}}`, nil},
		"a wrong type":             {`{"name":"f__lookup","arguments":{"id":"7"}}`, nil},
		"no integer":               {`{"name":"f__lookup","arguments":{"id":7.5}}`, nil},
		"not in the enum":          {`{"name":"f__lookup","arguments":{"id":7,"part":"some"}}`, nil},
		"an unknown argument":      {`{"name":"f__lookup","arguments":{"id":7,"x":1}}`, nil},
		"of no branch":             {`{"name":"f__any","arguments":{"u":true}}`, nil},
		"function and name":        {`{"name":"f__lookup","function":{"name":"f__lookup","arguments":{"id":7}}}`, nil},
		"a function in a function": {`{"function":{"function":` + seven + `}}`, nil},
		"tool_calls and more":      {`{"tool_calls":[` + seven + `],"text":"x"}`, nil},
		"no calls":                 {`{"tool_calls":[]}`, nil},
		"a list in a list":         {"[[" + seven + "]]", nil},
		"other JSON":               {`{"city":"Huế"}`, nil},
		"a reference":              {"[1] The first source.", nil},
		"a link":                   {"[here](https://example.com)", nil},
		"a code block":             {"```python\nprint(1)\n```", nil},
		"too many":                 {strings.Repeat(seven, 33), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, n := range []int{1, 7, len(c.text)} {
				a := speak(t, c.text, n, ollama.Config{}, salvageTools())
				want, finish := c.text, providers.FinishStop
				if c.calls != nil {
					want, finish = "", providers.FinishToolCalls
				}
				if a.err != nil || a.text != want || a.finish != finish || (len(a.notes) > 0) != (c.calls != nil) {
					t.Fatalf("in pieces of %d: got %+v, %v", n, a, a.err)
				}
				if diff := cmp.Diff(c.calls, arguments(a)); diff != "" {
					t.Fatal(diff)
				}
			}
		})
	}
}

func TestSalvage_IsLogged(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	f := newFake(t, lines(say(`[{"name":"f__lookup","arguments":{"id":7}},{"name":"f__lookup","arguments":{"id":8}}]`), end))
	p := newProvider(t, ollama.Config{BaseURL: f.url, HTTPClient: client(t), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	req := question("hi")
	req.Tools = lookup()
	a := ask(t.Context(), p, req)
	if diff := cmp.Diff([]string{"the model printed its calls as text; 2 read as such"}, a.notes); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(log.String(), "calls=2") {
		t.Errorf("log %q", log.String())
	}
	req.ForbidCalls = true
	if a := ask(t.Context(), p, req); len(a.calls) != 0 || !strings.HasPrefix(a.text, "[{") {
		t.Errorf("without tools offered: got %+v", a)
	}
}

// Text that cannot become a call is shown at once; text that could is shown once it is too long
// or the stream breaks.
func TestSalvage_HoldsNoMoreThanItMust(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pieces []string
		held   int // pieces before the first text
	}{
		"prose":                {[]string{"Hi", " there"}, 0},
		"a reference":          {[]string{"[", "1] x"}, 1},
		"other JSON":           {[]string{"{", `"ci`, `ty"`}, 1},
		"a code block":         {[]string{"``", "`js", "x"}, 2},
		"a long call":          {[]string{`{"name":"`, strings.Repeat("x", 10<<10), strings.Repeat("y", 6<<10), "z"}, 2},
		"a broken stream":      {[]string{`{"name":`, ` "f__`}, 2},
		"before a call proper": {[]string{`{"name": 1}`, "CALL", "x"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var list []string
			for _, piece := range c.pieces {
				line := say(piece)
				if piece == "CALL" {
					line = toolCall("f__lookup", `{"id":7}`)
				}
				list = append(list, line)
			}
			stream := &stepper{lines: list}
			p := newProvider(t, ollama.Config{HTTPClient: &http.Client{Transport: wire(func(*http.Request) *http.Response { return ok(stream) })}})
			req := question("hi")
			req.Tools = lookup()
			first, text := -1, ""
			var last error
			for chunk, err := range p.Stream(t.Context(), req) {
				if chunk.Text != "" && first < 0 {
					first = stream.next - 1
				}
				text, last = text+chunk.Text, err
			}
			want := strings.ReplaceAll(strings.Join(c.pieces, ""), "CALL", "")
			if text != want || min(c.held, len(list)-1) != first || providers.KindOf(last) != providers.KindIncomplete {
				t.Errorf("got %d bytes, the first after piece %d, %v", len(text), first, last)
			}
		})
	}
}

func FuzzSalvage(f *testing.F) {
	for _, seed := range []string{
		`{"name":"f__lookup","arguments":{"id":7}}`, "```json\n[{\"name\":\"f__lookup\",\"arguments\":{\"id\":7}}]\n```",
		`<tool_call>{"function":{"name":"f__any","arguments":"{}"}}</tool_call>`, `[TOOL_CALLS] [{"name":"f__any","parameters":{}}]`,
		`{"tool_calls":[{"name":"f__wrapped","arguments":{"input":"x"}}]}`, "[1] x", "``", " \n{", `{"name"`, "",
	} {
		f.Add(seed, 3)
	}
	f.Fuzz(func(t *testing.T, text string, n int) {
		text = strings.ToValidUTF8(text, "?")
		if n < 1 || len(text) > 4<<10 || text != strings.ToValidUTF8(text, "") {
			t.Skip()
		}
		a := speak(t, text, n, ollama.Config{}, salvageTools())
		if a.err != nil && strings.TrimSpace(text) != "" && !strings.Contains(a.err.Error(), "the model wrote a tool call as text") {
			t.Fatalf("%q: %v", text, a.err)
		}
		if len(a.calls) == 0 && a.err == nil && a.text != text {
			t.Fatalf("%q came as %q", text, a.text)
		}
		for _, c := range a.calls {
			if len(a.text) >= len(text) || !strings.HasPrefix(c.Function.Name, "f__") || schemas.CheckJSON([]byte(c.Function.Arguments)) != nil {
				t.Fatalf("%q became %+v", text, a)
			}
		}
	})
}
