package config

import (
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// A Place is where to insert a text into a file, relative to the line of a key.
type Place string

// The places.
const (
	// Below inserts the text after the line, as entries of the key's mapping.
	Below Place = "below"
	// Instead replaces the line, because the key has no value.
	Instead Place = "instead"
	// Inside inserts the text inside the braces that begin on the line.
	Inside Place = "inside"
)

// A Section is a top-level key of a file with its entries, and where to insert another entry.
type Section struct {
	// Line is the line of the key, from 1.
	Line  int
	Place Place
	// Indent is the number of blanks before an entry, for the place Below.
	Indent int
	// Names are the names of the entries.
	Names []string
}

// FindSection returns the section of a key; ok is false if the file has no such key, or if no entry
// can be added to its value.
func FindSection(data []byte, key string) (s Section, ok bool) {
	_, data = cutMark(data)
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
		return s, s.findPlace(e.Value, strings.TrimSpace(plain), file.IsFlowStyle)
	}
	return s, false
}

// findPlace sets the place for another entry, and reports whether one can be added. line is the
// line of the key, without a comment. inside reports whether the whole file is in braces.
func (s *Section) findPlace(value ast.Node, line string, inside bool) bool {
	if anchor, ok := value.(*ast.AnchorNode); ok {
		value = anchor.Value
	}
	switch value := value.(type) {
	case *ast.NullNode:
		if inside {
			return false
		}
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
		case value.IsFlowStyle && strings.HasSuffix(line, "{}") && !inside:
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
