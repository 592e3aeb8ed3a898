package tape

import (
	"slices"
	"testing"

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
			if wire, _ := ProviderOf("http://127.0.0.1" + stream.Path); wire != s.Wire {
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
