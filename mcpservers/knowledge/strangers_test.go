package knowledge_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"molar/mcpservers/knowledge"
)

// A strangersCase is a question of somebody who did not tune the search.
type strangersCase struct {
	ID       string   `json:"id"`
	Kind     string   `json:"kind"` // own, near, vi or off
	Question string   `json:"question"`
	Files    []string `json:"files"` // any of them answers it
	// Queries are the same question in the documents' words, as a model may write them.
	Queries []string `json:"queries"`
}

// Each folder below MOLAR_KNOWLEDGE_CASES holds documents in docs, and questions in questions.jsonl: in a
// person's own words (own), near the documents' (near), in Vietnamese (vi), and of other things (off). The
// test prints how often a right file is among the first three passages; for off, how often nothing is found.
func TestStrangers(t *testing.T) {
	dir := os.Getenv("MOLAR_KNOWLEDGE_CASES")
	if dir == "" {
		t.Skip("MOLAR_KNOWLEDGE_CASES is not set: it names a folder with folders of documents and questions")
	}
	cases, err := filepath.Glob(filepath.Join(dir, "*", "questions.jsonl"))
	if err != nil || len(cases) == 0 {
		t.Fatalf("no */questions.jsonl below %s (error %v)", dir, err)
	}
	all := make(tally)
	for _, name := range cases {
		t.Run(filepath.Base(filepath.Dir(name)), func(t *testing.T) {
			docs := filepath.Join(filepath.Dir(name), "docs")
			f, err := knowledge.Open(knowledge.Config{Name: "docs", Files: knowledge.Dir(docs), Path: docs, Fixed: true})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			here := make(tally)
			for _, c := range readStrangers(t, name) {
				here.ask(t, f, c)
			}
			here.print(t)
			all.add(here)
		})
	}
	all.print(t)
}

func readStrangers(t *testing.T, name string) (all []strangersCase) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var c strangersCase
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, c)
	}
	return all
}

// A tally counts for each kind of question those that were asked and those with a right result.
type tally map[string]*counts

// counts are those of one kind; calls is how often a model had to word the question anew.
type counts struct{ asked, right, nothing, perhaps, calls int }

func (all tally) ask(t *testing.T, f *knowledge.Folder, c strangersCase) {
	found := all.note(t, f, c, c.Kind, knowledge.Query{Text: c.Question})
	if c.Queries == nil {
		return
	}
	q := knowledge.Query{Text: c.Question}
	if len(found.Results) == 0 || found.Doubtful { // else nobody words it anew
		q.Others = c.Queries
		all.of(c.Kind+" rewritten").calls++
	}
	all.note(t, f, c, c.Kind+" rewritten", q)
}

func (all tally) note(t *testing.T, f *knowledge.Folder, c strangersCase, kind string, q knowledge.Query) knowledge.Found {
	t.Helper()
	found, err := f.Search(t.Context(), q, 5)
	if err != nil {
		t.Fatal(err)
	}
	n := all.of(kind)
	n.asked++
	if len(found.Results) == 0 {
		n.nothing++
	}
	isRight := len(found.Results) == 0
	if c.Kind != "off" {
		isRight = holdsFile(found.Results, c.Files)
	}
	if isRight {
		n.right++
	}
	if holdsFile(found.Perhaps, c.Files) {
		n.perhaps++
	}
	if !isRight {
		var got []string
		for _, r := range append(slices.Clone(found.Results), found.Perhaps...) {
			got = append(got, r.Place.File+"#"+r.Place.Anchor)
		}
		t.Logf("%s %s %q: %d results %v, want %v", c.ID, kind, c.Question, len(found.Results), got, c.Files)
	}
	return found
}

// holdsFile reports whether a result of the first three is of one of some files.
func holdsFile(results []knowledge.Result, files []string) bool {
	return slices.ContainsFunc(results[:min(len(results), 3)], func(r knowledge.Result) bool { return slices.Contains(files, r.Place.File) })
}

func (all tally) of(kind string) *counts {
	if all[kind] == nil {
		all[kind] = new(counts)
	}
	return all[kind]
}

func (all tally) add(other tally) {
	for kind, n := range other {
		sum := all.of(kind)
		sum.asked, sum.right, sum.nothing = sum.asked+n.asked, sum.right+n.right, sum.nothing+n.nothing
		sum.perhaps, sum.calls = sum.perhaps+n.perhaps, sum.calls+n.calls
	}
}

func (all tally) print(t *testing.T) {
	t.Helper()
	for _, kind := range []string{"own", "near", "vi", "off", "own rewritten", "near rewritten", "vi rewritten", "off rewritten"} {
		if n := all[kind]; n != nil {
			t.Logf("%s: %d of %d right (%.2f), %d find nothing, %d have a right file among what is perhaps one, %d worded anew",
				kind, n.right, n.asked, float64(n.right)/float64(n.asked), n.nothing, n.perhaps, n.calls)
		}
	}
}
