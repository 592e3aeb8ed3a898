package agent

import (
	"slices"
	"strings"

	"molar/providers"
	"molar/schemas"
)

// A said is what the model said and called in one round.
type said struct {
	parts  []schemas.Part
	finish providers.FinishReason
	// open grows the text of the last part, which settle hands over.
	open strings.Builder
}

// add takes a chunk in. A part with provider state is never merged with another: the
// provider wants its state back on exactly that part.
func (s *said) add(c providers.Chunk) {
	switch {
	case c.Call != nil:
		s.settle()
		s.parts = append(s.parts, schemas.Part{Kind: schemas.PartCall, Call: c.Call, State: c.State})
	case c.Text != "" || c.State != nil:
		if c.State == nil {
			s.open.WriteString(c.Text)
			break
		}
		s.settle()
		s.parts = append(s.parts, schemas.Part{Kind: schemas.PartText, Text: c.Text, State: c.State})
	}
	if c.Finish != "" {
		s.finish = c.Finish
	}
}

// settle makes a part of the text that is open.
func (s *said) settle() {
	if s.open.Len() > 0 {
		s.parts = append(s.parts, schemas.Part{Kind: schemas.PartText, Text: s.open.String()})
		s.open.Reset()
	}
}

// message is the round as a message of the history.
func (s *said) message() schemas.Message {
	s.settle()
	return schemas.Message{Role: schemas.RoleAssistant, Parts: s.parts}
}

// spoken is the message without its calls, for a round in which none is executed:
// no history may hold a call that has no result.
func (s *said) spoken() schemas.Message {
	m := s.message()
	m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p schemas.Part) bool { return p.Kind == schemas.PartCall })
	return m
}

// calls are the calls to be executed. An answer that was cut or filtered runs none:
// half of what it meant is missing.
func (s *said) calls() []schemas.ToolCall {
	if s.finish == providers.FinishLength || s.finish == providers.FinishContentFilter {
		return nil
	}
	return s.message().Calls()
}

// keepOneCall drops all calls but the first.
func (s *said) keepOneCall() {
	s.settle()
	seen := false
	s.parts = slices.DeleteFunc(s.parts, func(p schemas.Part) bool {
		if p.Kind != schemas.PartCall {
			return false
		}
		another := seen
		seen = true
		return another
	})
}

// text is what the model said.
func (s *said) text() string {
	s.settle()
	var b strings.Builder
	for _, p := range s.parts {
		if p.Kind == schemas.PartText {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}
