package ollama

import (
	"bytes"

	"molar/schemas"
)

// maxHeld is how much text is held back to see whether it becomes a call.
const maxHeld = 16 << 10

// A reader makes text and calls of what the model writes.
type reader interface {
	// take takes in a piece and returns the text that can be shown by now.
	take(piece string) (text string, err error)
	// end returns the calls that the whole amounts to. Cut says that the model ran
	// into its limit.
	end(cut bool) ([]schemas.FunctionCall, error)
	// rest returns the text that is still held and gives up looking for calls.
	rest() string
}

func (c *call) newReader() reader {
	if c.form != nil {
		return &formReader{form: c.form}
	}
	return &proseReader{set: c.set}
}

// A proseReader reads text in which calls to the tools of the set may be printed.
// It holds back what may be one, and blanks, which alone are no answer.
type proseReader struct {
	set  toolSet
	held []byte
	open bool // nothing is held any more
}

func (r *proseReader) take(piece string) (string, error) {
	if r.open || piece == "" {
		return piece, nil
	}
	r.held = append(r.held, piece...)
	start := bytes.TrimLeft(r.held, blanks)
	undecided := len(start) == 0 || len(r.set) > 0 && mayBePrinted(string(start[:min(len(start), maxPrefix)]))
	if undecided && len(r.held) <= maxHeld {
		return "", nil
	}
	return r.release(), nil
}

// end takes the text for calls only when each is one to an offered tool.
func (r *proseReader) end(bool) ([]schemas.FunctionCall, error) {
	if r.open || len(r.set) == 0 {
		return nil, nil
	}
	calls := readPrinted(string(r.held))
	for _, call := range calls {
		if t := r.set.find(call.Name); t == nil || !t.fits(call.Arguments) {
			return nil, nil
		}
	}
	return calls, nil
}

func (r *proseReader) rest() string {
	if len(bytes.TrimLeft(r.held, blanks)) == 0 {
		return ""
	}
	return r.release()
}

func (r *proseReader) release() string {
	text := string(r.held)
	r.held, r.open = nil, true
	return text
}
