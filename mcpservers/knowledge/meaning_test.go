package knowledge_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"molar/mcpservers/knowledge"
	"molar/schemas"
)

// A concepts model knows a few words for the same thing: texts with one of them are near to each other.
type concepts struct {
	mu     sync.Mutex
	calls  int
	texts  []string
	dims   int
	places map[string]int
	fault  func(texts []string) error
	answer func(ctx context.Context) error
}

func newConcepts() *concepts { return &concepts{dims: 512, places: make(map[string]int)} }

// concept returns what a word is about.
func concept(word string) string {
	for _, same := range []string{"car vehicle automobile", "mend repair fix", "price cost fee"} {
		if slices.Contains(strings.Fields(same), word) {
			return same
		}
	}
	return word
}

func (m *concepts) Embed(ctx context.Context, texts []string, _ bool) ([][]float32, error) {
	m.mu.Lock()
	m.calls++
	m.texts = append(m.texts, texts...)
	fault, answer, dims := m.fault, m.answer, m.dims
	m.mu.Unlock()
	if answer != nil {
		if err := answer(ctx); err != nil {
			return nil, err
		}
	}
	if fault != nil {
		if err := fault(texts); err != nil {
			return nil, err
		}
	}
	var vectors [][]float32
	for _, text := range texts {
		v := make([]float32, dims)
		v[0] = 0.1
		for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return r < 'a' || r > 'z' }) {
			if len(word) > 3 || word == "car" || word == "fix" || word == "fee" {
				v[m.place(concept(word))]++
			}
		}
		vectors = append(vectors, v)
	}
	return vectors, nil
}

// place returns where in a vector a concept stands.
func (m *concepts) place(concept string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.places[concept] == 0 {
		m.places[concept] = len(m.places) + 1
	}
	return m.places[concept]
}

func (m *concepts) set(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}

// asked returns how many calls there were and the texts that were computed since the last time.
func (m *concepts) asked() (calls int, texts []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	calls, texts = m.calls, m.texts
	m.calls, m.texts = 0, nil
	return calls, texts
}

// A shelf keeps vectors in memory.
type shelf struct {
	mu   sync.Mutex
	kept map[string][]byte
}

func (s *shelf) Vectors(_ context.Context, model string, hashes []string) (all []schemas.Vector, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range hashes {
		if data, ok := s.kept[model+h]; ok {
			all = append(all, schemas.Vector{Hash: h, Data: data})
		}
	}
	return all, nil
}

func (s *shelf) KeepVectors(_ context.Context, model string, vectors []schemas.Vector) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		s.kept = make(map[string][]byte)
	}
	for _, v := range vectors {
		s.kept[model+v.Hash] = v.Data
	}
	return nil
}

// workshop is a folder about a workshop, and about many other things.
func workshop() fstest.MapFS {
	files := fstest.MapFS{
		"workshop.md": {Data: []byte("# Workshop\n\n## Vehicle repair\n\nBring the vehicle before noon. A repair takes two days.\n\n## Opening\n\nOpen from eight until five.\n")},
	}
	for i, topic := range strings.Fields("apples bridges candles dolphins engines feathers gardens harbours islands jackets kettles ladders mirrors needles oranges pillows quarries rivers saddles tunnels umbrellas violins windows yards zebras basements curtains drawers elevators fountains") {
		files[topic+".md"] = &fstest.MapFile{Data: fmt.Appendf(nil, "# All about %[1]s\n\n## Storing %[1]s\n\nPeople store %[1]s in place number %[2]d, under cover.\n\n## Painting %[1]s\n\nUse colour number %[2]d for %[1]s.\n", topic, i)}
	}
	return files
}

// openMeant opens a folder, and waits until all of its passages have vectors, or none can be computed.
func openMeant(t *testing.T, files fs.FS, model *concepts, store knowledge.VectorStore) *knowledge.Folder {
	t.Helper()
	f, err := knowledge.Open(knowledge.Config{
		Name: "docs", Files: files, Path: "docs", Logger: slog.New(slog.DiscardHandler),
		Meaning: &knowledge.Meaning{Provider: "ollama", Model: "m", Key: "ollama m", Embedder: model, Store: store},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	time.Sleep(100 * time.Millisecond) // in a bubble: until all wait
	return f
}

// wordsAlone is the note of a search that compared words alone, whatever the reason.
const wordsAlone = "words alone were compared; a search by meaning is not possible at present"

func search(t *testing.T, f *knowledge.Folder, question string) (files []string, found knowledge.Found) {
	t.Helper()
	found, err := f.Search(t.Context(), knowledge.Query{Text: question}, 5)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range found.Results {
		files = append(files, r.Place.File+"#"+r.Place.Anchor)
	}
	return files, found
}

// A question in other words than the documents' is answered by meaning, and one of something else is not.
func TestMeaning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := openMeant(t, workshop(), newConcepts(), new(shelf))
		if s := *f.Status().Meaning; s.Done != s.Passages || s.Passages != 62 || s.Problem != "" || s.Provider != "ollama" || s.Model != "m" {
			t.Fatalf("status %+v", s)
		}
		got, found := search(t, f, "Where can they mend my automobile?")
		if len(got) == 0 || got[0] != "workshop.md#vehicle-repair" || found.Note != "" || found.Results[0].Score <= 0 || found.Results[0].Score > 1 {
			t.Errorf("found %v, note %q", got, found.Note)
		}
		for _, question := range []string{"Who won the chess championship in 1972?", "Wie hoch ist der Eiffelturm?"} {
			if got, found := search(t, f, question); len(got) > 0 || found.Note != "" {
				t.Errorf("%s: found %v, note %q", question, got, found.Note)
			}
		}
		if got, _ := search(t, f, "painting violins colour"); len(got) == 0 || got[0] != "violins.md#painting-violins" {
			t.Errorf("by its words: %v", got)
		}
	})
}

// A vector is computed once: not again after a restart, in another folder, or when another part of the folder
// changes.
func TestMeaning_computedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model, store, files := newConcepts(), new(shelf), workshop()
		first := openMeant(t, files, model, store)
		if calls, texts := model.asked(); len(texts) != 62+62 || calls > 6 { // passages, and headings
			t.Errorf("%d texts in %d calls", len(texts), calls)
		}
		first.Close()
		f := openMeant(t, files, model, store)
		if s := *f.Status().Meaning; s.Done != 62 {
			t.Errorf("status %+v", s)
		}
		if _, texts := model.asked(); len(texts) > 0 {
			t.Errorf("after a restart %d texts are computed: %q", len(texts), texts[0])
		}
		changed := maps.Clone(files)
		changed["workshop.md"] = &fstest.MapFile{Data: []byte("# Workshop\n\n## Vehicle repair\n\nBring the vehicle before nine.\n\n## Opening\n\nOpen from eight until five.\n"), ModTime: time.Now()}
		second := openMeant(t, changed, model, store)
		if _, texts := model.asked(); len(texts) != 1 || !strings.Contains(texts[0], "before nine") {
			t.Errorf("a change computes %d texts: %q", len(texts), texts)
		}
		if got, _ := search(t, second, "Where can they mend my automobile?"); len(got) == 0 || got[0] != "workshop.md#vehicle-repair" {
			t.Errorf("found %v", got)
		}
	})
}

// While the service is away, words alone count and say so; it is tried again, ever less often.
func TestMeaning_serviceAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := newConcepts()
		model.fault = func([]string) error { return errors.New("ollama model m: run: ollama pull m") }
		f := openMeant(t, workshop(), model, new(shelf))
		if s := *f.Status().Meaning; s.Done != 0 || s.Problem != "ollama model m: run: ollama pull m" {
			t.Errorf("status %+v", s)
		}
		got, found := search(t, f, "vehicle repair")
		if len(got) == 0 || got[0] != "workshop.md#vehicle-repair" || found.Note != wordsAlone || f.Status().Meaning.Problem != "ollama model m: run: ollama pull m" {
			t.Errorf("found %v, note %q", got, found.Note)
		}
		model.asked()
		time.Sleep(time.Hour)
		if calls, _ := model.asked(); calls < 3*12 || calls > 3*20 { // every five minutes in the end, with two texts alone
			t.Errorf("%d calls in an hour", calls)
		}
		model.set(func() { model.fault = nil })
		time.Sleep(5 * time.Minute)
		if s := *f.Status().Meaning; s.Done != s.Passages || s.Problem != "" {
			t.Errorf("status %+v", s)
		}
		// A question finds that it is away, and that it is back.
		model.set(func() { model.fault = func([]string) error { return errors.New("away") } })
		if _, found := search(t, f, "one"); found.Note != wordsAlone || f.Status().Meaning.Problem != "away" {
			t.Errorf("note %q", found.Note)
		}
		model.asked()
		if _, found := search(t, f, "two"); found.Note != wordsAlone || f.Status().Meaning.Problem != "away" {
			t.Errorf("note %q", found.Note)
		}
		if calls, _ := model.asked(); calls > 0 {
			t.Error("the next question waits for a service that was away just now")
		}
		model.set(func() { model.fault = nil })
		time.Sleep(time.Minute)
		if _, found := search(t, f, "three"); found.Note != "" || f.Status().Meaning.Problem != "" {
			t.Errorf("note %q, status %+v", found.Note, f.Status().Meaning)
		}
	})
}

// A question waits a moment for its vector, and not longer.
func TestMeaning_slowService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := newConcepts()
		f := openMeant(t, workshop(), model, new(shelf))
		model.set(func() {
			model.answer = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		})
		began := time.Now()
		got, found := search(t, f, "vehicle repair")
		if waited := time.Since(began); waited != 1500*time.Millisecond || len(got) == 0 || found.Note != wordsAlone || f.Status().Meaning.Problem != "ollama has not answered within 1.5s" {
			t.Errorf("after %v: %v, note %q", waited, got, found.Note)
		}
		began = time.Now()
		if _, found := search(t, f, "vehicle repair"); time.Since(began) > 0 || found.Note != wordsAlone {
			t.Errorf("the next one waits too, %v, note %q", time.Since(began), found.Note)
		}
	})
}

// The vectors of questions are remembered.
func TestMeaning_sameQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := newConcepts()
		f := openMeant(t, workshop(), model, new(shelf))
		model.asked()
		for range 3 {
			search(t, f, "Where can they mend my automobile?")
		}
		if calls, _ := model.asked(); calls != 1 {
			t.Errorf("%d calls", calls)
		}
		model.set(func() { model.fault = func([]string) error { return errors.New("away") } })
		search(t, f, "another one")
		if got, found := search(t, f, "Where can they mend my automobile?"); len(got) == 0 || found.Note != "" || f.Status().Meaning.Problem != "away" {
			t.Errorf("while the service is away: %v, note %q, status %+v", got, found.Note, f.Status().Meaning)
		}
	})
}

// A passage that the service cannot take does not keep back the others.
func TestMeaning_refusedPassage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := newConcepts()
		model.fault = func(texts []string) error {
			if slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "People store dolphins") }) {
				return errors.New("unsupported value: NaN")
			}
			return nil
		}
		f := openMeant(t, workshop(), model, new(shelf))
		if s := *f.Status().Meaning; s.Done != 61 || s.Problem != "" {
			t.Errorf("status %+v", s)
		}
		if got, _ := search(t, f, "storing dolphins"); !slices.Contains(got, "dolphins.md#storing-dolphins") {
			t.Errorf("found %v", got)
		}
	})
}

// If the model makes vectors of another length, all are computed anew.
func TestMeaning_otherModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model, store := newConcepts(), new(shelf)
		openMeant(t, workshop(), model, store).Close()
		model.set(func() { model.dims = 256 })
		f := openMeant(t, workshop(), model, store)
		if _, found := search(t, f, "Where can they mend my automobile?"); found.Note != wordsAlone || !strings.Contains(f.Status().Meaning.Problem, "have 256 numbers now, and had 512") {
			t.Errorf("note %q", found.Note)
		}
		time.Sleep(time.Minute)
		if s := *f.Status().Meaning; s.Done != 62 || s.Problem != "" {
			t.Errorf("status %+v", s)
		}
		if got, found := search(t, f, "Where can they mend my automobile?"); len(got) == 0 || got[0] != "workshop.md#vehicle-repair" || found.Note != "" {
			t.Errorf("found %v, note %q", got, found.Note)
		}
	})
}

// Of a folder that was once much larger only what it still has is compared.
func TestMeaning_removedFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		many := workshop()
		for i := range 2500 {
			many[fmt.Sprintf("old/%d.md", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, "# Number %d\n\nRepair of vehicle number %d.\n", i, i)}
		}
		files := &changing{files: many}
		f, err := knowledge.Open(knowledge.Config{
			Name: "docs", Files: files, Path: "docs", Meaning: &knowledge.Meaning{Key: "m", Embedder: newConcepts(), Store: new(shelf)},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		time.Sleep(time.Minute)
		if s := *f.Status().Meaning; s.Done != 2562 {
			t.Errorf("status %+v", s)
		}
		files.set(workshop())
		time.Sleep(10 * time.Minute)
		if s := *f.Status().Meaning; s.Done != 62 || s.Passages != 62 {
			t.Errorf("status %+v", s)
		}
		if got, _ := search(t, f, "Where can they mend my automobile?"); len(got) == 0 || got[0] != "workshop.md#vehicle-repair" {
			t.Errorf("found %v", got)
		}
	})
}

// A changing folder has other files from one moment on.
type changing struct {
	mu    sync.Mutex
	files fstest.MapFS
}

func (c *changing) set(files fstest.MapFS) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.files = files
}

func (c *changing) Open(name string) (fs.File, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.files.Open(name)
}

// Pages that stand in a folder twice teach nothing about what does not answer a question.
func TestMeaning_pagesTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := workshop()
		for name, file := range workshop() {
			files["old/"+name] = file
		}
		f := openMeant(t, files, newConcepts(), new(shelf))
		if got, _ := search(t, f, "Where can they mend my automobile?"); len(got) == 0 || !strings.HasSuffix(got[0], "workshop.md#vehicle-repair") {
			t.Errorf("found %v", got)
		}
		if got, _ := search(t, f, "Who won the chess championship in 1972?"); len(got) > 0 {
			t.Errorf("found %v", got)
		}
	})
}

// Synonyms that change make new indexes, whose passages have their vectors soon; until then a note says that
// words alone count.
func TestMeaning_synonyms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files, model := &changing{files: workshop()}, newConcepts()
		f := openMeant(t, files, model, new(shelf))
		search(t, f, "Where can they mend my automobile?")
		changed := workshop()
		changed["synonyms.txt"] = &fstest.MapFile{Data: []byte("noon, midday\n")}
		files.set(changed)
		time.Sleep(2 * time.Minute)
		if got, found := search(t, f, "Where can they mend my automobile?"); len(got) == 0 || got[0] != "workshop.md#vehicle-repair" || found.Note != "" {
			t.Errorf("with new synonyms: found %v, note %q", got, found.Note)
		}

		answer := make(chan struct{})
		model.set(func() { model.answer = func(context.Context) error { <-answer; return nil } })
		changed = maps.Clone(changed)
		changed["new.md"] = &fstest.MapFile{Data: []byte("# New\n\nA new text.\n")}
		files.set(changed)
		time.Sleep(2 * time.Minute) // its vector is asked for
		changed = maps.Clone(changed)
		changed["synonyms.txt"] = &fstest.MapFile{Data: []byte("noon, midday, dinnertime\n")}
		files.set(changed)
		time.Sleep(2 * time.Minute)
		if _, found := search(t, f, "Where can they mend my automobile?"); found.Note == "" {
			t.Error("without the rows of the new indexes there is no note")
		}
		close(answer)
		time.Sleep(2 * time.Minute)
		if got, found := search(t, f, "Where can they mend my automobile?"); len(got) == 0 || got[0] != "workshop.md#vehicle-repair" || found.Note != "" {
			t.Errorf("after the answer: found %v, note %q", got, found.Note)
		}
	})
}

// A usedShelf knows when each vector was read last.
type usedShelf struct {
	shelf

	read map[string]time.Time
}

func (s *usedShelf) Vectors(ctx context.Context, model string, hashes []string) ([]schemas.Vector, error) {
	s.mu.Lock()
	for _, h := range hashes {
		s.read[h] = time.Now()
	}
	s.mu.Unlock()
	return s.shelf.Vectors(ctx, model, hashes)
}

// The store hears once a day which vectors are used, also of a folder that changes more often than that.
func TestMeaning_usedDaily(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := func() fstest.MapFS { return fstest.MapFS{"a.md": {Data: []byte("# Bikes\n\nWe repair bikes.\n")}} }
		files, store := &changing{files: page()}, &usedShelf{read: make(map[string]time.Time)}
		openMeant(t, files, newConcepts(), store)
		store.mu.Lock()
		kept := slices.Collect(maps.Keys(store.read))
		store.mu.Unlock()
		if len(kept) == 0 {
			t.Fatal("no vector is kept")
		}
		for i := range 2 {
			time.Sleep(20 * time.Hour)
			changed := page()
			changed["diary.md"] = &fstest.MapFile{Data: fmt.Appendf(nil, "# Diary\n\nEntry %d.\n", i), ModTime: time.Now()}
			files.set(changed)
		}
		store.mu.Lock()
		defer store.mu.Unlock()
		if kept = slices.DeleteFunc(kept, func(h string) bool { return time.Since(store.read[h]) < 30*time.Hour }); len(kept) > 0 {
			t.Errorf("%d vectors are not noted as used", len(kept))
		}
	})
}

// A text that the service cannot take is found by its words alone, also if it is the only one without a vector;
// a text that comes while the service is busy gets its vector later.
func TestMeaning_refusedAlone(t *testing.T) {
	for _, tt := range []struct {
		name     string
		err      error
		again    bool // the service takes the text later
		done     int
		problem  string
		mostAsks int // within two hours
	}{
		{"refused", errors.New("unsupported value: NaN"), false, 62, "", 20},
		{"away for a moment", errors.New("overloaded"), true, 64, "", 20},
		{"busy", fmt.Errorf("too many: %w", knowledge.ErrAway), true, 64, "", 20},
		{"busy for long", fmt.Errorf("too many: %w", knowledge.ErrAway), false, 62, "too many: not now", 50},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				files, model, asks := &changing{files: workshop()}, newConcepts(), 0
				f := openMeant(t, files, model, new(shelf))
				model.set(func() {
					model.fault = func(texts []string) error {
						if asks++; slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "odd") }) && (!tt.again || asks <= 2) {
							return tt.err
						}
						return nil
					}
				})
				changed := workshop()
				changed["a.md"] = &fstest.MapFile{Data: []byte("An odd text.\n")}
				changed["b.md"] = &fstest.MapFile{Data: []byte("Another odd text.\n")}
				files.set(changed)
				time.Sleep(2 * time.Hour)
				if s := *f.Status().Meaning; s.Done != tt.done || s.Problem != tt.problem || asks > tt.mostAsks {
					t.Errorf("status %+v after %d requests", s, asks)
				}
			})
		})
	}
}

// A question that was answered too late says nothing of the service for long.
func TestMeaning_slowOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		model := newConcepts()
		f := openMeant(t, workshop(), model, new(shelf))
		model.set(func() { model.answer = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() } })
		search(t, f, "vehicle repair")
		if s := f.Status().Meaning; s.Problem != "ollama has not answered within 1.5s" {
			t.Errorf("status %+v", s)
		}
		model.set(func() { model.answer = nil })
		time.Sleep(15 * time.Second)
		if s := f.Status().Meaning; s.Problem != "" {
			t.Errorf("15 seconds later: status %+v", s)
		}
		if got, found := search(t, f, "vehicle repair"); len(got) == 0 || found.Note != "" {
			t.Errorf("found %v, note %q", got, found.Note)
		}
	})
}
