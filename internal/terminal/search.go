package terminal

import "strings"

// A search finds the texts of the history that contain the query.
type search struct {
	query   []rune
	noMatch bool   // no older text contains the query
	draft   string // the editor's text before the search
}

// searched applies a key to a search of the history. It returns false if the key ends the search;
// the editor then contains the matching text.
func (e *Editor) searched(k Key) bool {
	s := e.search
	if s == nil {
		if k.Code != KeySearch || e.history == nil {
			return false
		}
		e.search = &search{draft: e.Text()}
		return true
	}
	switch k.Code {
	case KeySearch:
		e.find(e.back + 1)
	case KeyRune:
		s.query = append(s.query, []rune(k.Text)...)
		e.find(max(e.back, 1))
	case KeyBackspace:
		s.query, s.noMatch = s.query[:max(len(s.query)-1, 0)], false
		e.show(0)
		e.find(1)
	case KeyInterrupt, KeyCancel, KeyEOF:
		e.show(0)
		e.search = nil
	default:
		e.search = nil
		return false
	}
	return true
}

// find shows the newest text from the n-th on that contains the query, ignoring case.
func (e *Editor) find(n int) {
	query := strings.ToLower(string(e.search.query))
	if query == "" {
		return
	}
	for ; n <= e.history.Len(); n++ {
		if strings.Contains(strings.ToLower(e.history.Last(n)), query) {
			e.show(n)
			return
		}
	}
	e.search.noMatch = true
}

// show puts the n-th newest text into the editor, the draft for 0, and continues the search.
func (e *Editor) show(n int) {
	s := e.search
	e.put(n, s.draft)
	e.search, e.back, e.draft = s, n, s.draft
	s.noMatch = false
}

// prompt returns the prompt with the query.
func (s *search) prompt(columns int) string {
	what := "search"
	if s.noMatch {
		what = "not found"
	}
	return Truncate(what+" \""+string(s.query), max(columns/2, 2)) + "\": "
}
