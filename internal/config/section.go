package config

import (
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// A Place says how a text gets into a file that a person edits.
type Place string

// The places, as seen from the line of a key.
const (
	// Below is the place below the line, as entries of the key's mapping.
	Below Place = "below"
	// Instead is the place of the line itself: the key holds nothing.
	Instead Place = "instead"
	// Inside is the place inside the braces that begin on the line.
	Inside Place = "inside"
)

// A Section is what a file holds below one of its own keys, and how that takes one more entry.
type Section struct {
	// Line is the key's, from 1.
	Line  int
	Place Place
	// Indent is how many blanks stand before an entry, where it stands below the key.
	Indent int
	// Names are those of the entries.
	Names []string
}

// FindSection returns the section of a key; ok is false where the file has none, or where
// nothing can be added to it.
func FindSection(data []byte, key string) (s Section, ok bool) {
	root, err := parse(data)
	if err != nil {
		return s, false
	}
	file, _ := root.(*ast.MappingNode)
	if file == nil {
		return s, false
	}
	for _, e := range file.Values {
		if keyText(e.Key) != key {
			continue
		}
		at := e.Key.GetToken().Position
		s.Line, s.Indent = at.Line, at.Column+1
		plain, _, _ := strings.Cut(strings.Split(string(data), "\n")[at.Line-1], " #")
		return s, s.open(e.Value, strings.TrimSpace(plain))
	}
	return s, false
}

// open finds out how the value of the key takes one more entry. line is that of the key,
// without a comment.
func (s *Section) open(value ast.Node, line string) bool {
	if anchor, ok := value.(*ast.AnchorNode); ok {
		value = anchor.Value
	}
	switch value := value.(type) {
	case *ast.NullNode:
		s.Place = Below
		if !strings.HasSuffix(line, ":") { // the null is written out
			s.Place = Instead
		}
		return true
	case *ast.MappingNode:
		for _, e := range value.Values {
			s.Names = append(s.Names, keyText(e.Key))
		}
		switch {
		case value.IsFlowStyle && strings.HasSuffix(line, "{}"):
			s.Place = Instead
		case value.IsFlowStyle:
			s.Place = Inside
		default:
			s.Place, s.Indent = Below, value.Values[0].Key.GetToken().Position.Column-1
		}
		return true
	}
	return false
}
