package knowledge

import (
	"cmp"
	"slices"
)

// meant is a question with the vectors of its wordings. The zero one has none.
type meant struct {
	m        *meaning
	wordings []vector
}

const (
	// asDeep is how many more passages than wanted are looked at, since a page has few places in a ranking.
	asDeep = 5
	// ofPage is how many passages of a file a ranking by meaning has: the parts of a page mean about the same.
	ofPage = 2
)

// ranking returns the passages of some indexes that are nearest to a wording, the nearest first, and how many of
// them are near enough to answer it; those get a score.
func (q meant) ranking(wording int, among []*index, scores map[found]float64) (all ranking[found], sure int) {
	if wording >= len(q.wordings) {
		return nil, 0
	}
	cosines := make(map[found]float32)
	for _, ix := range among {
		files := make(map[string]int)
		for _, n := range q.m.nearest(ix, q.wordings[wording], asDeep*deep) {
			file := ix.fileOf(n.id)
			if files[file]++; file == "" || files[file] > ofPage {
				continue
			}
			f := found{ix, n.id}
			all, cosines[f] = append(all, f), n.cosine
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(cosines[b], cosines[a]) })
	all = all[:min(len(all), deep)]
	bar := q.m.least()
	for ; sure < len(all) && cosines[all[sure]] >= bar; sure++ {
		above := float64((cosines[all[sure]] - bar) / (1 - bar))
		scores[all[sure]] = max(scores[all[sure]], (1+above)/2)
	}
	return all, sure
}

// within returns the passages of a ranking that stand in others too.
func (r ranking[P]) within(others []ranking[P]) (both ranking[P]) {
	for _, p := range r {
		if slices.ContainsFunc(others, func(o ranking[P]) bool { return slices.Contains(o, p) }) {
			both = append(both, p)
		}
	}
	return both
}
