package knowledge

import (
	"slices"
	"strings"
)

// shelves are the indexes of a folder: one for each language folder, and one under "" for all
// other files. Word frequencies of one language do not apply to another.
type shelves struct {
	languages []string
	// synonyms are the lists of the synonym files, by folder.
	synonyms map[string][]string
	byName   map[string]*index
}

// synonymFile is the name of the files with synonyms, one list a line.
const synonymFile = "synonyms.txt"

func newShelves(languages []string, synonyms map[string][]string) shelves {
	s := shelves{languages: languages, synonyms: synonyms, byName: make(map[string]*index)}
	if len(languages) == 0 {
		s.languages = []string{"vi", "en"}
	}
	s.byName[""] = newIndex(s.vocabulary(""))
	for _, lang := range s.languages {
		s.byName[lang] = newIndex(s.vocabulary(lang))
	}
	return s
}

func (s shelves) vocabulary(name string) *vocabulary {
	lines, languages := s.synonyms[""], s.languages
	if name != "" {
		lines, languages = slices.Concat(lines, s.synonyms[name]), []string{name}
	}
	var lists [][]string
	for _, line := range lines {
		lists = append(lists, strings.Split(line, ","))
	}
	return newVocabulary(languages, lists)
}

// of returns the index of a file.
func (s shelves) of(file string) *index {
	first, _, _ := strings.Cut(file, "/")
	if ix := s.byName[first]; ix != nil && first != "" {
		return ix
	}
	return s.byName[""]
}

// compacted returns the shelves with indexes rebuilt if much of them was removed.
func (s shelves) compacted() shelves {
	fresh := shelves{s.languages, s.synonyms, make(map[string]*index)}
	for name, ix := range s.byName {
		if ix.stale() {
			ix = ix.compacted(s.vocabulary(name))
		}
		fresh.byName[name] = ix
	}
	return fresh
}

func (s shelves) size() (n int) {
	for _, ix := range s.byName {
		n += ix.size()
	}
	return n
}

// search searches the relevant indexes and returns the results of the best.
func (s shelves) search(q Query, limit int) (best []hit) {
	if q.Passage != "" {
		return s.under(q, limit)
	}
	names := append(slices.Clone(s.languages), "")
	if ix := s.byName[q.Language]; q.Language != "" && ix != nil && ix.size() > 0 {
		names = []string{q.Language, ""}
	}
	for _, name := range names {
		if hits := s.byName[name].search(q.Text, q.About, limit); len(hits) > 0 && (len(best) == 0 || hits[0].score > best[0].score) {
			best = hits
		}
	}
	return best
}

// under returns the passages under a heading: in the language of a question, else in any.
func (s shelves) under(q Query, limit int) []hit {
	for _, name := range append([]string{q.Language, ""}, s.languages...) {
		if ix := s.byName[name]; ix != nil {
			if hits := ix.under(q.Passage, limit); len(hits) > 0 {
				return hits
			}
		}
	}
	return nil
}
