package wire

import (
	"molar/providers"
	"molar/schemas"
)

// A Reader makes text and calls of what a model writes.
type Reader interface {
	// Take reads a piece and returns the text that can be shown by now.
	Take(piece string) (text string, err error)
	// End returns the calls that the whole amounts to. Cut says that the model ran
	// into its limit.
	End(cut bool) ([]schemas.FunctionCall, error)
	// Rest returns the text that is still held and gives up looking for calls.
	Rest() string
}

// Speech reads the text of one answer while it arrives: thoughts in it become thinking,
// and what is left is read for calls.
type Speech struct {
	thoughts *Thoughts
	fresh    func() Reader
	reader   Reader
}

// NewSpeech returns the reader of the answer to a request; fresh makes what reads the
// text for calls.
func NewSpeech(aloud *Aloud, req providers.Request, fresh func() Reader) *Speech {
	return &Speech{thoughts: aloud.Reader(req), fresh: fresh, reader: fresh()}
}

// Take reads a piece of the text and returns what can be shown by now.
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

// End ends the text. Cut tells that the model ran into a limit; native, that it made a
// call that was not written, so that none is looked for in the text.
func (s *Speech) End(cut, native bool) (Piece, []schemas.FunctionCall, error) {
	p, err := s.read(s.thoughts.End(cut || native))
	if err != nil {
		return p, nil, err
	}
	if !native {
		calls, err := s.reader.End(cut)
		if err != nil || len(calls) > 0 {
			return p, calls, err
		}
	}
	p.Text += s.reader.Rest()
	return p, nil, nil
}
