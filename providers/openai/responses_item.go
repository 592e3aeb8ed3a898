package openai

import (
	"hash"
	"hash/fnv"
	"io"
)

// An openItem is an item of the output.
type openItem struct {
	kind, id string
	index    *int
	phase    string
	callID   string
	name     string
	args     string
	// said are the texts that came, by kind and number.
	said map[textOf]*spoken
	all  spoken // together
	// begun is set once some text of a message came, over once the item is complete.
	begun, over bool
}

// A textOf is one text of an item.
type textOf struct {
	kind  string
	index int
}

// A spoken remembers a text by its length and hash: answers may be long.
type spoken struct {
	n   int
	sum hash.Hash64
}

// add adds a piece.
func (s *spoken) add(piece string) {
	s.n += len(piece)
	_, _ = io.WriteString(s.sum, piece) // a hash takes all
}

// begins reports whether a whole text begins with what came of it.
func (s *spoken) begins(whole string) bool {
	if len(whole) < s.n {
		return false
	}
	sum := newSum()
	_, _ = io.WriteString(sum, whole[:s.n])
	return sum.Sum64() == s.sum.Sum64()
}

func newSum() hash.Hash64 { return fnv.New64a() }

// The kinds of texts of an item.
const (
	textContent = "content"
	textSummary = "summary"
)

// learn takes what an event says of the item.
func (it *openItem) learn(i *item) {
	for _, field := range []struct {
		to   *string
		from string
	}{{&it.phase, i.Phase}, {&it.callID, i.CallID}, {&it.name, i.Name}} {
		if field.from != "" {
			*field.to = field.from
		}
	}
}
