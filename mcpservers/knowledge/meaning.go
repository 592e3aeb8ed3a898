package knowledge

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"molar/internal/text"
	"molar/schemas"
)

const (
	// embedBatch is how many passages are computed, kept and shown as progress at once, and readBatch how many
	// vectors are read from the store at once.
	embedBatch, readBatch = 32, 1000
	// questionWait is how long a question waits for its own vector; then words alone count.
	questionWait = 1500 * time.Millisecond
	// firstRetry and lastRetry are the shortest and the longest pause of a service that fails.
	firstRetry, lastRetry = time.Second, 5 * time.Minute
	// askedAgain is how long questions do without their vectors after one failed.
	askedAgain = 15 * time.Second
	// usedEvery is how often the store is told that the vectors are used.
	usedEvery = 24 * time.Hour
	// rememberedMost is how many vectors of questions are kept.
	rememberedMost = 64
	// titleShown bounds the beginning of a passage in the log, in bytes.
	titleShown = 80
)

// Meaning says how the passages of a folder are compared by their meaning, beside their words.
type Meaning struct {
	// Provider and Model name the model to people.
	Provider, Model string
	// Key names in the store what computes the vectors: all that changes them.
	Key string
	// Embedder computes them, and Store keeps them; without a store they are computed at each start.
	Embedder Embedder
	Store    VectorStore
}

// ErrAway is the error of an [Embedder] whose service takes no text at present, whichever it is.
var ErrAway = errors.New("not now")

// An Embedder computes the vectors of texts.
type Embedder interface {
	// Embed returns a vector for each text, in their order; none is empty, and they have the same number of
	// dimensions. question is set for questions, and not for passages. The error may be [ErrAway].
	Embed(ctx context.Context, texts []string, question bool) ([][]float32, error)
}

// A VectorStore keeps vectors by a model, and by the hashes of their texts.
type VectorStore interface {
	Vectors(ctx context.Context, model string, hashes []string) ([]schemas.Vector, error)
	KeepVectors(ctx context.Context, model string, vectors []schemas.Vector) error
}

// meaning has the vectors of a folder's passages, and computes those that it lacks. It is safe for concurrent
// use.
type meaning struct {
	cfg Meaning
	log *slog.Logger
	// wake is sent to when passages have changed, or the service answers again.
	wake chan struct{}

	mu      sync.RWMutex
	indexes []*index // of the passages to compare
	set     *vectorSet
	byHash  map[textHash]uint32 // the row of each text; none if the service refused it
	rows    map[*index][]uint32 // the row of each passage, or none
	dims    int                 // how many numbers the model's vectors have now; 0 if that is not known
	done    int                 // passages with a vector, of all
	all     int
	// headings are the vectors of some headings, as if somebody asked them. bar is what they taught, from so many
	// passages: the least cosine of a passage that answers a question; 2, more than any has, if none is known.
	headings map[textHash]vector
	bar      float32
	learnt   int

	problem error // why no passage's vector is computed at present
	// late is why a question has no vector, and failed when that was. It says little of the service after
	// askedAgain: a local model may have had to be loaded.
	late   error
	failed time.Time
	asked  []askedVector
}

// textHash identifies the text of a passage.
type textHash [16]byte

// An askedVector is the vector of a question.
type askedVector struct {
	text   string
	vector vector
}

func newMeaning(cfg Meaning, log *slog.Logger) *meaning {
	return &meaning{
		cfg: cfg, log: log, wake: make(chan struct{}, 1),
		set: new(vectorSet), byHash: make(map[textHash]uint32), rows: make(map[*index][]uint32),
		headings: make(map[textHash]vector), bar: unreached,
	}
}

// embedded returns the text of a passage as a model reads it.
func embedded(p passage) string { return p.title + "\n\n" + p.text }

func hashOf(text string) (h textHash) {
	sum := sha256.Sum256([]byte(text))
	copy(h[:], sum[:])
	return h
}

// changed notes the indexes of the folder, whose passages may have changed.
func (m *meaning) changed(s shelves) {
	m.mu.Lock()
	m.indexes = m.indexes[:0:0]
	for _, name := range append([]string{""}, s.languages...) {
		m.indexes = append(m.indexes, s.byName[name])
	}
	m.mu.Unlock()
	m.awaken()
}

func (m *meaning) awaken() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// run computes vectors until ctx ends.
func (m *meaning) run(ctx context.Context) {
	pause, used := time.Duration(0), time.Now()
	for {
		wait := time.Until(used.Add(usedEvery))
		if pause > 0 {
			wait = min(wait, pause)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-m.wake:
		case <-timer.C:
		}
		timer.Stop()
		if time.Since(used) >= usedEvery {
			used = time.Now()
			m.use(ctx)
		}
		err := m.fill(ctx)
		if ctx.Err() != nil {
			return
		}
		m.note(ctx, err)
		if err == nil {
			pause = 0
		} else {
			pause = min(max(2*pause, firstRetry), lastRetry)
		}
	}
}

// note keeps why nothing is computed, for people, or that it is.
func (m *meaning) note(ctx context.Context, err error) {
	m.mu.Lock()
	before := m.problem
	if m.problem = err; before != nil && err == nil {
		m.late = nil
	}
	m.mu.Unlock()
	switch {
	case err != nil && (before == nil || before.Error() != err.Error()):
		m.log.WarnContext(ctx, "vectors cannot be computed; words alone count until they can", "error", err)
	case err == nil && before != nil:
		m.log.InfoContext(ctx, "vectors are computed again")
	}
}

// status says how far the vectors are computed.
func (m *meaning) status() schemas.MeaningStatus {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := schemas.MeaningStatus{Provider: m.cfg.Provider, Model: m.cfg.Model, Done: m.done, Passages: m.all}
	if problem := cmp.Or(m.problem, m.lately()); problem != nil {
		s.Problem = problem.Error()
	}
	return s
}

// lately returns why a question of the last moments has no vector, or nil. The caller holds the lock.
func (m *meaning) lately() error {
	if time.Since(m.failed) < askedAgain {
		return m.late
	}
	return nil
}

// A lacking text has no vector yet: that of the passages in, or a heading, which is asked like a question.
type lacking struct {
	hash    textHash
	in      []placed
	heading string
}

// text returns the text as a model reads it.
func (l lacking) text() string {
	if l.heading != "" {
		return l.heading
	}
	return embedded(l.in[0].ix.read(l.in[0].id))
}

// A placed passage is one of an index.
type placed struct {
	ix *index
	id uint32
}

// fill gives each passage a vector, from the store or the model.
func (m *meaning) fill(ctx context.Context) error {
	m.forget()
	unknown := m.survey()
	missing, err := m.recall(ctx, unknown)
	if err == nil && len(missing) > 0 {
		err = m.computeAll(ctx, missing)
	}
	if len(unknown) > 0 {
		m.settle()
	}
	if err == nil {
		err = m.learn(ctx)
	}
	return err
}

// settle gives memory back that only a growing set needs.
func (m *meaning) settle() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clip(&m.set.data)
	clip(&m.set.norms)
	clip(&m.set.signed)
}

// computeAll computes what the store does not have.
func (m *meaning) computeAll(ctx context.Context, missing []lacking) error {
	// Other replicas and folders compute the same: they begin elsewhere, and what one has computed the others
	// take from the store.
	slices.SortFunc(missing, func(a, b lacking) int { return slices.Compare(a.hash[:], b.hash[:]) })
	from := rand.IntN(len(missing)) //nolint:gosec // no secret
	missing = slices.Concat(missing[from:], missing[:from])
	began := time.Now()
	reported := began
	for batch := range slices.Chunk(missing, embedBatch) {
		left, err := m.recall(ctx, batch)
		if err == nil {
			err = m.compute(ctx, left)
		}
		if err != nil {
			return err
		}
		if s := m.status(); time.Since(reported) > reportEvery {
			reported = time.Now()
			m.note(ctx, nil)
			m.log.InfoContext(ctx, "computing vectors", "done", s.Done, "passages", s.Passages)
		}
	}
	m.log.InfoContext(ctx, "vectors computed", "texts", len(missing), "passages", m.status().Passages, "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// survey finds the row of each passage, and returns the texts that have none.
func (m *meaning) survey() []lacking {
	m.mu.RLock()
	indexes := m.indexes
	m.mu.RUnlock()
	rows, byText := make(map[*index][]uint32, len(indexes)), make(map[textHash]int)
	var missing []lacking
	all, done := 0, 0
	for _, ix := range indexes {
		m.mu.RLock()
		known := slices.Clone(m.rows[ix])
		m.mu.RUnlock()
		alive := ix.living()
		var unknown []uint32
		for id, is := range alive {
			if id == len(known) {
				known = append(known, none)
			}
			switch {
			case !is:
				known[id] = none
				continue
			case known[id] == none:
				unknown = append(unknown, uint32(id))
			default:
				done++
			}
			all++
		}
		for id, p := range ix.readEach(unknown) {
			hash := hashOf(embedded(p))
			if row, ok := m.rowOf(hash); ok {
				if known[id] = row; row != none {
					done++
				}
				continue
			}
			at, listed := byText[hash]
			if !listed {
				at = len(missing)
				byText[hash] = at
				missing = append(missing, lacking{hash: hash})
			}
			missing[at].in = append(missing[at].in, placed{ix, id})
		}
		rows[ix] = known
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows, m.done, m.all = rows, done, all
	if m.set.size() > 2*max(done, readBatch) {
		m.compact()
	}
	return missing
}

func (m *meaning) rowOf(hash textHash) (uint32, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	row, ok := m.byHash[hash]
	return row, ok
}

// compact forgets the vectors that no passage has. The caller holds the lock.
func (m *meaning) compact() {
	moved := make(map[uint32]uint32)
	fresh, byHash := new(vectorSet), make(map[textHash]uint32)
	for _, rows := range m.rows {
		for id, row := range rows {
			if row == none {
				continue
			}
			to, known := moved[row]
			if !known {
				to = fresh.add(m.set.at(row))
				moved[row] = to
			}
			rows[id] = to
		}
	}
	for hash, row := range m.byHash {
		if to, used := moved[row]; used {
			byHash[hash] = to
		}
	}
	m.set, m.byHash = fresh, byHash
}

// recall takes vectors from the store, and returns the texts that it does not have.
func (m *meaning) recall(ctx context.Context, missing []lacking) (left []lacking, err error) {
	if m.cfg.Store == nil {
		return missing, nil
	}
	for batch := range slices.Chunk(missing, readBatch) {
		kept, err := m.cfg.Store.Vectors(ctx, m.cfg.Key, hexOf(batch))
		if err != nil {
			return missing, fmt.Errorf("read the vectors: %w", err)
		}
		vectors := make(map[string]vector, len(kept))
		for _, k := range kept {
			vectors[k.Hash] = storedVector(k.Data)
		}
		for _, l := range batch {
			if v := vectors[hex.EncodeToString(l.hash[:])]; !m.put(l, v) {
				left = append(left, l)
			}
		}
	}
	return left, nil
}

func hexOf(texts []lacking) []string {
	all := make([]string, len(texts))
	for i, l := range texts {
		all[i] = hex.EncodeToString(l.hash[:])
	}
	return all
}

// put gives a text its vector. It returns false for a vector that cannot be compared with the others.
func (m *meaning) put(l lacking, v vector) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(v) == 0 || m.dims != 0 && len(v) != m.dims || m.set.size() > 0 && len(v) != m.set.dims {
		return false
	}
	m.dims = len(v)
	if l.heading != "" {
		m.headings[l.hash] = v
		return true
	}
	row := m.set.add(v)
	m.byHash[l.hash] = row
	for _, p := range l.in {
		if rows := m.rows[p.ix]; int(p.id) < len(rows) {
			rows[p.id] = row
			m.done++
		}
	}
	return true
}

// compute has the model compute vectors, and keeps them. If it computes none of a batch, each text is tried
// alone: one that the service cannot take must not keep back the others.
func (m *meaning) compute(ctx context.Context, texts []lacking) error {
	err := m.embed(ctx, texts)
	if err == nil || errors.Is(err, ErrAway) || ctx.Err() != nil {
		return err
	}
	var failed []lacking
	for i := range texts {
		if len(texts) > 1 {
			if err = m.embed(ctx, texts[i:i+1]); err == nil {
				continue
			}
		}
		if takes, known := m.takesAnother(ctx); errors.Is(err, ErrAway) || ctx.Err() != nil || known && !takes || !known && len(failed) > 0 {
			return err
		}
		failed = append(failed, texts[i])
	}
	for _, l := range failed {
		if takes, _ := m.takesAnother(ctx); !takes {
			return err
		}
		again := m.embed(ctx, []lacking{l}) // the service may have been away for a moment
		switch {
		case again == nil:
			continue
		case errors.Is(again, ErrAway) || ctx.Err() != nil:
			return again
		}
		m.refuse(l.hash)
		m.log.WarnContext(ctx, "a passage has no vector, so it is found by its words alone", "passage", text.Clip(l.text(), titleShown, ""), "error", again)
	}
	return nil
}

// takesAnother reports whether the service computes the vector of a passage that has one already, and whether
// there is such a passage.
func (m *meaning) takesAnother(ctx context.Context) (takes, known bool) {
	sample, known := m.sample()
	if !known {
		return false, false
	}
	_, err := m.cfg.Embedder.Embed(ctx, []string{sample}, false)
	return err == nil, true
}

// sample returns a passage that has a vector, as the model reads it.
func (m *meaning) sample() (text string, ok bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for ix, rows := range m.rows {
		for id, row := range rows {
			if row != none && ix.fileOf(uint32(id)) != "" {
				return embedded(ix.read(uint32(id))), true
			}
		}
	}
	return "", false
}

// refuse notes that a text has no vector, until the next start.
func (m *meaning) refuse(hash textHash) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.byHash[hash] = none
}

// embed computes and keeps the vectors of a batch.
func (m *meaning) embed(ctx context.Context, texts []lacking) error {
	if len(texts) == 0 {
		return nil
	}
	passages := make([]string, len(texts))
	for i, l := range texts {
		passages[i] = l.text()
	}
	computed, err := m.cfg.Embedder.Embed(ctx, passages, texts[0].heading != "")
	if err != nil {
		return err
	}
	var kept []schemas.Vector
	for i, l := range texts {
		v := newVector(computed[i])
		if !m.put(l, v) {
			return m.otherModel(len(v))
		}
		kept = append(kept, schemas.Vector{Hash: hex.EncodeToString(l.hash[:]), Data: v.bytes()})
	}
	if m.cfg.Store != nil {
		if err := m.cfg.Store.KeepVectors(ctx, m.cfg.Key, kept); err != nil && ctx.Err() == nil {
			m.log.WarnContext(ctx, "vectors cannot be kept; they are computed again after the next start", "error", err)
		}
	}
	return nil
}

// otherModel notes that the model's vectors have another length than before: a new one has its name, so that
// all are computed anew.
func (m *meaning) otherModel(dims int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := fmt.Errorf("%s model %s: its vectors have %d numbers now, and had %d: all are computed anew", m.cfg.Provider, m.cfg.Model, dims, m.dims)
	m.dims, m.asked = dims, nil
	return err
}

// forget drops all vectors if they are another model's.
func (m *meaning) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.set.size() > 0 && m.set.dims != m.dims {
		m.set, m.byHash, m.rows = new(vectorSet), make(map[textHash]uint32), make(map[*index][]uint32)
		m.headings, m.bar, m.learnt = make(map[textHash]vector), unreached, 0
	}
}

// use tells the store that the vectors are used.
func (m *meaning) use(ctx context.Context) {
	m.mu.RLock()
	hashes := make([]string, 0, len(m.byHash)+len(m.headings))
	for h := range m.byHash {
		hashes = append(hashes, hex.EncodeToString(h[:]))
	}
	for h := range m.headings {
		hashes = append(hashes, hex.EncodeToString(h[:]))
	}
	m.mu.RUnlock()
	if m.cfg.Store == nil {
		return
	}
	for batch := range slices.Chunk(hashes, readBatch) {
		if _, err := m.cfg.Store.Vectors(ctx, m.cfg.Key, batch); err != nil {
			m.log.WarnContext(ctx, "the store cannot note that vectors are used; it is tried again in a day", "error", err)
			return
		}
	}
}

// question finds the vectors of the wordings of a question to some indexes. If there are none, the status says
// why.
func (m *meaning) question(ctx context.Context, texts []string, in shelves) meant {
	m.mu.RLock()
	size, problem, late := m.set.size(), m.problem, m.lately()
	surveyed := true
	for _, ix := range in.byName {
		_, known := m.rows[ix]
		surveyed = surveyed && (known || ix.size() == 0)
	}
	m.mu.RUnlock()
	vectors, unknown := m.remembered(texts)
	switch {
	case size > 0 && !surveyed: // an index is new
		return meant{}
	case size > 0 && len(unknown) == 0:
		return meant{m: m, wordings: vectors}
	case size == 0 && problem != nil && late == nil:
		m.fails(ctx, problem)
		m.awaken()
		return meant{}
	case size == 0 || late != nil:
		return meant{}
	}
	computed, err := m.ask(ctx, unknown)
	if err != nil {
		if ctx.Err() == nil {
			m.fails(ctx, err)
		}
		return meant{}
	}
	m.succeeds()
	if problem != nil {
		m.awaken()
	}
	for i, text := range texts {
		if vectors[i] == nil {
			vectors[i], computed = computed[0], computed[1:]
			m.remember(text, vectors[i])
		}
	}
	return meant{m: m, wordings: vectors}
}

// fails notes that a question could not be embedded.
func (m *meaning) fails(ctx context.Context, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.late == nil || m.late.Error() != err.Error() {
		m.log.WarnContext(ctx, "questions are compared by their words alone", "error", err)
	}
	m.failed, m.late = time.Now(), err
}

// succeeds notes that the service answers.
func (m *meaning) succeeds() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.late = nil
}

// ask has the model compute the vectors of a question's wordings, within a moment.
func (m *meaning) ask(ctx context.Context, texts []string) (vectors []vector, err error) {
	within, cancel := context.WithTimeout(ctx, questionWait)
	defer cancel()
	computed, err := m.cfg.Embedder.Embed(within, texts, true)
	switch {
	case err != nil && within.Err() != nil && ctx.Err() == nil:
		return nil, fmt.Errorf("%s has not answered within %v", m.cfg.Provider, questionWait)
	case err != nil:
		return nil, err
	case len(computed[0]) != m.dimensions():
		err := m.otherModel(len(computed[0]))
		m.awaken()
		return nil, err
	}
	for _, c := range computed {
		vectors = append(vectors, newVector(c))
	}
	return vectors, nil
}

func (m *meaning) dimensions() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.dims
}

// remembered returns the vectors of texts that were asked lately, nil for the others, and those others.
func (m *meaning) remembered(texts []string) (vectors []vector, unknown []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	vectors = make([]vector, len(texts))
	for i, text := range texts {
		at := slices.IndexFunc(m.asked, func(a askedVector) bool { return a.text == text })
		if at < 0 {
			unknown = append(unknown, text)
			continue
		}
		a := m.asked[at]
		m.asked = append(slices.Delete(m.asked, at, at+1), a) // the latest is the last
		vectors[i] = a.vector
	}
	return vectors, unknown
}

func (m *meaning) remember(text string, v vector) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.asked) >= rememberedMost {
		m.asked = slices.Delete(m.asked, 0, 1)
	}
	m.asked = append(m.asked, askedVector{strings.Clone(text), v})
}

// least returns the least cosine of a passage that answers a question by its meaning alone.
func (m *meaning) least() float32 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.bar
}

// nearest returns the passages of an index that are nearest to a question, the nearest first.
func (m *meaning) nearest(ix *index, question vector, most int) []near {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.set.nearest(question, m.rows[ix], most)
}

// living returns for each passage, by its id, whether it is still there.
func (ix *index) living() []bool {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	all := make([]bool, len(ix.passages))
	for id := range all {
		all[id] = ix.passages[id].length > 0
	}
	return all
}
