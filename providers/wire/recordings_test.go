package wire_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A recording is a recorded answer of a service.
type recording struct {
	Source, URL string
	I, Status   int
	Response    json.RawMessage
}

// wire returns the adapter of the recording's wire; false for one that Molar does not speak.
func (r recording) wire() (adapter, bool) {
	for i, path := range []string{"enerateContent", "/chat/completions", "/api/chat"} {
		if strings.Contains(r.URL, path) {
			return wires()[i], true
		}
	}
	return adapter{}, false
}

// body returns the recorded answer; an answer that was not streamed is one event for Gemini,
// whose answers are always streamed.
func (r recording) body(t *testing.T) string {
	t.Helper()
	var text string
	if json.Unmarshal(r.Response, &text) == nil {
		return text
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, r.Response); err != nil {
		t.Fatal(err)
	}
	if w, _ := r.wire(); w.name == "gemini" {
		return "data: " + compact.String() + "\r\n\r\n"
	}
	return compact.String() + "\n"
}

// recordings reads a folder: http_pairs.jsonl, a line for each answer with url, status and
// response, and in raw the documented examples of Ollama and the recordings of a Gemini client.
func recordings(t *testing.T, folder string) []recording {
	t.Helper()
	var all []recording
	each(t, filepath.Join(folder, "http_pairs.jsonl"), func(line []byte) error {
		var r recording
		err := json.Unmarshal(line, &r)
		all = append(all, r)
		return err
	})
	examples, _ := filepath.Glob(filepath.Join(folder, "raw", "ollama_native", "*.jsonl"))
	for _, path := range examples {
		each(t, path, func(line []byte) error {
			var e struct {
				Case, Path string
				Stream     []json.RawMessage `json:"response_stream"`
			}
			err := json.Unmarshal(line, &e)
			var body strings.Builder
			for _, event := range e.Stream {
				body.Write(event)
				body.WriteByte('\n')
			}
			text, _ := json.Marshal(body.String())
			all = append(all, recording{Source: e.Case, URL: e.Path, Status: http.StatusOK, Response: text})
			return err
		})
	}
	fakes, _ := filepath.Glob(filepath.Join(folder, "raw", "gemini_cli_responses", "*.responses"))
	for _, path := range fakes {
		each(t, path, func(line []byte) error {
			var f struct{ Response json.RawMessage }
			err := json.Unmarshal(line, &f)
			pieces := []json.RawMessage{f.Response}
			if f.Response[0] == '[' {
				err = errors.Join(err, json.Unmarshal(f.Response, &pieces))
			}
			var body strings.Builder
			for _, piece := range pieces {
				body.WriteString("data: " + string(piece) + "\r\n\r\n")
			}
			text, _ := json.Marshal(body.String())
			all = append(all, recording{Source: filepath.Base(path), URL: "generateContent", Status: http.StatusOK, Response: text})
			return err
		})
	}
	return all
}

// each calls do with each line of a file.
func each(t *testing.T, path string, do func(line []byte) error) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if err := do(lines.Bytes()); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
}

// A reading is the content of an answer.
type reading struct {
	Text, Thinking string
	Calls          []string // name and arguments
	IDs            []string // of the calls, or their signatures
	Prompt, Answer int      // tokens
	Finish         string
}

// object is any JSON object.
type object = map[string]any

// expected reads an answer without the adapters: event by event, into maps.
func (r recording) expected(t *testing.T) reading {
	t.Helper()
	var want reading
	open := map[any]int{}
	for line := range strings.Lines(r.body(t)) {
		data := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "data:"))
		var event object
		if !strings.HasPrefix(data, "{") || json.Unmarshal([]byte(data), &event) != nil {
			continue
		}
		switch w, _ := r.wire(); w.name {
		case "gemini":
			want.gemini(event)
		case "openai":
			want.openai(event, open)
		default:
			want.ollama(event)
		}
	}
	if len(want.Calls) > 0 {
		want.Finish = "tool_calls"
	}
	for i, call := range want.Calls {
		name, args, _ := strings.Cut(call, " ")
		want.Calls[i] = name + " " + canonical(args)
	}
	return want
}

func canonical(args string) string {
	var v any
	if json.Unmarshal([]byte(args), &v) != nil || v == nil {
		v = object{}
	}
	data, _ := json.Marshal(v)
	return string(data)
}

func list(v any) []any { l, _ := v.([]any); return l }

// first returns the first element of a list, the only one that counts.
func first(v any) []any { l := list(v); return l[:min(1, len(l))] }

func text(v any) string { s, _ := v.(string); return s }

func number(v any) int { n, _ := v.(float64); return int(n) }

// finished records why an answer ended, in the words of any wire.
func (r *reading) finished(why any) {
	switch s := strings.ToLower(text(why)); s {
	case "":
	case "max_tokens":
		r.Finish = "length"
	default:
		r.Finish = s
	}
}

func (r *reading) gemini(event object) {
	if u, ok := event["usageMetadata"].(object); ok {
		r.Prompt = number(u["promptTokenCount"]) + number(u["toolUsePromptTokenCount"])
		r.Answer = number(u["candidatesTokenCount"]) + number(u["thoughtsTokenCount"])
	}
	for _, c := range first(event["candidates"]) {
		r.finished(c.(object)["finishReason"])
		content, _ := c.(object)["content"].(object)
		for _, p := range list(content["parts"]) {
			part := p.(object)
			call, isCall := part["functionCall"].(object)
			switch {
			case isCall:
				args, _ := json.Marshal(call["args"])
				r.Calls = append(r.Calls, text(call["name"])+" "+string(args))
				r.IDs = append(r.IDs, text(part["thoughtSignature"]))
			case part["thought"] == true:
				r.Thinking += text(part["text"])
			default:
				r.Text += text(part["text"])
			}
		}
	}
}

func (r *reading) ollama(event object) {
	if event["done"] == true {
		r.Prompt, r.Answer = number(event["prompt_eval_count"]), number(event["eval_count"])
		r.finished(event["done_reason"])
	}
	message, _ := event["message"].(object)
	r.Text += text(message["content"])
	r.Thinking += text(message["thinking"])
	for _, c := range list(message["tool_calls"]) {
		call, _ := c.(object)["function"].(object)
		args, _ := json.Marshal(call["arguments"])
		r.Calls, r.IDs = append(r.Calls, text(call["name"])+" "+string(args)), append(r.IDs, text(c.(object)["id"]))
	}
}

func (r *reading) openai(event object, open map[any]int) {
	if u, ok := event["usage"].(object); ok {
		r.Prompt, r.Answer = number(u["prompt_tokens"]), number(u["completion_tokens"])
	}
	for _, c := range first(event["choices"]) {
		choice := c.(object)
		r.finished(choice["finish_reason"])
		delta, ok := choice["delta"].(object)
		if !ok {
			delta, _ = choice["message"].(object)
		}
		r.Text += text(delta["content"])
		if thought := text(delta["reasoning_content"]); thought != "" {
			r.Thinking += thought
		} else {
			r.Thinking += text(delta["reasoning"])
		}
		for _, p := range list(delta["tool_calls"]) {
			piece := p.(object)
			function, _ := piece["function"].(object)
			id := text(piece["id"])
			at, known := open[piece["index"]]
			if !known || id != "" && r.IDs[at] != id {
				at = len(r.Calls)
				open[piece["index"]] = at
				r.Calls, r.IDs = append(r.Calls, text(function["name"])+" "), append(r.IDs, id)
			}
			r.Calls[at] += text(function["arguments"])
		}
	}
}
