package ollamatest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/ollama/ollama/api"
)

// defaultWidth is enough for a call and a sentence.
const defaultWidth = 512

// A Spec describes a made model.
type Spec struct {
	// Script is a piece of Go template that sets $say to the reply. It may look at
	//
	//	$q       the last user message
	//	$turn    what came after it: "" at first, "at" after an assistant message
	//	         and a tool result, "att" after two results, "atat" after two rounds
	//	$result  the last tool result
	//
	// and at the fields .System, .Tools, .Messages and .Think. Setting $loop to true
	// makes the reply endless. A call is written
	// <tool_call>{"name": …, "arguments": {…}}</tool_call>.
	Script string
	// Width is the longest reply in bytes; zero means 512. The server answers a
	// longer one with status 500. The time of a reply grows with it.
	Width int
	// NoTools makes a model without tool support.
	NoTools bool
	// Thinking makes a model that thinks between <think> and </think>.
	Thinking bool
	// Parser names one of the server's built-in parsers of replies.
	Parser string
	// Noise makes a model of random weights, which says anything that a format
	// allows. It obeys no script.
	Noise bool
}

// Model makes a model on the server that replies as the script says.
func (s *Server) Model(t testing.TB, name, script string) {
	t.Helper()
	s.Make(t, name, Spec{Script: script})
}

// Make makes a model on the server. The first of a width takes 15 ms, later ones 5.
func (s *Server) Make(t testing.TB, name string, spec Spec) {
	t.Helper()
	if spec.Width == 0 {
		spec.Width = defaultWidth
	}
	req := &api.CreateRequest{
		Model: name, Template: spec.template(), Parser: spec.Parser,
		Files: map[string]string{"model.gguf": s.upload(t, spec)},
		// With two threads on two busy cores, 14 ms become 330.
		Parameters: map[string]any{"num_thread": 1},
	}
	if err := s.client.Create(t.Context(), req, func(api.ProgressResponse) error { return nil }); err != nil {
		t.Fatalf("make model %s: %v", name, err)
	}
}

// upload puts the model's file into the server's store and returns its digest.
func (s *Server) upload(t testing.TB, spec Spec) string {
	t.Helper()
	key := fmt.Sprint(spec.Width, spec.Noise)
	if digest := s.files[key]; digest != "" {
		return digest
	}
	made := puppet(spec.Width)
	if spec.Noise {
		made = noise()
	}
	file, err := made.gguf()
	if err != nil {
		t.Fatal(err)
	}
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(file))
	if err := s.client.CreateBlob(t.Context(), digest, bytes.NewReader(file)); err != nil {
		t.Fatalf("upload the model's file: %v", err)
	}
	s.files[key] = digest
	return digest
}
