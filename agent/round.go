package agent

import (
	"slices"
	"strings"

	"molar/providers"
	"molar/schemas"
)

// A Reply collects the model's text and calls of one round.
type Reply struct {
	// Finish is why it ended.
	Finish providers.FinishReason

	parts []schemas.Part
	// open is the text of the last part, until settle appends it to parts.
	open strings.Builder
}

// Add adds a chunk. A part with provider state is never merged with another: the provider expects
// its state back on exactly that part.
func (r *Reply) Add(c providers.Chunk) {
	switch {
	case c.Call != nil:
		r.settle()
		r.parts = append(r.parts, schemas.Part{Kind: schemas.PartCall, Call: c.Call, State: c.State})
	case c.Text != "" || c.State != nil:
		if c.State == nil {
			r.open.WriteString(c.Text)
			break
		}
		r.settle()
		r.parts = append(r.parts, schemas.Part{Kind: schemas.PartText, Text: c.Text, State: c.State})
	}
	if c.Finish != "" {
		r.Finish = c.Finish
	}
}

// isEmpty reports whether the model has said nothing yet.
func (r *Reply) isEmpty() bool { return len(r.parts) == 0 && r.open.Len() == 0 }

// Retract drops the text so far: it turned out to be reasoning.
func (r *Reply) Retract() {
	r.open.Reset()
	r.parts = slices.DeleteFunc(r.parts, func(p schemas.Part) bool { return p.Kind == schemas.PartText })
}

// SetText replaces all texts by one.
func (r *Reply) SetText(text string) {
	if r.Message().Said() != text {
		r.Retract()
		r.open.WriteString(text)
	}
}

// settle appends the open text to the parts.
func (r *Reply) settle() {
	if r.open.Len() > 0 {
		r.parts = append(r.parts, schemas.Part{Kind: schemas.PartText, Text: r.open.String()})
		r.open.Reset()
	}
}

// Message returns the round as a message of the history.
func (r *Reply) Message() schemas.Message {
	r.settle()
	return schemas.Message{Role: schemas.RoleAssistant, Parts: r.parts}
}

// Spoken returns the message without its calls, for a round that executes none: no history may hold
// a call that has no result.
func (r *Reply) Spoken() schemas.Message {
	m := r.Message()
	m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p schemas.Part) bool { return p.Kind == schemas.PartCall })
	return m
}

// Calls returns the calls to execute. A cut or filtered answer has none: part of it is missing.
func (r *Reply) Calls() []schemas.ToolCall {
	if r.Finish == providers.FinishLength || r.Finish == providers.FinishContentFilter {
		return nil
	}
	return r.Message().Calls()
}

// change replaces each call.
func (r *Reply) change(changed func(schemas.ToolCall) schemas.ToolCall) {
	for i, p := range r.parts {
		if p.Call != nil {
			call := changed(*p.Call)
			r.parts[i].Call = &call
		}
	}
}

// KeepOneCall drops all calls but the first.
func (r *Reply) KeepOneCall() {
	r.settle()
	seen := false
	r.parts = slices.DeleteFunc(r.parts, func(p schemas.Part) bool {
		if p.Kind != schemas.PartCall {
			return false
		}
		another := seen
		seen = true
		return another
	})
}

// withoutMedia returns the rounds without the files of their results: these last for one turn, a
// stored conversation is text.
func withoutMedia(rounds []schemas.Round) []schemas.Round {
	kept := slices.Clone(rounds)
	for i, r := range kept {
		kept[i].Results = slices.Clone(r.Results)
		for j := range kept[i].Results {
			kept[i].Results[j].Media = nil
		}
	}
	return kept
}
