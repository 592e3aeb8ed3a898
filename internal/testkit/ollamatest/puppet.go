package ollamatest

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"
)

// Marks of a puppet's prompt.
const (
	sayToken = "<|say|>"
	goToken  = "<|go|>"
)

// puppet returns a model that repeats the bytes after <|say|>, up to <|end|>, when
// the prompt ends in
//
//	<|say|>TEXT<|end|>PAD<|go|>
//
// where TEXT and PAD are width bytes together. Its one attention head has constant
// queries and keys, turned by position so that all attention falls on the token
// exactly width+1 places back, whose code goes to the output.
func puppet(width int) model {
	s := shape{name: "puppet", embd: 128, heads: 1, head: 64, context: 131072, base: 8}
	v := newVocab(endToken, sayToken, goToken)
	e, h := s.embd, s.head
	// Dimensions: up to h-2 the current token's code, h-1 a constant, from h on the
	// code that was copied.
	w := weights{
		q: make([]float32, h*e), k: make([]float32, h*e),
		v: make([]float32, h*e), o: make([]float32, e*h),
	}
	zero := make([]float32, h)
	for _, code := range codes(len(v.text), h-1) {
		w.embd = append(append(append(w.embd, code...), 1), zero...)
		w.out = append(append(append(w.out, zero...), code...), 0)
	}
	const sharp = 25
	back := float64(width + 1)
	for i := range h / 2 {
		theta := math.Pow(float64(s.base), -2*float64(i)/float64(h))
		w.q[(2*i)*e+h-1] = float32(sharp * math.Cos(back*theta))
		w.q[(2*i+1)*e+h-1] = float32(-sharp * math.Sin(back*theta))
		w.k[(2*i)*e+h-1] = 1
	}
	for i := range h - 1 {
		w.v[i*e+i] = 1
		w.o[(h+i)*h+i] = 1
	}
	return s.model(v, w)
}

// codes draws n vectors of signs, far from one another.
func codes(n, d int) [][]float32 {
	r := rand.New(rand.NewPCG(1, 1)) // the same codes every time
	out := make([][]float32, n)
	for i := range out {
		out[i] = make([]float32, d)
		for j := range out[i] {
			out[i][j] = float32(r.IntN(2)*2 - 1)
		}
	}
	return out
}

// template is a prompt template that renders the whole conversation and then lets
// the script choose the reply.
func (s Spec) template() string {
	tools, calls, thought := "", "", ""
	if !s.NoTools {
		tools = `{{ if .Tools }}<|tools|>{{ .Tools }}<|end|>{{ end }}`
		calls = `{{ if .ToolCalls }}{{ range .ToolCalls }}<tool_call>{"name": "{{ .Function.Name }}", "arguments": {{ .Function.Arguments }}}</tool_call>{{ end }}{{ end }}`
	}
	if s.Thinking {
		thought = `{{ if .Thinking }}<think>{{ .Thinking }}</think>{{ end }}`
	}
	// An endless reply fills the whole width: blanks would end it.
	fill := strings.Builder{}
	for range bits.Len(uint(s.Width)) {
		fmt.Fprintf(&fill, "{{ if lt (len $say) %d }}{{ $say = print $say $say }}{{ end }}", s.Width)
	}
	return strings.NewReplacer("WIDTH", fmt.Sprint(s.Width), "TOOLS", tools, "CALLS", calls,
		"THOUGHT", thought, "SCRIPT", s.Script, "FILL", fill.String()).Replace(conversation)
}

// conversation is the frame of [Spec.template].
const conversation = `{{- $pad := printf "%WIDTHs" "" }}{{ $say := "" }}{{ $loop := false }}
{{- $q := "" }}{{ $turn := "" }}{{ $result := "" }}
{{- if .System }}<|system|>{{ .System }}<|end|>{{ end }}TOOLS
{{- range .Messages }}
{{- if eq .Role "user" }}{{ $q = .Content }}{{ $turn = "" }}<|user|>{{ .Content }}<|end|>
{{- else if eq .Role "assistant" }}{{ $turn = print $turn "a" }}<|assistant|>THOUGHT{{ .Content }}CALLS<|end|>
{{- else if eq .Role "tool" }}{{ $turn = print $turn "t" }}{{ $result = .Content }}<|tool|>{{ .Content }}<|end|>
{{- end }}{{ end }}
{{- /* what to say */ -}}
SCRIPT
{{- /* say it */ -}}
{{- if $loop }}FILL<|say|>{{ slice $say 0 WIDTH }} <|go|>
{{- else }}<|say|>{{ $say }}<|end|>{{ slice $pad (len $say) }}<|go|>{{ end }}`
