package tape

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/providers"
)

// Each service has a wire of its name, and what is written in it can be read back.
func TestWires(t *testing.T) {
	t.Parallel()
	for _, s := range providers.Services() {
		if !slices.ContainsFunc(wireForms(), func(w wireForm) bool { return w.name == s.Wire }) {
			t.Errorf("%s speaks the wire %q, which is not known here", s.Name, s.Wire)
			continue
		}
		answer := WireAnswer{Text: "Brush twice.", Calls: []Call{{ID: "1", Name: "find", Arguments: `{"q":"brush"}`}}}
		stream := answer.Stream(s.Name, "m")
		if s.HasModels() {
			if wire, _ := WireOf("http://127.0.0.1" + stream.Path); wire != s.Wire {
				t.Errorf("%s: a request to %s is taken for one of %q", s.Name, stream.Path, wire)
			}
		}
		body := slices.Concat(stream.Chunks...)
		if !s.HasModels() {
			body = nil
			for _, chunk := range stream.Chunks {
				body = append(append(body, chunk...), '\n')
			}
		}
		got, _, err := ReadAnswer(s.Name, string(body))
		if err != nil || got.Text != answer.Text || len(got.Calls) != 1 || got.Calls[0].Name != "find" || got.Calls[0].Arguments != `{"q":"brush"}` {
			t.Errorf("%s: read %+v, %v", s.Name, got, err)
		}
	}
}

// What the wires share with no service's name is read back too, in a stream and whole.
func TestWires_Responses(t *testing.T) {
	t.Parallel()
	answer := WireAnswer{Text: "Brush twice.", Thinking: "I look.", Calls: []Call{{ID: "1", Name: "find", Arguments: `{"q":"brush"}`}}, Prompt: 7, Completion: 3}
	stream := answer.Stream(Responses, "m")
	if wire, _ := WireOf("http://127.0.0.1" + stream.Path); wire != Responses || ServiceOf(wire) != OpenAI {
		t.Errorf("a request to %s is taken for one of %q, of %s", stream.Path, wire, ServiceOf(wire))
	}
	last := string(stream.Chunks[len(stream.Chunks)-1])
	_, data, _ := strings.Cut(last, `"response":`)
	whole, _, _ := strings.Cut(data, `,"sequence_number"`)
	for how, body := range map[string]string{"stream": string(slices.Concat(stream.Chunks...)), "whole": whole} {
		got, _, err := ReadAnswer(Responses, body)
		got.Thinking = answer.Thinking // of which a tape keeps nothing
		if diff := cmp.Diff(answer, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", how, err, diff)
		}
	}
}

// A request of that wire has the parts that the same one of Chat Completions has.
func TestReadRequest_Responses(t *testing.T) {
	t.Parallel()
	r, err := ReadRequest([]byte(`{"model":"m","instructions":"Be brief.","store":false,"input":[{"type":"message","role":"user","content":"Hi"},` +
		`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"},{"type":"message","role":"assistant","content":"One moment.","phase":"commentary"},` +
		`{"type":"function_call","call_id":"c1","name":"find","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"sun"}]},` +
		`{"type":"message","role":"user","content":"And?"}],"tools":[{"type":"function","name":"find","description":"Finds.","parameters":{"type":"object"},"strict":false}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Message{
		{Role: "system", Text: "Be brief."},
		{Role: "user", Text: "Hi"},
		{Role: "assistant"},
		{Role: "assistant", Text: "One moment.", Calls: []Call{{"c1", "find", "{}"}}},
		{Role: "tool", Results: []Part{{Kind: KindResult, At: "input[4]", ID: "c1", Text: "sun"}}},
		{Role: "user", Text: "And?"},
	}
	if diff := cmp.Diff(want, r.Messages()); diff != "" {
		t.Error(diff)
	}
	if tools := r.Tools(); len(tools) != 1 || tools[0].Name != "find" || string(tools[0].InputSchema) != `{"type":"object"}` {
		t.Errorf("tools %+v", tools)
	}
}
