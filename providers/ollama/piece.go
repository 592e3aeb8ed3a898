package ollama

import (
	"bytes"
	"unicode/utf8"
)

// readPiece reads a line with a piece of the answer, exactly as Ollama writes it, without escapes.
// Nearly all lines are of this form, and encoding/json needs many times as long for one. It
// refuses all others.
func readPiece(line []byte) (content, thinking string, ok bool) {
	s := pieceScanner{rest: line, ok: true}
	s.skip(`{"model":`)
	s.text()
	s.skip(`,"created_at":`)
	s.text()
	s.skip(`,"message":{"role":`)
	s.text()
	s.skip(`,"content":`)
	said := s.text()
	var thought []byte
	if bytes.HasPrefix(s.rest, []byte(`,"t`)) {
		s.skip(`,"thinking":`)
		thought = s.text()
	}
	s.skip(`},"done":false}`)
	if !s.ok || len(s.rest) > 0 {
		return "", "", false
	}
	return string(said), string(thought), true
}

// A pieceScanner reads a line from left to right. It clears ok at anything unexpected.
type pieceScanner struct {
	rest []byte
	ok   bool
}

// skip reads a fixed text.
func (s *pieceScanner) skip(text string) {
	rest, found := bytes.CutPrefix(s.rest, []byte(text))
	s.rest, s.ok = rest, s.ok && found
}

// text reads a JSON string whose value is written in it as it is: it has no escapes, and is valid
// UTF-8 without control characters.
func (s *pieceScanner) text() []byte {
	if len(s.rest) == 0 || s.rest[0] != '"' {
		s.ok = false
		return nil
	}
	end := 1 + bytes.IndexByte(s.rest[1:], '"')
	if end == 0 {
		s.ok = false
		return nil
	}
	value := s.rest[1:end]
	s.rest = s.rest[end+1:]
	s.ok = s.ok && isPlain(value)
	return value
}

// isPlain reports whether a JSON string with these bytes has them as its value.
func isPlain(value []byte) bool {
	ascii := true
	for _, c := range value {
		if c < ' ' || c == '\\' {
			return false
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	return ascii || utf8.Valid(value)
}
