package knowledge

import (
	"cmp"
	"slices"
)

// steady is the constant of reciprocal ranks: the higher it is, the less the first places of one list
// count against those that several lists agree on.
const steady = 60

// A ranking lists passages, the best first, each once. P names a passage.
type ranking[P comparable] []P

// merged returns one ranking of several, by the sum of reciprocal ranks; of equal ones, that which
// stands first in the earliest ranking. A pinned passage comes no later than in the first ranking.
// No passage is pinned if pinned is nil.
func merged[P comparable](rankings []ranking[P], pinned func(P) bool) ranking[P] {
	scores := make(map[P]float64)
	var all ranking[P]
	for _, r := range rankings {
		for i, p := range r {
			if _, known := scores[p]; !known {
				all = append(all, p)
			}
			scores[p] += 1 / float64(steady+i+1)
		}
	}
	slices.SortStableFunc(all, func(a, b P) int { return cmp.Compare(scores[b], scores[a]) })
	if len(rankings) == 0 || pinned == nil {
		return all
	}
	for i, p := range rankings[0] {
		if at := slices.Index(all, p); at > i && pinned(p) {
			copy(all[i+1:at+1], all[i:at])
			all[i] = p
		}
	}
	return all
}
