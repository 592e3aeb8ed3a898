package importers_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/eval/importers"
	"molar/eval/tape"
)

// read reads a file of a format.
func read(format, name, text string) ([]importers.Imported, error) {
	made, faults := importers.Read(importers.Options{Format: format}, importers.File{Name: name, Data: []byte(text)})
	return made, errors.Join(faults...)
}

// readTape reads an imported tape back.
func readTape(t *testing.T, i importers.Imported) *tape.Tape {
	t.Helper()
	s, err := tape.Read("t", i.Tape)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const openAI = `{"id":"c1","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Weather in Hanoi?"},{"role":"assistant","content":null,"tool_calls":[{"id":"x1","type":"function","function":{"name":"weather","arguments":"{\"city\": \"Hanoi\", \"days\": 2}"}}]},{"role":"tool","tool_call_id":"x1","content":"{\"temp\": 31}"},{"role":"assistant","content":"It is 31 degrees."},{"role":"user","content":[{"type":"text","text":"Thanks"}]},{"role":"assistant","content":"Welcome."}],"tools":[{"type":"function","function":{"name":"weather","description":"d","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}]}`

func TestOpenAI(t *testing.T) {
	all, err := read("openai", "f.jsonl", openAI+"\n")
	if err != nil || len(all) != 1 {
		t.Fatalf("%d cases, %v", len(all), err)
	}
	c := all[0].Case
	if c.ID != "c1" || c.Input.System != "Be brief." || len(c.Turns) != 2 {
		t.Errorf("case %+v", c)
	}
	want := map[string]any{"city": "Hanoi", "days": int64(2)}
	if diff := cmp.Diff(want, c.Turns[0].Expect.Calls.Items[0].Args); diff != "" {
		t.Error(diff)
	}
	if !c.Turns[1].Expect.NoCall || c.Turns[1].User != "Thanks" {
		t.Errorf("second turn %+v", c.Turns[1])
	}
	s := readTape(t, all[0])
	if s.Header.Provider != "openai" || len(s.Turns) != 2 || string(s.Turns[0].Calls[0].Output) != `{"temp":31}` {
		t.Errorf("story %+v", s)
	}
}

func TestOpenAI_faults(t *testing.T) {
	for text, want := range map[string]string{
		`{"messages":[`: "f.jsonl:1:",
		`{"messages":[{"role":"user","content":"x"}],"choices":[{},{}]}`:                  "several choices",
		`{"messages":[{"role":"assistant","content":"x"}]}`:                               "speaks before the user",
		`{"messages":[{"role":"user","content":"x"},{"role":"tool","tool_call_id":"z"}]}`: `no call has the id "z"`,
		`{"messages":[{"role":"user","content":"x"},{"role":"poet","content":"y"}]}`:      `role "poet"`,
		`{"messages":[{"role":"system","content":"x"}]}`:                                  "no user message",
	} {
		if _, err := read("openai", "f.jsonl", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

const (
	geminiAsk  = `{"contents":[{"role":"user","parts":[{"text":"Weather in Hanoi?"}]}],"systemInstruction":{"parts":[{"text":"Be brief."}]},"tools":[{"functionDeclarations":[{"name":"weather","description":"d","parameters":{"type":"OBJECT","properties":{"type":{"type":"STRING"}}}}]}]}`
	geminiCall = `{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"weather","args":{"city":"Hanoi"}}}]},"finishReason":"STOP"}]}`
	geminiBack = `{"contents":[{"role":"user","parts":[{"text":"Weather in Hanoi?"}]},{"role":"model","parts":[{"functionCall":{"name":"weather","args":{"city":"Hanoi"}}}]},{"role":"user","parts":[{"functionResponse":{"name":"weather","response":{"temp":31}}}]}]}`
	geminiSays = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"It is \"}]}}]}\r\n\r\ndata: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"31.\"}]},\"finishReason\":\"STOP\"}]}\r\n\r\n"
	geminiURL  = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash"
)

func wantWeather(t *testing.T, i importers.Imported) {
	t.Helper()
	s := readTape(t, i)
	if s.Header.Provider != "gemini" || s.Header.Model != "gemini-2.5-flash" || len(s.Turns) != 1 {
		t.Fatalf("story %+v", s)
	}
	turn := s.Turns[0]
	if turn.User != "Weather in Hanoi?" || len(turn.Calls) != 1 || string(turn.Calls[0].Output) != `{"temp":31}` || turn.Sum.ModelCalls != 2 {
		t.Errorf("turn %+v", turn)
	}
	if schema := string(s.Servers[importers.Server].Tools["weather"].InputSchema); schema != `{"properties":{"type":{"type":"string"}},"type":"object"}` {
		t.Errorf("schema %s", schema)
	}
	if got := i.Case.Turns[0].Expect.Answer.All[0].Contains; got != "It is 31." {
		t.Errorf("answer %q", got)
	}
}

func TestGoVCR(t *testing.T) {
	quote := func(s string) string {
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	interaction := func(path, body, answer string, code int) string {
		return fmt.Sprintf("- id: 0\n  request:\n    body: %s\n    headers:\n      X-Test:\n      - a\n    url: %s%s\n    method: POST\n  response:\n    body: %s\n    status: x\n    code: %d\n", quote(body), geminiURL, path, quote(answer), code)
	}
	text := "---\nversion: 2\ninteractions:\n" + interaction(":generateContent", geminiAsk, "{}", 503) +
		interaction(":generateContent", geminiAsk, geminiCall, 200) + interaction(":streamGenerateContent", geminiBack, geminiSays, 200)
	i, err := read("cassette", "w.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	wantWeather(t, i[0])
	if len(i[0].Notes) != 1 || !strings.Contains(i[0].Notes[0], "503") {
		t.Errorf("notes %q", i[0].Notes)
	}
	for _, bad := range []string{"interactions: []\n", "a: [\n", "interactions: 5\n"} {
		if _, err := read("cassette", "w.yaml", bad); err == nil || !strings.Contains(err.Error(), "w.yaml:") {
			t.Errorf("%q: error %v", bad, err)
		}
	}
}

// TestCassette reads the variants of VCR for Ruby and vcrpy: addresses under uri, and bodies
// that are nested, zipped, bytes or parsed JSON.
func TestCassette(t *testing.T) {
	quote := func(s string) string {
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write([]byte(geminiCall)) // into memory
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	coded := base64.StdEncoding.EncodeToString(packed.Bytes())
	for name, text := range map[string]string{
		"VCR for Ruby": "---\nhttp_interactions:\n" +
			"- request:\n    method: post\n    uri: " + geminiURL + ":generateContent\n    body:\n      encoding: UTF-8\n      string: " + quote(geminiAsk) +
			"\n  response:\n    status:\n      code: 200\n      message: OK\n    body:\n      encoding: ASCII-8BIT\n      string: !binary |-\n        " + base64.StdEncoding.EncodeToString([]byte(geminiCall)) +
			"\n- request:\n    method: post\n    uri: " + geminiURL + ":streamGenerateContent?alt=sse\n    body:\n      encoding: UTF-8\n      string: " + quote(geminiBack) +
			"\n  response:\n    status:\n      code: 200\n      message: OK\n    body:\n      encoding: UTF-8\n      base64_string: " + base64.StdEncoding.EncodeToString([]byte(geminiSays)) + "\nrecorded_with: VCR 6.3.1\n",
		"vcrpy": "interactions:\n" +
			"- request:\n    body: " + quote(geminiAsk) + "\n    headers: {}\n    method: POST\n    uri: " + geminiURL + ":generateContent\n" +
			"  response:\n    body:\n      string: !!binary |\n        " + coded + "\n    headers:\n      content-encoding:\n      - gzip\n    status:\n      code: 200\n      message: OK\n" +
			"- request:\n    parsed_body: " + geminiBack + "\n    method: POST\n    uri: " + geminiURL + ":streamGenerateContent?alt=sse\n" +
			"  response:\n    body:\n      string: " + quote(geminiSays) + "\n    status:\n      code: 200\n      message: OK\nversion: 1\n",
	} {
		t.Run(name, func(t *testing.T) {
			all, err := read("", "w.yaml", text)
			if err != nil || len(all) != 1 {
				t.Fatalf("%d cases, %v", len(all), err)
			}
			wantWeather(t, all[0])
		})
	}
}

// TestOpenAI_logs reads requests with their responses, in a list, over several lines.
func TestOpenAI_logs(t *testing.T) {
	const log = `[
  {"request": {"model": "m", "messages": [{"role": "user", "content": "Weather in Hanoi?"}],
    "tools": [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]},
   "response": {"choices": [{"index": 0, "message": {"role": "assistant", "content": null,
     "tool_calls": [{"id": "x1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}]}}]}},
  {"messages": [{"role": "user", "content": "Hello"}], "choices": [{"message": {"content": "Good day."}}]}
]`
	all, err := read("", "log.json", log)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d cases, %v", len(all), err)
	}
	if s := readTape(t, all[0]); len(s.Turns[0].Calls) != 1 || s.Turns[0].Calls[0].Tool != "weather" {
		t.Errorf("story %+v", s.Turns)
	}
	if got := all[1].Case.Turns[0].Expect.Answer.All[0].Contains; got != "Good day." {
		t.Errorf("answer %q", got)
	}
}

// TestNumbers: Vertex may number the reasons why an answer ended, which no client of Gemini's reads.
func TestNumbers(t *testing.T) {
	said := func(reason string) string {
		return fmt.Sprintf(`{"url":%q,"status":200,"request":%s,"response":{"candidates":[{"content":{"parts":[{"text":"Hi."}]},"finishReason":%s}]}}`, geminiURL+":generateContent", geminiAsk, reason)
	}
	all, err := read("", "v.jsonl", said("1"))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(all[0].Tape); strings.Contains(got, `\"finishReason\":1`) || !strings.Contains(got, "Hi.") {
		t.Errorf("tape %s", got)
	}
	if _, err := read("", "v.jsonl", said("3")); err == nil || !strings.HasPrefix(err.Error(), "v.jsonl:1: ") || !strings.Contains(err.Error(), "it ends with finishReason 3, a number") {
		t.Error(err)
	}
}

// TestFunctions: the calls of OpenAI's first form, with functions and function_call, are calls.
func TestFunctions(t *testing.T) {
	const (
		ask     = `{"function_call":"auto","functions":[{"name":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}],"messages":[{"role":"user","content":"Weather in Hue?"}`
		call    = `{"role": "assistant", "content": null, "function_call": {"name": "weather", "arguments": "{\"city\": \"Hue\"}"}}`
		back    = ask + "," + call + `,{"role":"function","name":"weather","content":"{\"temp\":31}"}]}`
		message = `{"choices":[{"index":0,"message":` + call + `,"finish_reason":"function_call"}]}`
		says    = `{"choices":[{"message":{"content":"It is 31."}}]}`
		stream  = "data: {\"choices\":[{\"index\":0,\"delta\":{\"function_call\":{\"name\":\"weather\",\"arguments\":\"{\\\"city\\\"\"}}}]}\n\n" +
			"data: {\"choices\":[{\"index\":0,\"delta\":{\"function_call\":{\"arguments\":\": \\\"Hue\\\"}\"}}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"function_call\"}]}\n\n"
	)
	pair := func(request, response string) string {
		quoted, err := json.Marshal(response)
		if err != nil {
			t.Fatal(err)
		}
		return `{"url":"https://api.openai.com/v1/chat/completions","status":200,"request":` + request + `,"response":` + string(quoted) + "}\n"
	}
	for name, text := range map[string]string{
		"a recording":          pair(ask+"]}", message) + pair(back, says),
		"a streamed recording": pair(ask+"]}", stream) + pair(back, says),
		"a log":                `{"request":` + back + `,"response":` + says + "}",
	} {
		all, err := read("", "f.jsonl", text)
		if err != nil || len(all) != 1 {
			t.Fatalf("%s: %d cases, %v", name, len(all), err)
		}
		s := readTape(t, all[0])
		calls, tool := all[0].Case.Turns[0].Expect.Calls, s.Servers[importers.Server].Tools["weather"]
		if calls == nil || len(s.Turns) != 1 || len(s.Turns[0].Calls) != 1 || string(s.Turns[0].Calls[0].Output) != `{"temp":31}` || !strings.Contains(string(tool.InputSchema), "city") {
			t.Errorf("%s: calls %+v, turns %+v, tool %s", name, calls, s.Turns, tool.InputSchema)
			continue
		}
		if diff := cmp.Diff(map[string]any{"city": "Hue"}, calls.Items[0].Args); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestChecked: what a recorded answer has to contain stands even if the host makes code of its addresses.
func TestChecked(t *testing.T) {
	for answer, want := range map[string]string{
		"It is 3.5 at 12:30.\nMore.": "It is 3.5 at 12:30.",
		"List .go files":             "List .go files",
		"Tại số.vn có":               "Tại s",
		"main.go":                    "main",
		"Downloaded `example.txt` to (2574 bytes).":  "to (2574 bytes).",
		"See [the page](https://a.example/b-c.html)": "See",
		"```json\n{\"city\": \"Hue, Vietnam\"}\n```": `{"city": "Hue, Vietnam"}`,
		"Write to ann@example.com, please":           "Write to",
		"a.b":                                        "",
	} {
		said, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		all, err := read("openai", "f.jsonl", `{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":`+string(said)+`}]}`)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if a := all[0].Case.Turns[0].Expect.Answer; a != nil {
			got = a.All[0].Contains
		}
		if got != want {
			t.Errorf("%q: it has to contain %q, want %q", answer, got, want)
		}
	}
}

// TestRead_strange: errors about unreadable files quote their start or an address.
func TestRead_strange(t *testing.T) {
	for text, want := range map[string]string{
		`"nothing"`: `f:1: there is no object or line in it that could be a case: it begins with "nothing"`,
		"interactions:\n- request: {method: GET, uri: https://api.weather.example/v1}\n  response: {status: {code: 200}, body: {string: x}}\n": "https://api.weather.example/v1 is not a model call",
	} {
		if _, err := read("", "f", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

// TestEnding: a recording that ends with a call gets an answer that says so, and a note.
func TestEnding(t *testing.T) {
	line := fmt.Sprintf(`{"source":"s/x.yaml","method":"POST","url":%q,"status":200,"request":%s,"response":%s}`, geminiURL+":generateContent", geminiAsk, geminiCall)
	all, err := read("pairs", "p.jsonl", line)
	if err != nil || len(all) != 1 {
		t.Fatal(err)
	}
	if len(all[0].Notes) != 1 || !strings.Contains(all[0].Notes[0], "ends before the answer") {
		t.Errorf("notes %q", all[0].Notes)
	}
	if !strings.Contains(string(all[0].Tape), "(The recording ends here.)") {
		t.Error("the tape has no ending")
	}
}

func FuzzPairs(f *testing.F) {
	f.Add(`{"source":"s","method":"POST","url":"http://h/v1/chat/completions","status":200,"request":{"messages":[{"role":"user","content":"x"}]},"response":{"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}}]}}`)
	f.Fuzz(func(t *testing.T, text string) { _, _ = read("pairs", "f", text) })
}
