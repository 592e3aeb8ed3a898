package knowledge

import (
	"slices"
	"strings"
)

// shelves are the indexes of a folder: one for each language folder, and one under "" for all
// other files. Word frequencies of one language do not apply to another.
type shelves struct {
	languages []string
	// least is the least share of a question set by hand; nil if each index learns what suffices.
	least *float64
	// synonyms are the lists of the synonym files, by folder.
	synonyms map[string][]string
	byName   map[string]*index
}

// synonymFile is the name of the files with synonyms, one list a line.
const synonymFile = "synonyms.txt"

func newShelves(languages []string, least *float64, synonyms map[string][]string) shelves {
	s := shelves{languages: languages, least: least, synonyms: synonyms, byName: make(map[string]*index)}
	if len(languages) == 0 {
		s.languages = []string{"vi", "en"}
	}
	for _, name := range append([]string{""}, s.languages...) {
		s.byName[name] = newIndex(s.vocabulary(name))
		if least != nil {
			s.byName[name].least = threshold{share: *least, set: true}
		}
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
	fresh := shelves{s.languages, s.least, s.synonyms, make(map[string]*index)}
	for name, ix := range s.byName {
		if ix.stale() {
			ix = ix.compacted(s.vocabulary(name))
		}
		ix.settle()
		fresh.byName[name] = ix
	}
	return fresh
}

// threshold returns the least share of a question that suffices in the largest index, and whether it was
// learned from the texts.
func (s shelves) threshold() (share float64, learned bool) {
	most := -1
	for _, ix := range s.byName {
		ix.mu.RLock()
		if ix.live > most {
			most, share, learned = ix.live, ix.least.share, ix.least.learned && !ix.least.set
		}
		ix.mu.RUnlock()
	}
	return share, learned
}

func (s shelves) size() (n int) {
	for _, ix := range s.byName {
		n += ix.size()
	}
	return n
}

// maxOthers is how many other wordings of a question are searched.
const maxOthers = 3

// A found passage is one of an index, with its score.
type found struct {
	ix *index
	id uint32
}

// search returns the passages that answer a question, in any of its wordings; without any, those that
// perhaps do. They are doubtful if only the question's own words found them, and none is surely right. Meaning finds passages of its own only where they are near enough to answer; else it orders what
// words find. A passage with a rare word of the question keeps its place.
func (s shelves) search(q Query, limit int, by meant) (sure, unsure []hit, doubtful bool) {
	if q.Passage != "" {
		return s.under(q, limit), nil, false
	}
	isClear := len(q.Others) > 0
	var answers, doubts, meanings, sureMeanings []ranking[found]
	scores, rare := make(map[found]float64), make(map[found]bool)
	for i, text := range append([]string{q.Text}, q.Others[:min(len(q.Others), maxOthers)]...) {
		about := q.About
		if i > 0 {
			about = "" // a wording of its own needs no subject from elsewhere
		}
		ix, matches, ok, surely := s.best(text, about, q.Language)
		isClear = isClear || surely
		var r ranking[found]
		for _, m := range matches {
			f := found{ix, m.id}
			r = append(r, f)
			rare[f] = rare[f] || i == 0 && m.rare
			if ok {
				scores[f] = max(scores[f], m.score)
			}
		}
		if ok {
			answers = append(answers, r)
		} else {
			doubts = append(doubts, r)
		}
		near, sure := by.ranking(i, s.among(q.Language), scores)
		meanings, sureMeanings = append(meanings, near), append(sureMeanings, near[:sure])
	}
	near, sureNear := merged(meanings, nil), merged(sureMeanings, nil)
	if len(answers) > 0 || len(sureNear) > 0 {
		words := merged(answers, nil)
		both := []ranking[found]{words, near.within([]ranking[found]{words, sureNear})}
		return hits(merged(both, func(f found) bool { return rare[f] }), scores, limit), nil, !isClear && len(sureNear) == 0
	}
	return nil, hits(merged([]ranking[found]{merged(doubts, nil), near}, nil), scores, min(limit, perhaps)), false
}

// among returns the indexes that are searched for a question in a language.
func (s shelves) among(language string) (all []*index) {
	names := append(slices.Clone(s.languages), "")
	if ix := s.byName[language]; language != "" && ix != nil && ix.size() > 0 {
		names = []string{language, ""}
	}
	for _, name := range names {
		all = append(all, s.byName[name])
	}
	return all
}

// best returns the passages of the index that answers a text best, else those of the one that holds most
// of it, and what [index.search] says of them.
func (s shelves) best(text, about, language string) (best *index, all []match, answers, isClear bool) {
	for _, ix := range s.among(language) {
		matches, ok, surely := ix.search(text, about)
		if len(matches) == 0 || answers && !ok {
			continue
		}
		if len(all) == 0 || ok && !answers || matches[0].score > all[0].score {
			best, all, answers, isClear = ix, matches, ok, surely
		}
	}
	return best, all, answers, isClear
}

// hits returns the first passages with their texts. Their scores do not rise.
func hits(all ranking[found], scores map[found]float64, limit int) (out []hit) {
	least := 1.0
	for _, f := range all[:min(len(all), limit)] {
		least = min(least, scores[f])
		out = append(out, hit{f.ix.read(f.id), least})
	}
	return out
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
