package answer

import (
	"encoding/binary"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Thresholds of the filter, in letters.
const (
	// builtInRun is the longest quotation of a built-in prompt that an answer may contain: less
	// than a whole sentence.
	builtInRun = 48
	// ownRun is the same for the operator's own text, which may contain facts that the assistant
	// is meant to quote; for a shorter text the limit is four fifths of it.
	ownRun = 120
	// shortest is the smallest limit; after a first leak it applies to all.
	shortest = 24
	// gramBytes is how many bytes of an answer must match the secret before the answer is buffered.
	gramBytes = 16
	// hashBits is the size of the hash table of the secret's grams.
	hashBits = 16
)

// A Secret is the text of an assistant's system prompt in the form in which answers
// are compared with it: lower case, letters only, so that no list mark, number,
// space or quote hides a quotation. It never changes.
type Secret struct {
	text  string
	parts []secretPart
	seen  [1 << hashBits / 64]uint64 // hashes of all grams
}

// secretPart is a part of the secret before end; limit consecutive letters of it are a leak.
type secretPart struct{ end, limit int }

// NewSecret returns the secret of the built-in texts and the operator's own text.
func NewSecret(builtIn []string, own string) *Secret {
	s := &Secret{}
	for _, text := range builtIn {
		s.add(text, builtInRun)
	}
	s.add(own, ownRun)
	return s
}

func (s *Secret) add(text string, limit int) {
	plain := string(appendLetters(nil, text))
	letters := utf8.RuneCountInString(plain)
	if letters < shortest {
		return
	}
	s.text += plain + "\x00"
	s.parts = append(s.parts, secretPart{len(s.text), max(shortest, min(limit, letters*4/5))})
	var w window
	for i := range len(plain) {
		w = w.push(plain[i])
		slot := w.slot()
		s.seen[slot/64] |= 1 << (slot % 64)
	}
}

// find returns the offset of the window in the secret, or -1.
func (s *Secret) find(w window) int {
	slot := w.slot()
	if s.seen[slot/64]&(1<<(slot%64)) == 0 || w.hi>>56 == 0 {
		return -1
	}
	return strings.Index(s.text, w.String())
}

func (s *Secret) limitAt(position int) int {
	for _, p := range s.parts {
		if position < p.end {
			return p.limit
		}
	}
	return shortest
}

// A window holds the last gramBytes bytes of a text.
type window struct{ hi, lo uint64 }

func (w window) push(b byte) window {
	return window{w.hi<<8 | w.lo>>56, w.lo<<8 | uint64(b)}
}

func (w window) slot() uint64 {
	return (w.hi*0x9E3779B97F4A7C15 ^ w.lo*0xC2B2AE3D27D4EB4F) >> (64 - hashBits)
}

func (w window) String() string {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, gramBytes), w.hi)
	return string(binary.BigEndian.AppendUint64(b, w.lo))
}

// appendLetters appends the letters of text, in lower case.
func appendLetters(b []byte, text string) []byte {
	for _, r := range text {
		if unicode.IsLetter(r) {
			b = utf8.AppendRune(b, unicode.ToLower(r))
		}
	}
	return b
}
