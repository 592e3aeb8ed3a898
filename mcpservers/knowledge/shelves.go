package knowledge

import (
	"path"
	"slices"
	"strings"
)

// shelves are the indexes of a folder: one for the files below a folder that is named like a
// language, each, and one under "" for all others. Words of one language say nothing of how rare
// those of another are.
type shelves struct {
	languages []string
	// synonyms are the lists of the files of that name, by the folder that they lie in.
	synonyms map[string][]string
	byName   map[string]*index
}

// synonymFile is the name of the files that hold words that stand for one another, a list a line.
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

// compacted returns the shelves with those indexes made anew of which much was removed.
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

// search asks the indexes that may answer, and returns what the best of them finds.
func (s shelves) search(q Query, limit int) (best []hit) {
	names := append(slices.Clone(s.languages), "")
	if ix := s.byName[q.Language]; q.Language != "" && ix != nil && ix.size() > 0 {
		names = []string{q.Language, ""}
	}
	for _, name := range names {
		if hits := s.byName[name].search(q.Text, q.About, limit); len(hits) > 0 && (len(best) == 0 || hits[0].score > best[0].score) {
			best = hits
		}
	}
	if !q.Urgent {
		return best
	}
	if len(best) > 0 {
		names = []string{s.nameOf(best[0].file)}
	}
	var first []hit
	for _, name := range names {
		if urgent := s.byName[name].urgent(q.Text, q.About); len(urgent) > 0 && (len(first) == 0 || urgent[0].score > first[0].score) {
			first = urgent
		}
	}
	for i := range first {
		first[i].score = 1 // whatever words they share with the question
	}
	for _, h := range best {
		if !slices.ContainsFunc(first, func(f hit) bool { return f.passage == h.passage }) {
			first = append(first, h)
		}
	}
	return first[:min(len(first), limit)]
}

func (s shelves) nameOf(file string) string {
	first, _, _ := strings.Cut(file, "/")
	if s.byName[first] != nil {
		return first
	}
	return ""
}

// isUrgent reports whether a passage says what to do in an emergency.
func (p passage) isUrgent() bool {
	return strings.TrimSuffix(path.Base(p.file), path.Ext(p.file)) == "urgent"
}
