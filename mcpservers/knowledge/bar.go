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
	elsewhere = 0.99
	// otherDepth is how deep a passage of another document is looked for.
	otherDepth = 200
	// unreached is above every cosine.
	unreached = 2
)

// A headed text is a heading, with the files of an index that have it.
type headed struct {
	lacking
	ix    *index
	files map[string]bool
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

// headings returns some different headings: the same ones as long as they are there.
func headings(indexes []*index) (all []headed) {
	for _, ix := range indexes {
		var ids []uint32
		for id, is := range ix.living() {
			if is {
				ids = append(ids, uint32(id))
			}
		}
		var some []headed // those with the smallest hashes, in their order
		for _, p := range ix.readEach(ids) {
			if p.heading == "" {
				continue
			}
			h := headed{lacking{hash: hashOf("question\n" + p.heading), heading: p.heading}, ix, nil}
			at, known := slices.BinarySearchFunc(some, h, byHash)
			switch {
			case !known && at == mostHeadings:
				continue
			case !known:
				h.files = make(map[string]bool)
				some = slices.Insert(some[:min(len(some), mostHeadings-1)], at, h)
			}
			some[at].files[p.file] = true
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, byHash)
	return all[:min(len(all), mostHeadings)]
}

func byHash(a, b headed) int { return slices.Compare(a.hash[:], b.hash[:]) }

// besideItself returns how near to a heading the nearest passage of a file without such a heading is.
func (m *meaning) besideItself(h headed) (cosine float32, ok bool) {
	v := m.heading(h.hash)
	if v == nil { // the service refused it
		return 0, false
	}
	for _, n := range m.nearest(h.ix, v, otherDepth) {
		if file := h.ix.fileOf(n.id); file != "" && !h.files[file] {
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
