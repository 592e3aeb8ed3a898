package search

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"molar/mcpservers/knowledge"
)

// guideFolder is the guide of a language as a folder of anyone's own: a file for each entry, with
// the words that are kept for finding it as its keywords, or without them.
func guideFolder(t *testing.T, lang string, keywords bool) *knowledge.Folder {
	t.Helper()
	topics, err := readGuide(lang)
	if err != nil {
		t.Fatal(err)
	}
	files := make(fstest.MapFS)
	for _, e := range topics.entries {
		front := ""
		if keywords {
			front = "---\nkeywords: " + strings.Join(slices.Concat(e.keys, e.asked), ", ") + "\n---\n"
		}
		files[e.id+".md"] = &fstest.MapFile{Data: []byte(front + "# " + e.title + "\n\n" + e.text)}
	}
	f, err := knowledge.Open(knowledge.Config{Name: "guide_" + lang, Files: files, Languages: []string{lang}, Fixed: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// A folder is asked what the guide is asked: how much it finds is told beside what the guide
// does, which knows synonyms and what it does not speak of too.
func TestFolders_AskedWhatTheGuideIsAsked(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	for _, tt := range []struct {
		name     string
		keywords bool
		least    float64
	}{{"with keywords", true, 0.75}, {"of texts alone", false, 0.5}} {
		t.Run(tt.name, func(t *testing.T) {
			folders := map[string]*knowledge.Folder{"vi": guideFolder(t, "vi", tt.keywords), "en": guideFolder(t, "en", tt.keywords)}
			for _, name := range []string{"fresh.tsv", "fresh3.tsv", "unseen.tsv"} {
				askFolders(t, folders, name, tt.least)
			}
			for _, name := range []string{"outside.txt", "fresh_outside.txt", "fresh3_outside.txt"} {
				lines, answered := testLines(t, name), 0
				for _, question := range lines {
					if len(askFolder(t, folders["vi"], question)) > 0 || len(askFolder(t, folders["en"], question)) > 0 {
						answered++
					}
				}
				t.Logf("%s: %d of %d fall through", name, len(lines)-answered, len(lines))
			}
		})
	}
}

// askFolders tells how many questions of a file bring the right entry among the first three.
func askFolders(t *testing.T, folders map[string]*knowledge.Folder, name string, least float64) {
	t.Helper()
	g := newGuide()
	asked, inGuide, inFolder := map[string]int{}, map[string]int{}, map[string]int{}
	for _, line := range testLines(t, name) {
		parts := strings.Split(line, "\t")
		lang, ids, question := parts[0], parts[1], parts[2]
		asked[lang]++
		if found(t, g, ids, lang, question) {
			inGuide[lang]++
		}
		if slices.ContainsFunc(askFolder(t, folders[lang], question), func(id string) bool { return slices.Contains(strings.Split(ids, ","), id) }) {
			inFolder[lang]++
		}
	}
	for _, lang := range []string{"vi", "en"} {
		t.Logf("%s %s: guide %d of %d, folder %d", name, lang, inGuide[lang], asked[lang], inFolder[lang])
		if float64(inFolder[lang]) < least*float64(asked[lang]) {
			t.Errorf("%s %s: the folder finds %d of %d, want %.2f", name, lang, inFolder[lang], asked[lang], least)
		}
	}
}

// askFolder returns the entries that a folder brings first.
func askFolder(t *testing.T, f *knowledge.Folder, question string) (ids []string) {
	t.Helper()
	results, err := f.Search(t.Context(), question, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		ids = append(ids, strings.TrimSuffix(r.Link, ".md"))
	}
	return ids
}
