package search_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"molar/mcpservers/knowledge"
	"molar/mcpservers/search"
)

// A model with several folders reads what tells them apart: what the operator says of each, else what its
// documents are called, and which languages they are in.
func TestServer_DescribesItsFolders(t *testing.T) {
	files := fstest.MapFS{
		"prices.md": {Data: []byte("# Prices")}, "leave/sick leave.md": {Data: []byte("# Sick leave")}, "synonyms.txt": {Data: []byte("a, b")},
		".draft.md": {Data: []byte("x")}, "logo.png": {Data: []byte("x")}, "corrections/c-1.md": {Data: []byte("# Why?")},
	}
	var folders []*knowledge.Folder
	for _, c := range []knowledge.Config{
		{Name: "handbook", About: "What the staff of the shop\nmust know", Languages: []string{"vi"}},
		{Name: "shop", Languages: []string{"en"}},
		{Name: "forum", Foreign: true},
	} {
		c.Files, c.Fixed = files, true
		f, err := knowledge.Open(c)
		if err != nil {
			t.Fatal(err)
		}
		folders = append(folders, f)
	}
	d, err := search.New(search.Config{Folders: folders})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	var list struct {
		Tools []struct {
			Name, Description string
			InputSchema       struct {
				Properties map[string]struct {
					Type, Description string
					Enum              []string
					MaxItems          int
				}
			}
		}
	}
	request(t, d, "tools/list", map[string]any{}, &list)
	const rest = " Returns up to 5 passages with their text, place and link; needs no internet."
	want := map[string]string{
		"handbook": "What the staff of the shop must know." + rest,
		"shop":     `Search "shop", a collection of documents of whoever runs this assistant, such as sick leave, prices.` + rest,
		"forum":    `Search "forum", a collection of documents of whoever runs this assistant.` + rest, // others name its files
	}
	languages := map[string][]string{"handbook": {"vi"}, "shop": {"en"}, "forum": {"vi", "en"}}
	got := make(map[string]string)
	for _, tool := range list.Tools {
		if tool.Name == "duckduckgo_search" {
			continue
		}
		got[tool.Name] = tool.Description
		of := tool.InputSchema.Properties
		if !slices.Equal(of["language"].Enum, languages[tool.Name]) || of["queries"].Type != "array" || of["queries"].MaxItems != 3 {
			t.Errorf("%s takes %+v", tool.Name, of)
		}
		if names := of["query"].Description; strings.Contains(names, "Vietnamese") != slices.Contains(languages[tool.Name], "vi") || strings.Contains(names, "English") != slices.Contains(languages[tool.Name], "en") {
			t.Errorf("%s is asked %q", tool.Name, names)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A folder is asked in a language that it has, and tells which these are.
func TestFolder_Languages(t *testing.T) {
	f, err := knowledge.Open(knowledge.Config{Name: "shop", Files: fstest.MapFS{"a.md": {Data: []byte("# Prices\n\nA watch costs 20.")}}, Languages: []string{"en"}, Fixed: true})
	if err != nil {
		t.Fatal(err)
	}
	d, err := search.New(search.Config{Folders: []*knowledge.Folder{f}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	if a := call(t, d, "shop", map[string]any{"query": "prices", "language": "vi"}); !a.IsError || !strings.Contains(a.text(), `use "en"`) {
		t.Errorf("%+v", a)
	}
	a := call(t, d, "shop", map[string]any{"query": "prices", "language": "en", "queries": []string{"", "what a watch costs", " ", "b", "c", "d"}})
	if a.IsError || len(a.StructuredContent.Results) != 1 || a.StructuredContent.Results[0].Place.File != "a.md" || !strings.Contains(a.text(), "\nPlace: a.md, Prices\n") {
		t.Errorf("%+v", a)
	}
}
