package knowledge

import (
	"context"
	"slices"
)

const (
	// leastHeadings are needed to learn how near a passage must be to a question, and at most mostHeadings are
	// asked.
	leastHeadings, mostHeadings = 24, 128
	// elsewhere is the share of the headings whose nearest passage of another document a passage must
	// surpass to answer a question by its meaning alone: a question of something else finds a
	// passage about as near as a heading finds one that does not belong to it.
	elsewhere = 0.98
	// otherDepth is how deep a passage of another document is looked for.
	otherDepth = 200
	// unreached is above every cosine.
	unreached = 2
)

// A headed passage stands under a heading.
type headed struct {
	lacking
	placed
	file string
}

// learn asks some of the folder's headings as if they were questions, and learns from the passages of other
// documents that are nearest to them how near to a question a passage is that does not answer it.
func (m *meaning) learn(ctx context.Context) error {
	m.mu.RLock()
	indexes, all, learnt := m.indexes, m.done, m.learnt
	m.mu.RUnlock()
	if learnt > 0 && max(all, learnt)*10 <= min(all, learnt)*11 {
		return nil
	}
	asked := headings(indexes)
	var missing []lacking
	for _, h := range asked {
		if m.heading(h.hash) == nil {
			missing = append(missing, h.lacking)
		}
	}
	missing, err := m.recall(ctx, missing)
	if err != nil {
		return err
	}
	for batch := range slices.Chunk(missing, embedBatch) {
		if err := m.compute(ctx, batch); err != nil {
			return err
		}
	}
	var cosines []float32
	for _, h := range asked {
		if c, ok := m.besideItself(h); ok {
			cosines = append(cosines, c)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.learnt, m.bar = all, unreached
	if len(cosines) >= leastHeadings {
		slices.Sort(cosines)
		m.bar = cosines[int(elsewhere*float64(len(cosines)-1))]
	}
	return nil
}

func (m *meaning) heading(hash textHash) vector {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.headings[hash]
}

// headings returns some passages with different headings: the same ones as long as they are there.
func headings(indexes []*index) []headed {
	var all []headed
	seen := make(map[textHash]bool)
	for _, ix := range indexes {
		var ids []uint32
		for id, is := range ix.living() {
			if is {
				ids = append(ids, uint32(id))
			}
		}
		for id, p := range ix.readEach(ids) {
			if hash := hashOf("question\n" + p.heading); p.heading != "" && !seen[hash] {
				seen[hash] = true
				all = append(all, headed{lacking{hash: hash, heading: p.heading}, placed{ix, id}, p.file})
			}
		}
	}
	slices.SortFunc(all, func(a, b headed) int { return slices.Compare(a.hash[:], b.hash[:]) })
	return all[:min(len(all), mostHeadings)]
}

// besideItself returns how near to a heading the nearest passage of another document is.
func (m *meaning) besideItself(h headed) (cosine float32, ok bool) {
	v := m.heading(h.hash)
	if v == nil { // the service refused it
		return 0, false
	}
	all := m.nearest(h.ix, v, otherDepth)
	for _, n := range all {
		if file := h.ix.fileOf(n.id); file != "" && file != h.file {
			return n.cosine, true
		}
	}
	return 0, false
}

// fileOf returns the file of a passage, or "" if it was removed.
func (ix *index) fileOf(id uint32) string {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	if ix.passages[id].length == 0 {
		return ""
	}
	return ix.names[ix.passages[id].file]
}
