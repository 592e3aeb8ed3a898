package wire_test

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"molar/providers"
	"molar/schemas"
)

// chunkings returns ways to read a body: whole, byte by byte, and in random pieces.
func chunkings() map[string]func(string) io.Reader {
	return map[string]func(string) io.Reader{
		"whole":  func(s string) io.Reader { return strings.NewReader(s) },
		"bytes":  func(s string) io.Reader { return iotest.OneByteReader(strings.NewReader(s)) },
		"random": func(s string) io.Reader { return &random{strings.NewReader(s)} },
	}
}

type random struct{ src io.Reader }

func (r *random) Read(p []byte) (int, error) { return r.src.Read(p[:min(len(p), 1+rand.N(37))]) }

// read receives an answer as the host does.
func read(t *testing.T, p providers.Provider, req providers.Request) (reading, schemas.Message, error) {
	t.Helper()
	var got reading
	said := schemas.Message{Role: schemas.RoleAssistant}
	var failed error
	for chunk, err := range p.Stream(t.Context(), req) {
		if failed != nil || got.Finish != "" {
			t.Error("something came after the end")
		}
		if failed = err; err != nil {
			continue
		}
		if chunk.Retract {
			got.Text, got.Thinking = "", got.Thinking+got.Text
		}
		got.Text += chunk.Text
		got.Thinking += chunk.Thinking
		got.Finish += string(chunk.Finish)
		if chunk.Usage != nil {
			got.Prompt, got.Answer = chunk.Usage.PromptTokens, chunk.Usage.CompletionTokens
		}
		switch {
		case chunk.Call != nil:
			got.Calls = append(got.Calls, chunk.Call.Function.Name+" "+canonical(chunk.Call.Function.Arguments))
			said.Parts = append(said.Parts, schemas.Part{Kind: schemas.PartCall, Call: chunk.Call, State: chunk.State})
		case chunk.Text != "" || chunk.State != nil:
			said.Parts = append(said.Parts, schemas.Part{Kind: schemas.PartText, Text: chunk.Text, State: chunk.State})
		}
	}
	return got, said, failed
}

// Recorded answers of real services, in three chunkings: what is read from them, and what the
// next request sends back. MOLAR_TRANSCRIPTS names their folder.
func TestRecorded(t *testing.T) {
	folder := os.Getenv("MOLAR_TRANSCRIPTS")
	if folder == "" {
		t.Skip("MOLAR_TRANSCRIPTS is not set: no recorded answers to read")
	}
	all := recordings(t, folder)
	exact, foreign, readings, back := 0, 0, 0, 0
	for _, r := range all {
		w, known := r.wire()
		if !known {
			foreign++
			continue
		}
		want, right := r.expected(t), true
		for how, cut := range chunkings() {
			readings++
			s := &service{body: func() io.Reader { return cut(r.body(t)) }}
			adapter := w.on(t, s)
			req := providers.Request{Model: "gemini-3-pro-preview", Messages: question().Messages}
			got, said, err := read(t, adapter, req)
			seen := want
			seen.IDs = nil
			if diff := cmp.Diff(seen, got); diff != "" || err != nil {
				t.Errorf("%s %d, %s: %v %s", r.Source, r.I, how, err, diff)
				right = false
				continue
			}
			if len(want.Calls) > 0 {
				r.goesBack(t, adapter, s, req, said, want)
				back++
			}
		}
		if right {
			exact++
		}
	}
	t.Logf("%d of %d recordings exact in every chunking (%d readings); %d of another wire; %d next requests checked", exact, len(all), readings, foreign, back)
	if readings == 0 {
		t.Error("the folder holds no recording of these wires")
	}
}

// goesBack checks that the next request contains the calls of an answer unchanged, each with its
// id or signature, and then their results in order.
func (r recording) goesBack(t *testing.T, adapter providers.Provider, s *service, req providers.Request, said schemas.Message, want reading) {
	t.Helper()
	results := schemas.Message{Role: schemas.RoleTool}
	for _, c := range said.Calls() {
		results.Parts = append(results.Parts, schemas.Part{Kind: schemas.PartResult, Result: &schemas.ToolResult{ID: c.ID, ToolName: c.Function.Name, Output: json.RawMessage(`{"ok":true}`)}})
	}
	req.Messages = append(req.Messages, said, results)
	_, _, _ = read(t, adapter, req)
	var sent object
	if err := json.Unmarshal(s.sent, &sent); err != nil {
		t.Fatal(err)
	}
	var got reading
	answered := 0
	w, _ := r.wire()
	switch w.name {
	case "gemini":
		contents := list(sent["contents"])
		got.gemini(object{"candidates": []any{object{"content": contents[len(contents)-2]}}})
		answered = len(list(contents[len(contents)-1].(object)["parts"]))
		for i, id := range want.IDs {
			if id == "" && i == 0 {
				want.IDs[i] = got.IDs[i] // a placeholder may be there
			}
		}
	case "ollama":
		messages := list(sent["messages"])
		got.ollama(object{"message": messages[1]})
		answered = len(messages[2:])
		want.IDs = got.IDs // the older servers of these recordings gave none
	default:
		messages := list(sent["messages"])
		got.openai(object{"choices": []any{object{"message": messages[1]}}}, map[any]int{})
		for i, m := range messages[2:] {
			if m.(object)["tool_call_id"] == got.IDs[i] {
				answered++
			}
		}
	}
	for i, call := range got.Calls {
		name, args, _ := strings.Cut(call, " ")
		got.Calls[i] = name + " " + canonical(args)
	}
	if diff := cmp.Diff([][]string{want.Calls, want.IDs}, [][]string{got.Calls, got.IDs}); diff != "" || answered != len(want.Calls) {
		t.Errorf("%s %d: the next request answers %d of %d calls: %s", r.Source, r.I, answered, len(want.Calls), diff)
	}
}
