package wire_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"molar/providers"
	"molar/providers/chain"
	"molar/providers/wire"
	"molar/schemas"
)

// weather is a tool with arguments of all types.
func weather() schemas.ToolInfo {
	return schemas.ToolInfo{
		Name: "w__find", Server: "w", ToolName: "find",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},"metric":{"type":"boolean"},
			"where":{"type":"object"},"note":{"anyOf":[{"type":"string"},{"type":"null"}]},"any":{}},"required":["city"]}`),
	}
}

// offers returns the tools as adapters offer them.
func offers(t testing.TB, infos ...schemas.ToolInfo) wire.ToolSet {
	t.Helper()
	lower := func(t *wire.Tool) error { t.Params = t.Info.InputSchema; return nil }
	return wire.NewTools("test", lower, nil, slog.New(slog.DiscardHandler)).Set(infos, nil)
}

// heard is what a reader of speech made of an answer.
type heard struct {
	text, thinking string
	calls          []string
	err            error
}

// hear reads an answer that comes in the pieces.
func hear(set wire.ToolSet, req providers.Request, cut bool, pieces ...string) heard {
	s := wire.NewSpeech(&wire.UnopenedThoughts{}, req, wire.Printed(set, req))
	var h heard
	add := func(p wire.Piece) {
		if p.Retract {
			h.text, h.thinking = "", h.thinking+h.text
		}
		h.text += p.Text
		h.thinking += p.Thinking
	}
	for _, piece := range pieces {
		p, err := s.Take(piece)
		add(p)
		h.err = errors.Join(h.err, err)
	}
	p, calls, err := s.End(cut, false)
	add(p)
	h.err = errors.Join(h.err, err)
	for _, c := range calls {
		h.calls = append(h.calls, set.Called(c).Name+" "+canonical(c.Arguments))
	}
	return h
}

// printedCall is the call that all frames of the tests make.
const printedCall = `w__find {"city":"Huế, \"cố đô\"","days":3,"metric":true,"where":{"lat":16.46,"tags":["a","b"]}}`

const (
	printedArgs = `{"city": "Huế, \"cố đô\"", "days": 3, "metric": true, "where": {"lat": 16.46, "tags": ["a", "b"]}}`
	pythonArgs  = `city='Huế, "cố đô"', days=3, metric=True, where={'lat': 16.46, "tags": ['a', "b"]}`
	gemmaArgs   = `{city:"|Huế, "cố đô""|,days:3,metric:true,where:{lat:16.46,tags:["|a"|,"|b"|]}}`
	paramValues = "city=Huế, \"cố đô\"|days=3|metric=true|where={\"lat\": 16.46, \"tags\": [\"a\", \"b\"]}"
)

// params writes the arguments as parameters in a form of a name and a value.
func params(form string) string {
	var b strings.Builder
	for p := range strings.SplitSeq(paramValues, "|") {
		name, value, _ := strings.Cut(p, "=")
		fmt.Fprintf(&b, form, name, value)
	}
	return b.String()
}

// printedFrames are the forms of the call that may follow words.
func printedFrames() map[string]string {
	object := `{"name": "find", "arguments": ` + printedArgs + `}`
	function := "<function=find>\n" + params("<parameter=%s>\n%s\n</parameter>\n") + "</function>"
	invoke := "<invoke name=\"find\">\n" + params("<parameter name=\"%s\">%s</parameter>\n") + "</invoke>"
	dsml := strings.NewReplacer("<invoke", "<｜DSML｜invoke", "</invoke", "</｜DSML｜invoke", "<parameter", "<｜DSML｜parameter", "</parameter", "</｜DSML｜parameter", `name="city"`, `name="city" string="true"`, `name="days"`, `name="days" string="false"`).Replace(invoke)
	step := strings.NewReplacer("<invoke", "<steptml:invoke", "</invoke", "</steptml:invoke", "<parameter", "<steptml:parameter", "</parameter", "</steptml:parameter").Replace(invoke)
	pairs := params("<arg_key>%s</arg_key>\n<arg_value>%s</arg_value>\n")
	return map[string]string{
		"Hermes":                        "<tool_call>\n" + object + "\n</tool_call>",
		"Qwen3-Coder":                   "<tool_call>\n" + function + "\n</tool_call>",
		"Qwen3-Coder without its frame": function,
		"Qwen3-Coder, half a frame":     function + "\n</tool_call>",
		"GLM 4.5":                       "<tool_call>find\n" + pairs + "</tool_call>",
		"GLM 4.7":                       "<tool_call>find" + strings.ReplaceAll(pairs, "\n", "") + "</tool_call>",
		"LongCat":                       "<longcat_tool_call>find\n" + strings.ReplaceAll(pairs, "arg_", "longcat_arg_") + "</longcat_tool_call>",
		"Kimi K2":                       "<|tool_calls_section_begin|><|tool_call_begin|>functions.find:0<|tool_call_argument_begin|>" + printedArgs + "<|tool_call_end|><|tool_calls_section_end|>",
		"Kimi K2 without its section":   "<|tool_call_begin|>functions.find:12<|tool_call_argument_begin|>" + printedArgs + "<|tool_call_end|>",
		"DeepSeek V3, R1":               "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>find\n```json\n" + printedArgs + "\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
		"DeepSeek V3.1":                 "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>find<｜tool▁sep｜>" + printedArgs + "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
		"DeepSeek V3.2":                 "<｜DSML｜function_calls>\n" + dsml + "\n</｜DSML｜function_calls>",
		"DeepSeek V4":                   "<｜DSML｜tool_calls>\n" + dsml + "\n</｜DSML｜tool_calls>",
		"Step 3":                        "<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜>" + step + "<｜tool_call_end｜>\n<｜tool_calls_end｜>",
		"Llama 3":                       `<|python_tag|>{"name": "find", "parameters": ` + printedArgs + `}`,
		"Llama 3 with the end mark":     `<|python_tag|>{"name": "find", "parameters": ` + printedArgs + `}<|eom_id|>`,
		"Llama 3, a function":           "<function=find>" + printedArgs + "</function>",
		"Llama 4":                       "<|python_start|>[find(" + pythonArgs + ")]<|python_end|>",
		"LFM2":                          "<|tool_call_start|>[find(" + pythonArgs + ")]<|tool_call_end|>",
		"MiniMax M2":                    "<minimax:tool_call>\n" + invoke + "\n</minimax:tool_call>",
		"MiniMax M1":                    "<tool_calls>\n" + object + "\n</tool_calls>",
		"Claude's form":                 "<function_calls>\n" + invoke + "\n</function_calls>",
		"Claude's form without frame":   invoke,
		"OLMo 3":                        "<function_calls>find(" + pythonArgs + ")</function_calls>",
		"Mistral Nemo":                  "[TOOL_CALLS] [" + object + "]",
		"Mistral Small 3.2":             "[TOOL_CALLS]find[ARGS]" + printedArgs,
		"Magistral":                     "[TOOL_CALLS]find[CALL_ID]a1B2c3D4e[ARGS]" + printedArgs,
		"Mistral, a name":               "[TOOL_CALLS]find" + printedArgs + "</s>",
		"Granite 3":                     "<|tool_call|>[" + object + "]",
		"Granite 20B":                   "<function_call> " + object,
		"Phi 4":                         "<|tool_call|>[" + object + "]<|/tool_call|>",
		"Hunyuan, Jamba":                "<tool_calls>[" + object + "]</tool_calls>",
		"Nemotron":                      "<TOOLCALL>[" + object + "]</TOOLCALL>",
		"Qwen2.5-Coder":                 "<tools>\n" + object + "\n</tools>",
		"Seed-OSS":                      "<seed:tool_call>\n" + function + "\n</seed:tool_call>",
		"Command R7B":                   `<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "find", "parameters": ` + printedArgs + `}]<|END_ACTION|>`,
		"InternLM":                      "<|action_start|><|plugin|>\n" + strings.Replace(object, "arguments", "parameters", 1) + "<|action_end|>",
		"Apertus":                       `<|tools_prefix|>[{"find": ` + printedArgs + `}]<|tools_suffix|>`,
		"Gemma 4":                       "<|tool_call>call:find" + strings.NewReplacer(`"|`, `<|"|>`).Replace(gemmaArgs) + "<tool_call|>",
		"FunctionGemma":                 "<start_function_call>call:find" + strings.NewReplacer(`"|`, `<escape>`).Replace(gemmaArgs) + "<end_function_call>",
	}
}

// wholeFrames are the forms that count only if the answer is nothing else.
func wholeFrames() map[string]string {
	object := `{"name": "find", "arguments": ` + printedArgs + `}`
	return map[string]string{
		"JSON":           object,
		"a list":         "[" + object + "]",
		"fenced":         "```json\n" + object + "\n```",
		"fenced, tagged": "```tool_call\n" + object + "\n```",
		"Gemma 3":        "```tool_code\nfind(" + pythonArgs + ")\n```",
		"Gemma 3, print": "```tool_code\nprint(default_api.find(" + pythonArgs + "))\n```",
		"pythonic":       "[find(" + pythonArgs + ")]",
		"Phi 4 mini":     "functools[" + object + "]",
	}
}

// Every frame is the same call, wherever its text is cut, also after words, which are shown.
func TestFrames_CutAnywhere(t *testing.T) {
	t.Parallel()
	set := offers(t, weather())
	same := func(t *testing.T, words, frame string) {
		t.Helper()
		said := words + frame
		for at := range len(said) + 1 {
			if got := hear(set, providers.Request{}, false, said[:at], said[at:]); got.err != nil || got.text != words || len(got.calls) != 1 || got.calls[0] != printedCall {
				t.Fatalf("cut at %d, after %q: %+v", at, said[:at], got)
			}
		}
		if got := hear(set, providers.Request{}, false, strings.Split(said, "")...); got.err != nil || got.text != words || len(got.calls) != 1 || got.calls[0] != printedCall {
			t.Fatalf("in characters: %+v", got)
		}
	}
	for name, frame := range printedFrames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, words := range []string{"", "```sh\nls\n```\nĐể `find` xem: "} {
				same(t, words, frame)
			}
		})
	}
	for name, frame := range wholeFrames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			same(t, "", frame)
		})
	}
}

// utters returns an answer in pieces of whole characters.
func (w adapter) utters(text string) string {
	var b strings.Builder
	for piece := range slices.Chunk([]rune(text), 5) {
		b.WriteString(w.piece(string(piece)))
	}
	return b.String() + w.end
}

// Every wire reads every frame, after words and thoughts too.
func TestFrames_OnEveryWire(t *testing.T) {
	t.Parallel()
	for name, frame := range printedFrames() {
		for _, w := range wires() {
			for _, words := range []string{"", "Let me look.\n"} {
				req := question()
				req.Tools = []schemas.ToolInfo{weather()}
				got, _, err := read(t, w.over(t, whole(w.utters("<think>I look.</think>"+words+frame))), req)
				if err != nil || got.Text != words || got.Thinking != "I look." || len(got.Calls) != 1 || got.Calls[0] != printedCall || got.Finish != "tool_calls" {
					t.Errorf("%s, %s after %q: %+v, %v", w.name, name, words, got, err)
				}
			}
		}
	}
}

func TestFrames_Calls(t *testing.T) {
	t.Parallel()
	set := offers(t, weather(), schemas.ToolInfo{Name: "w__list", ToolName: "list", InputSchema: json.RawMessage(`{"type":"object"}`)})
	const hue, hanoi = `w__find {"city":"Huế"}`, `w__find {"city":"Hà Nội"}`
	for name, c := range map[string]struct {
		said  string
		text  string
		calls []string
	}{
		"two in a frame":                {said: `<tool_call>{"name":"find","arguments":{"city":"Huế"}}` + "\n" + `{"name":"find","arguments":{"city":"Hà Nội"}}</tool_call>`, calls: []string{hue, hanoi}},
		"two functions in a frame":      {said: "<tool_call><function=find><parameter=city>Huế</parameter></function>\n<function=find><parameter=city>Hà Nội</parameter></function></tool_call>", calls: []string{hue, hanoi}},
		"two frames":                    {said: "<tool_call>find<arg_key>city</arg_key><arg_value>Huế</arg_value></tool_call>\n<tool_call>find<arg_key>city</arg_key><arg_value>Hà Nội</arg_value></tool_call>\n", calls: []string{hue, hanoi}},
		"two in a section":              {said: `<|tool_calls_section_begin|><|tool_call_begin|>functions.find:0<|tool_call_argument_begin|>{"city":"Huế"}<|tool_call_end|><|tool_call_begin|>functions.find:1<|tool_call_argument_begin|>{"city":"Hà Nội"}<|tool_call_end|><|tool_calls_section_end|>`, calls: []string{hue, hanoi}},
		"two of DeepSeek":               {said: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>find<｜tool▁sep｜>{\"city\":\"Huế\"}<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>find<｜tool▁sep｜>{\"city\":\"Hà Nội\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>", calls: []string{hue, hanoi}},
		"two invocations":               {said: `<function_calls><invoke name="find"><parameter name="city">Huế</parameter></invoke><invoke name="find"><parameter name="city">Hà Nội</parameter></invoke></function_calls>`, calls: []string{hue, hanoi}},
		"two of Mistral":                {said: `[TOOL_CALLS]find[ARGS]{"city":"Huế"}[TOOL_CALLS]find[ARGS]{"city":"Hà Nội"}`, calls: []string{hue, hanoi}},
		"two of Llama":                  {said: `<|python_tag|>{"name":"find","parameters":{"city":"Huế"}}; {"name":"find","parameters":{"city":"Hà Nội"}}`, calls: []string{hue, hanoi}},
		"two of Gemma":                  {said: `<|tool_call>call:find{city:<|"|>Huế<|"|>}<tool_call|><|tool_call>call:find{city:<|"|>Hà Nội<|"|>}<tool_call|>`, calls: []string{hue, hanoi}},
		"lines of Python":               {said: "<function_calls>find(city=\"Huế\")\nfind(city=\"Hà Nội\")</function_calls>", calls: []string{hue, hanoi}},
		"a list of Python":              {said: `[find(city="Huế"), find(city='Hà Nội')]`, calls: []string{hue, hanoi}},
		"no arguments":                  {said: "<tool_call>list</tool_call>", calls: []string{"w__list {}"}},
		"no parameters":                 {said: "<function=list>\n</function>", calls: []string{"w__list {}"}},
		"words after":                   {said: "I look.\n<function=list></function>\nWait.", text: "I look.\nWait.", calls: []string{"w__list {}"}},
		"words after a loose frame":     {said: "[TOOL_CALLS]list[ARGS]{}\nWait.", text: "Wait.", calls: []string{"w__list {}"}},
		"words between":                 {said: "One.\n<tool_call>list</tool_call>\nTwo.\n<tool_call>list</tool_call>", text: "One.\nTwo.\n", calls: []string{"w__list {}", "w__list {}"}},
		"the end of a parameter lacks":  {said: "<function=find>\n<parameter=city>\nHuế\n<parameter=days>\n3\n</function>", calls: []string{`w__find {"city":"Huế","days":3}`}},
		"the end of a value lacks":      {said: "<tool_call>find\n<arg_key>city</arg_key>\n<arg_value>Huế\n<arg_key>days</arg_key>\n<arg_value>3</tool_call>", calls: []string{`w__find {"city":"Huế","days":3}`}},
		"lines and blanks in a value":   {said: "<function=find><parameter=city>\n  a\n\n b \n</parameter></function>", calls: []string{`w__find {"city":"  a\n\n b "}`}},
		"marks in a value":              {said: "<function=find><parameter=city>if a < b && c > d: </b></parameter></function>", calls: []string{`w__find {"city":"if a \u003c b \u0026\u0026 c \u003e d: \u003c/b\u003e"}`}},
		"a text of digits":              {said: "<function=find><parameter=city>007</parameter></function>", calls: []string{`w__find {"city":"007"}`}},
		"Python's constants":            {said: "<function=find><parameter=city>a</parameter><parameter=metric>False</parameter><parameter=where>{'a': None}</parameter></function>", calls: []string{`w__find {"city":"a","metric":false,"where":{"a":null}}`}},
		"null or text":                  {said: "<function=find><parameter=city>a</parameter><parameter=note>null</parameter></function>", calls: []string{`w__find {"city":"a","note":null}`}},
		"any type":                      {said: "<function=find><parameter=city>a</parameter><parameter=any>[1]</parameter></function>", calls: []string{`w__find {"any":[1],"city":"a"}`}},
		"of no type":                    {said: "<function=find><parameter=city>a</parameter><parameter=days>soon</parameter></function>", calls: []string{`w__find {"city":"a","days":"soon"}`}},
		"its end inside a string":       {said: `Look. <tool_call>{"name":"find","arguments":{"city":"</tool_call>"}}</tool_call>`, text: "Look. ", calls: []string{`w__find {"city":"\u003c/tool_call\u003e"}`}},
		"escapes of Python":             {said: `[find(city='a\'b\n\u00e9 \U0001F642 \x41 \d', note="""c"d""")]`, calls: []string{`w__find {"city":"a'b\né 🙂 A \\d","note":"c\"d"}`}},
		"empty strings":                 {said: `[find(city='', note="")]`, calls: []string{`w__find {"city":"","note":""}`}},
		"a broken argument is answered": {said: `<tool_call>{"name":"find","arguments":{"city":7}}</tool_call>`, calls: []string{`w__find {"city":7}`}},
		"a call in a thought":           {said: "<think><tool_call>list</tool_call></think>I know.", text: "I know."},
		"before the end of thoughts":    {said: "<tool_call>list</tool_call>\n</think>\nI know.", text: "I know."},
		"after it":                      {said: "I look.\n</think>\n\n<tool_call>list</tool_call>", calls: []string{"w__list {}"}},
		"another tool":                  {said: "So:\n<tool_call>{\"name\":\"other\",\"arguments\":{}}</tool_call>", text: "So:\n<tool_call>{\"name\":\"other\",\"arguments\":{}}</tool_call>"},
		"another function":              {said: "<function=other><parameter=a>1</parameter></function>", text: "<function=other><parameter=a>1</parameter></function>"},
		"one of two unknown":            {said: "<tool_call><function=list></function><function=other></function></tool_call>", text: "<tool_call><function=list></function><function=other></function></tool_call>"},
		"another tool, not ended":       {said: "<function=other><parameter=a>1", text: "<function=other><parameter=a>1"},
		"Python of another":             {said: "[Hello(there=1)] said he.", text: "[Hello(there=1)] said he."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at := range len(c.said) + 1 {
				got := hear(set, providers.Request{}, false, c.said[:at], c.said[at:])
				if got.err != nil || got.text != c.text || strings.Join(got.calls, "; ") != strings.Join(c.calls, "; ") {
					t.Fatalf("cut at %d: %+v", at, got)
				}
			}
		})
	}
}

// Parts of frames, code and words in any mixture read the same, however they are cut.
func TestFrames_AnyMixture(t *testing.T) {
	t.Parallel()
	set := offers(t, weather())
	parts := []string{"Look. ", "\n", "\n\n", "`", "```\n", "```json\n", "    ", "> ", "<", "[", "</tool_call>", "<|eom_id|>", "<think>", "</think>\n", "{", "find", `{"name": "find"`}
	for _, frame := range printedFrames() {
		parts = append(parts, frame, frame[:len(frame)/2], frame[len(frame)/2:])
	}
	slices.Sort(parts)
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		said := ""
		for range 1 + random.IntN(5) {
			said += parts[random.IntN(len(parts))]
		}
		want := hear(set, providers.Request{}, false, said)
		for range 30 {
			at := random.IntN(len(said) + 1)
			got := hear(set, providers.Request{}, false, said[:at], said[at:])
			if got.text != want.text || got.thinking != want.thinking || !slices.Equal(got.calls, want.calls) || (got.err == nil) != (want.err == nil) {
				t.Fatalf("%q, cut at %d: %+v, whole: %+v", said, at, got, want)
			}
		}
	}
}

// An answer about the syntax of calls is shown as it is, though it names offered tools.
func TestFrames_AnswersAboutThem(t *testing.T) {
	t.Parallel()
	set := offers(t, weather())
	for i, said := range []string{
		"Hermes models write calls like this:\n\n```xml\n<tool_call>\n{\"name\": \"find\", \"arguments\": {\"city\": \"Huế\"}}\n</tool_call>\n```\n\nThe tags are special tokens.",
		"The tag `<tool_call>` opens a call and `</tool_call>` ends it; in between is JSON such as `{\"name\": \"find\"}`.",
		"A call is <tool_call> followed by JSON and </tool_call>.",
		"In prose you would write <tool_call>{\"name\": \"find\", \"arguments\": {\"city\": \"Huế\"}}</tool_call> and wait for the result.",
		"1. Qwen3-Coder:\n   ```\n   <tool_call>\n   <function=find>\n   <parameter=city>\n   Huế\n   </parameter>\n   </function>\n   </tool_call>\n   ```\n2. GLM:\n   ```\n   <tool_call>find\n   <arg_key>city</arg_key>\n   <arg_value>Huế</arg_value>\n   </tool_call>\n   ```\n",
		"Kimi K2 surrounds its calls with `<|tool_calls_section_begin|>` and `<|tool_calls_section_end|>`, e.g. ``<|tool_call_begin|>functions.find:0<|tool_call_argument_begin|>{\"city\":\"`Huế`\"}<|tool_call_end|>``.",
		"DeepSeek uses full-width bars:\n\n    <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>find\n    {\"city\": \"Huế\"}\n\nMind the characters.",
		"| model | mark |\n| --- | --- |\n| Mistral | `[TOOL_CALLS]find[ARGS]{\"city\":\"Huế\"}` |\n| Llama 3 | `<|python_tag|>` |\n| Qwen | `<tool_call>` |\n",
		"Mistral's [TOOL_CALLS] token is followed by the name, then [ARGS] and the JSON.",
		"Llama 3 emits <|python_tag|> before code:\n\n~~~python\n<|python_tag|>{\"name\": \"find\", \"parameters\": {\"city\": \"Huế\"}}\n~~~\n",
		"Gemma writes Python:\n\n```tool_code\nfind(city=\"Huế\")\n```\n\nThe client runs it and returns ```tool_output```.",
		"Claude's older format:\n\n````\n```\n<function_calls>\n<invoke name=\"find\">\n<parameter name=\"city\">Huế</parameter>\n</invoke>\n</function_calls>\n```\n````\n",
		"> <tool_call> is Hermes' mark, > <function= is Llama's.\n\nBoth are text.",
		"Your template lacks `<tool_call>`: vLLM's parser looks for <tool_call>{ and falls back to text otherwise.",
		"Llama 4 answers `[find(city=\"Huế\"), find(city=\"Hà Nội\")]`, a list of calls.",
		"[find(city=\"Huế\")] is what Llama 4 would print here.",
		"```json\n{\"name\": \"find\", \"arguments\": {\"city\": \"Huế\"}}\n```\n\nThis is the JSON of a call to find.",
		"{\"name\": \"find\", \"arguments\": {\"city\": \"Huế\"}} is the JSON of a call.",
		"Write a parser for `<function=NAME>`:\n\n```go\nre := regexp.MustCompile(`<function=find>(.*?)</function>`)\n```\n\nand test it with `<function=find>{\"city\":\"x\"}</function>`.",
		"The tags are <tool_call>...</tool_call>, <tool_call>{json}</tool_call> or <function=example>{...}</function>; with an example name: <tool_call>{\"name\": \"get_weather\", \"arguments\": {}}</tool_call>",
		"MiniMax wraps `<invoke name=\"find\">` into <minimax:tool_call>; its end is </minimax:tool_call>.",
		"Thẻ <tool_call> mở đầu một lời gọi, ví dụ\n\n```\n<tool_call>{\"name\":\"find\",\"arguments\":{\"city\":\"Huế\"}}</tool_call>",
		"An unclosed ` does no harm, and `<tool_call>{\"name\":\"find\",\"arguments\":{}}</tool_call>` is code.",
		"The literal template is\n<tool_call>\n{\"name\": <function-name>, \"arguments\": <args-json-object>}\n</tool_call>\nas Qwen's prompt says.",
	} {
		for at := range len(said) + 1 {
			if got := hear(set, providers.Request{}, false, said[:at], said[at:]); got.err != nil || got.text != said || len(got.calls) > 0 {
				t.Errorf("%d, cut at %d: %+v", i, at, got)
				break
			}
		}
	}
}

// What looks like a call to an offered tool and cannot be read is asked again once and not shown.
func TestFrames_Broken(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]string{
		"broken JSON":             `<tool_call>{"name": "find", "arguments": {"city": }}</tool_call>`,
		"JSON of Python":          `<tool_call>{'name': 'find', 'arguments': {'city': 'Huế'}}</tool_call>`,
		"no end":                  `<tool_call>{"name": "find", "arguments": {"city": "Huế"}}`,
		"half of JSON":            `<tool_call>{"name": "find", "arg`,
		"before its name":         `<tool_call>{"na`,
		"half an XML":             "<tool_call>\n<function=find>\n<parameter=city>\nHuế",
		"half a function":         "<function=find><parameter=ci",
		"half of Claude's":        `<function_calls><invoke name="find"><parameter name="city">Huế</parameter>`,
		"half of GLM's":           "<tool_call>find\n<arg_key>city</arg_key>",
		"half of Kimi's":          `<|tool_calls_section_begin|><|tool_call_begin|>functions.find:0<|tool_call_argument_begin|>{"city":`,
		"half of DeepSeek's":      "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>find\n```json\n{\"city\"",
		"half of Mistral's":       `[TOOL_CALLS]find[ARGS]{"city":"Huế"`,
		"no list":                 `<|tool_call_start|>[find(city="Huế")<|tool_call_end|>`,
		"Python of no value":      `<|tool_call_start|>[find(city=Huế)]<|tool_call_end|>`,
		"arguments that are none": `<tool_call>{"name": "find", "arguments": [1]}</tool_call>`,
		"a good one before":       `<tool_call>{"name":"find","arguments":{"city":"Huế"}}</tool_call><tool_call>{"name":"find","arguments":{]}</tool_call>`,
		"words after it":          "<tool_call>{\"name\": \"find\", \"arguments\": {\"city\": }}</tool_call>\nI wait.",
	} {
		for _, w := range wires() {
			for _, words := range []string{"", "Let me look.\n\n"} {
				answers := []string{words + broken, words + broken}
				asked := 0
				s := &service{}
				s.body = func() io.Reader { asked++; return strings.NewReader(w.utters(answers[min(asked, len(answers))-1])) }
				p := chain.Again(w.on(t, s), 0)
				req := question()
				req.Tools = []schemas.ToolInfo{weather()}
				got, _, err := read(t, p, req)
				if asked != 2 || providers.KindOf(err) != providers.KindProtocol || !strings.Contains(err.Error(), "parser") || got.Text != words || len(got.Calls) > 0 {
					t.Errorf("%s, %s after %q: %+v, %v after %d requests", w.name, name, words, got, err, asked)
				}
				asked, answers[1] = 0, "It rains."
				got, _, err = read(t, p, req)
				if asked != 2 || err != nil || got.Text != "It rains." || len(got.Calls) > 0 || got.Thinking != words {
					t.Errorf("%s, %s after %q, then well: %+v, %v after %d requests", w.name, name, words, got, err, asked)
				}
			}
		}
	}
}

// Half a call at the model's limit is dropped, not asked again.
func TestFrames_CutOff(t *testing.T) {
	t.Parallel()
	set := offers(t, weather())
	req := question()
	req.Tools = []schemas.ToolInfo{weather()}
	const said = "I look.\n<tool_call>{\"name\":\"find\",\"argu"
	for _, w := range wires() {
		p := w.over(t, whole(strings.TrimSuffix(w.says(said, 4), w.end)+w.cut))
		got, _, err := read(t, p, req)
		if err != nil || got.Text != "I look.\n" || got.Finish != "length" || len(got.Calls) > 0 {
			t.Errorf("%s: %+v, %v", w.name, got, err)
		}
	}
	if got := hear(set, req, true, `<tool_call>{"name":"find","arguments":{"city":"a"}}</tool_call>`); len(got.calls) != 1 {
		t.Errorf("a whole call: %+v", got)
	}
}

// Text is shown with the piece that brings it, unless it may still begin a call.
func TestFrames_HoldNoMoreThanTheyMust(t *testing.T) {
	t.Parallel()
	set := offers(t, weather())
	asJSON := providers.Request{Schema: json.RawMessage(`{"type":"object"}`)}
	for name, c := range map[string]struct {
		req    providers.Request
		pieces string // separated by |
		shown  string // after each piece
	}{
		"prose":             {pieces: "I| think| a <| b, and| `x`.\n|\n|- 1|", shown: "I| think| a |< b, and| `x`.\n|\n|- 1|"},
		"HTML":              {pieces: "A |<|b|>x</b>|<to|p>", shown: "A ||<b|>x</b>||<top>"},
		"a mention":         {pieces: "A |<tool|_call>| opens| a", shown: "A ||||<tool_call> opens a"},
		"another tool's":    {pieces: "A |<function=|other>|</function>|.", shown: "A |||<function=other></function>|."},
		"a link":            {pieces: "A |[|li|nk](x)", shown: "A ||[li|nk](x)"},
		"code":              {pieces: "A `|<tool_call>|{\"name", shown: "A `|<tool_call>|{\"name"},
		"JSON of a client":  {req: asJSON, pieces: `|{"name":|"find",|"arguments":{}}`, shown: `|{"name":|"find",|"arguments":{}}`},
		"a frame, the same": {req: asJSON, pieces: "|<tool_call>|x", shown: "|<tool_call>|x"},
	} {
		s := wire.NewSpeech(&wire.UnopenedThoughts{}, c.req, wire.Printed(set, c.req))
		var shown []string
		for piece := range strings.SplitSeq(c.pieces, "|") {
			p, err := s.Take(piece)
			if err != nil {
				t.Fatal(err)
			}
			shown = append(shown, p.Text)
		}
		if got := strings.Join(shown, "|"); got != c.shown {
			t.Errorf("%s: %q, want %q", name, got, c.shown)
		}
	}
	// A call that is too long to be held is shown.
	long := "Look.\n<function=find><parameter=city>" + strings.Repeat("x", 20<<10) + "</parameter></function>"
	if got := hear(set, providers.Request{}, false, strings.SplitAfter(long, "x")...); got.text != long || got.err != nil {
		t.Errorf("%d of %d bytes, %v", len(got.text), len(long), got.err)
	}
}

// However an answer is cut, it reads the same; what is shown is in it, and without calls all of it.
func FuzzPrinted(f *testing.F) {
	for _, frame := range printedFrames() {
		f.Add("A `b`.\n"+frame, 9)
	}
	for _, frame := range wholeFrames() {
		f.Add(frame, 3)
	}
	for _, seed := range []string{"```\n<tool_call>", "~~~\n``", " \n\t<tool_call>list", "<|tool_call>call:find{a:[{b:<|\"|>", "[find(city='''a'", "<think>a</think>[TOOL_CALLS]x"} {
		f.Add(seed, 2)
	}
	set := offers(f, weather())
	f.Fuzz(func(t *testing.T, said string, n int) {
		if n < 1 || len(said) > 4<<10 {
			t.Skip()
		}
		var pieces []string
		for rest := said; rest != ""; rest = rest[min(n, len(rest)):] {
			pieces = append(pieces, rest[:min(n, len(rest))])
		}
		in, at := hear(set, providers.Request{}, false, pieces...), hear(set, providers.Request{}, false, said)
		if in.text != at.text || in.thinking != at.thinking || strings.Join(in.calls, "\n") != strings.Join(at.calls, "\n") || (in.err == nil) != (at.err == nil) {
			t.Fatalf("%q: %+v in pieces, %+v whole", said, in, at)
		}
		if len(at.calls) == 0 && at.err == nil && at.thinking == "" && !strings.HasPrefix(strings.TrimSpace(said), "<") && strings.TrimSpace(said) != "" && at.text != said {
			t.Fatalf("%q came as %q", said, at.text)
		}
		for _, c := range at.calls {
			if name, args, _ := strings.Cut(c, " "); name != "w__find" || !json.Valid([]byte(args)) {
				t.Fatalf("%q became %q", said, c)
			}
		}
	})
}

// BenchmarkPrinted measures what a piece of an answer without calls costs.
func BenchmarkPrinted(b *testing.B) {
	set := offers(b, weather())
	const pieces = 1000
	b.ReportAllocs()
	for b.Loop() {
		s := wire.NewSpeech(&wire.UnopenedThoughts{}, providers.Request{}, wire.Printed(set, providers.Request{}))
		for range pieces {
			_, _ = s.Take(" tooth")
		}
		_, _, _ = s.End(false, false)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/pieces, "ns/piece")
}
