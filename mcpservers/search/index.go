package search

import (
	"cmp"
	"math"
	"slices"
)

// What a word counts for by the place it stands in.
const (
	titleWeight = 3.0
	keyWeight   = 3.0
	textWeight  = 1.0
	// A pair of neighbouring words says more than a syllable, which in Vietnamese is
	// often only half a word.
	pairWeight = 2.2
	// The constants of BM25: how fast repetition stops counting, and how much long
	// entries are held back.
	saturation = 1.2
	lengthPull = 0.4
	// A word written with the same marks as in the entry is a surer hit.
	exactBonus = 0.6
	// An entry must reach this share of what the query could score, much more when no
	// word of the query is of the subject.
	threshold        = 0.08
	thresholdOutside = 0.45
)

// A hit is an entry with its share of the best possible score.
type hit struct {
	entry int
	score float64
}

// A posting says how much a term weighs in an entry.
type posting struct {
	entry  int
	weight float64
}

// index is a small inverted index over folded words and pairs, with the words as
// written beside them.
type index struct {
	langs    []string
	lengths  []float64
	average  float64
	postings map[string][]posting
	raw      []map[string]bool
	anchors  map[string]bool
	stop     map[string]bool
}

func newIndex(entries []entry, anchors []string) *index {
	ix := &index{postings: make(map[string][]posting), anchors: make(map[string]bool), stop: stopWords()}
	for _, a := range anchors {
		words := tokenize(a)
		for _, t := range ix.terms(words) {
			if t.pair == (len(words) > 1) {
				ix.anchors[t.raw], ix.anchors[t.name] = true, true
			}
		}
	}
	for i, e := range entries {
		ix.add(i, e)
	}
	for _, l := range ix.lengths {
		ix.average += l / float64(len(ix.lengths))
	}
	return ix
}

func (ix *index) add(i int, e entry) {
	weights, raw := make(map[string]float64), make(map[string]bool)
	count := func(text string, weight float64) {
		for _, t := range ix.terms(tokenize(text)) {
			weights[t.name] += weight
			raw[t.raw] = true
		}
	}
	count(e.title, titleWeight)
	for _, k := range e.keys {
		count(k, keyWeight)
	}
	count(e.text, textWeight)
	length := 0.0
	for name, w := range weights {
		ix.postings[name] = append(ix.postings[name], posting{entry: i, weight: w})
		length += w
	}
	ix.langs, ix.lengths, ix.raw = append(ix.langs, e.lang), append(ix.lengths, length), append(ix.raw, raw)
}

// A term is a word or a pair of neighbours, folded and as written.
type term struct {
	name, raw string
	pair      bool
	bare      bool // written without marks
}

// terms returns the words that carry meaning, and all pairs of neighbours of which
// one does.
func (ix *index) terms(tokens []token) []term {
	var terms []term
	for i, t := range tokens {
		if !ix.stop[t.folded] && len(t.folded) > 1 {
			terms = append(terms, term{name: t.folded, raw: t.raw, bare: t.bare})
		}
		if i > 0 && (!ix.stop[t.folded] || !ix.stop[tokens[i-1].folded]) {
			p := tokens[i-1]
			terms = append(terms, term{name: p.folded + " " + t.folded, raw: p.raw + " " + t.raw, pair: true, bare: p.bare && t.bare})
		}
	}
	return terms
}

// find returns the best entries of a language, best first.
func (ix *index) find(query, lang string, limit int) []hit {
	terms := ix.terms(tokenize(query))
	scores := make(map[int]float64)
	best, about := 0.0, false
	for _, t := range terms {
		about = about || ix.anchors[t.raw] || (t.bare && ix.anchors[t.name])
		postings := ix.postings[t.name]
		if t.pair && len(postings) == 0 {
			continue // most pairs of a question are chance
		}
		idf := ix.idf(t.name)
		if t.pair {
			idf *= pairWeight
		}
		best += idf * (saturation + 1) * (1 + exactBonus)
		for _, p := range postings {
			if ix.langs[p.entry] == lang {
				scores[p.entry] += idf * ix.weigh(p, t)
			}
		}
	}
	if best == 0 {
		return nil
	}
	needed := threshold
	if !about {
		needed = thresholdOutside
	}
	var hits []hit
	for e, s := range scores {
		if s/best >= needed {
			hits = append(hits, hit{entry: e, score: s / best})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.entry, b.entry))
	})
	return hits[:min(len(hits), limit)]
}

// weigh is BM25's part of one posting, with the bonus for marks that agree.
func (ix *index) weigh(p posting, t term) float64 {
	pull := 1 - lengthPull + lengthPull*ix.lengths[p.entry]/ix.average
	w := p.weight * (saturation + 1) / (p.weight + saturation*pull)
	if ix.raw[p.entry][t.raw] {
		w *= 1 + exactBonus
	}
	return w
}

// idf is how rare a term is among the entries; one that none has counts as the
// rarest.
func (ix *index) idf(name string) float64 {
	n, df := float64(len(ix.langs)), float64(len(ix.postings[name]))
	return math.Log(1 + (n-df+0.5)/(df+0.5))
}

// stopWords carry no meaning of their own, folded.
func stopWords() map[string]bool {
	stop := make(map[string]bool)
	for _, w := range tokenize(`
		a an and are as at be been by can could did do does for from get had has have how i if in into is it its just me my no not of on
		or our she he should so some such that the their them then there these they this to too us was we were what when where which who
		why will with would you your am also any about because after before during please tell need want much many often long
		a anh ban bang bao bi cac cai can chi cho co con cua cung da dang de den di do duoc em gi hay het hon khi khong la lai lam len loai luc
		ma may minh moi mot nao nay nen neu nha nhe nhieu nhu nhung o oi phai qua ra rat roi sao se sau tai the thi toi trong truoc tu va van vay ve vi voi vua xong a u`) {
		stop[w.folded] = true
	}
	return stop
}
