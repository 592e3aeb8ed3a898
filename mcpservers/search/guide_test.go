package search

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func testGuide(t testing.TB) *guide {
	t.Helper()
	g, err := loadGuide()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func testLines(t testing.TB, name string) []string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

func TestGuide_EveryTopicStandsInBothLanguages(t *testing.T) {
	ids := map[string][]string{}
	for _, e := range testGuide(t).entries {
		if slices.Contains(ids[e.lang], e.id) {
			t.Errorf("%s: entry %q stands twice", e.lang, e.id)
		}
		ids[e.lang] = append(ids[e.lang], e.id)
		if n := strings.Count(e.text, ". ") + 1; n < 3 || n > 6 {
			t.Errorf("%s %s has %d sentences, want 3 to 6", e.lang, e.id, n)
		}
	}
	if len(ids["vi"]) < 16 || !slices.Equal(ids["vi"], ids["en"]) {
		t.Errorf("vi has %v, en has %v", ids["vi"], ids["en"])
	}
}

func TestGuide_FindsTheEntryOfAParaphrase(t *testing.T) {
	g := testGuide(t)
	count, right := map[string]int{}, map[string]int{}
	for _, line := range testLines(t, "questions.tsv") {
		f := strings.Split(line, "\t")
		lang, id, question := f[0], f[1], f[2]
		count[lang]++
		var found []string
		for _, h := range g.find(question, "", 3) {
			found = append(found, g.entries[h.entry].lang+"/"+g.entries[h.entry].id)
		}
		if slices.Contains(found, lang+"/"+id) {
			right[lang]++
		} else {
			t.Logf("%q: got %v, want %s/%s among them", question, found, lang, id)
		}
	}
	for _, lang := range []string{"vi", "en"} {
		share := float64(right[lang]) / float64(count[lang])
		t.Logf("%s: %d of %d (%.3f)", lang, right[lang], count[lang], share)
		if count[lang] < 40 || share < 0.9 {
			t.Errorf("%s: %.3f of %d questions, want at least 0.9 of at least 40", lang, share, count[lang])
		}
	}
}

func TestGuide_HasNothingToSayOutsideItsSubject(t *testing.T) {
	g := testGuide(t)
	for _, question := range append(testLines(t, "outside.txt"), "", "?!", "🦷", strings.Repeat("x ", 5000)) {
		if results := g.search(question, ""); len(results) > 0 {
			t.Errorf("%.60q: got %q (%.2f)", question, results[0].Title, results[0].Score)
		}
	}
}

func TestGuide_AnswersInTheLanguageAskedFor(t *testing.T) {
	g := testGuide(t)
	for _, lang := range []string{"vi", "en"} {
		results := g.search("implant", lang)
		if len(results) == 0 {
			t.Fatalf("nothing in %s", lang)
		}
		if isVietnamese := strings.Contains(results[0].Content, "răng"); isVietnamese != (lang == "vi") {
			t.Errorf("%s: got %q", lang, results[0].Content)
		}
	}
}

func TestGuide_ExactMarksComeFirst(t *testing.T) {
	g := testGuide(t)
	marked, bare := g.search("nghiến răng khi ngủ", "vi"), g.search("nghien rang khi ngu", "vi")
	if len(marked) == 0 || len(bare) == 0 || marked[0].Title != bare[0].Title {
		t.Fatalf("got %v and %v", marked, bare)
	}
	if marked[0].Score <= bare[0].Score {
		t.Errorf("with marks %.3f, without %.3f: want the first to be higher", marked[0].Score, bare[0].Score)
	}
}

func BenchmarkGuideSearch(b *testing.B) {
	g := testGuide(b)
	for b.Loop() {
		g.search("răng hàm của tôi bị sâu và đau nhức khi nhai, có cần lấy tủy không, chi phí bao nhiêu", "")
	}
}

func BenchmarkGuideIndex(b *testing.B) {
	for b.Loop() {
		testGuide(b)
	}
}
