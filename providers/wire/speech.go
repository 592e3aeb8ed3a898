package wire

import (
	"molar/providers"
	"molar/schemas"
)

// A Reader parses a model's output into text and calls.
type Reader interface {
	// Take reads a piece and returns the text to show now.
	Take(piece string) (text string, err error)
	// End returns the text to show last and the calls in the whole text. cut is set if the model
	// reached its limit.
	End(cut bool) (text string, calls []schemas.FunctionCall, err error)
	// Rest returns the held text and stops looking for calls.
	Rest() string
}

// Speech parses the text of one answer as it arrives: thoughts become thinking, and the rest is
// searched for calls.
type Speech struct {
	thoughts *Thoughts
	fresh    func() Reader
	reader   Reader
}

// NewSpeech returns the reader of a request's answer; fresh makes the reader of calls.
func NewSpeech(memory *UnopenedThoughts, req providers.Request, fresh func() Reader) *Speech {
	return &Speech{thoughts: memory.Reader(req), fresh: fresh, reader: fresh()}
}

// Take reads a piece of the text and returns what to show now.
func (s *Speech) Take(text string) (Piece, error) { return s.read(s.thoughts.Take(text)) }

func (s *Speech) read(p Piece) (Piece, error) {
	if p.Retract {
		p.Thinking = s.reader.Rest() + p.Thinking
		s.reader = s.fresh()
	}
	var err error
	p.Text, err = s.reader.Take(p.Text)
	return p, err
}

// Retract turns the text so far into thinking. What was held of it comes as such.
func (s *Speech) Retract() (Piece, error) { return s.read(s.thoughts.await(Piece{Retract: true})) }

// End ends the text. cut is set if the model reached a limit; native, if it made a call outside
// the text, so that the text is not searched for calls.
func (s *Speech) End(cut, native bool) (Piece, []schemas.FunctionCall, error) {
	p, err := s.read(s.thoughts.End(cut || native))
	if err != nil {
		return p, nil, err
	}
	if native {
		p.Text += s.reader.Rest()
		return p, nil, nil
	}
	text, calls, err := s.reader.End(cut)
	p.Text += text
	return p, calls, err
}
