package knowledge

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"molar/internal/documents"
)

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		name, file, text string
		want             []passage
	}{
		{
			"markdown", "guide/roses.md", "# Roses\n\nThey want sun.\n\n## In winter\nCover them.\n\n```sh\n# no heading\n```\n",
			[]passage{
				{file: "guide/roses.md", title: "Roses", heading: "Roses", anchor: "roses", line: 3, text: "They want sun."},
				{file: "guide/roses.md", title: "Roses - In winter", heading: "In winter", anchor: "in-winter", line: 6, text: "Cover them.\n\n```sh\n# no heading\n```"},
			},
		},
		{
			"front matter", "a.md", "---\ntitle: \"Cây chanh\"\ntags: x\n---\nTưới mỗi ngày.",
			[]passage{{file: "a.md", title: "Cây chanh", line: 5, text: "Tưới mỗi ngày."}},
		},
		{
			"a deeper heading ends with the next of its level", "b.md", "# A\n## B\n### C\nc\n## D\nd",
			[]passage{
				{file: "b.md", title: "A - B - C", heading: "C", anchor: "c", line: 4, text: "c"},
				{file: "b.md", title: "A - D", heading: "D", anchor: "d", line: 6, text: "d"},
			},
		},
		{
			"several headings of the first level", "h.md", "# A\na\n# B\nb\n## C\nc",
			[]passage{
				{file: "h.md", title: "A", heading: "A", anchor: "a", line: 2, text: "a"},
				{file: "h.md", title: "B", heading: "B", anchor: "b", line: 4, text: "b"},
				{file: "h.md", title: "B - C", heading: "C", anchor: "c", line: 6, text: "c"},
			},
		},
		{
			"underlined headings", "u.md", "Roses\n=====\nThey want sun.\n\nIn winter\n---\nCover them.\n\n---\n",
			[]passage{
				{file: "u.md", title: "Roses", heading: "Roses", anchor: "roses", line: 3, text: "They want sun."},
				{file: "u.md", title: "Roses - In winter", heading: "In winter", anchor: "in-winter", line: 7, text: "Cover them.\n\n---"},
			},
		},
		{
			"page", "p/x.html", `<html><head><title>Soil</title><script>var no</script></head><body><nav>Menu</nav>
			<h1>Soil</h1><p>Loose <b>earth</b>.</p><h2 id="acid">Acid soil</h2><ul><li>Peat</li><li>Needles</li></ul><footer>No</footer></body></html>`,
			[]passage{
				{file: "p/x.html", title: "Soil", heading: "Soil", anchor: "soil", text: "Loose earth."},
				{file: "p/x.html", title: "Soil - Acid soil", heading: "Acid soil", anchor: "acid", text: "Peat\n\nNeedles"},
			},
		},
		{"plain text", "notes.txt", "one\ntwo\n\n\nthree", []passage{{file: "notes.txt", title: "notes", line: 1, text: "one\ntwo\n\nthree"}}},
		{
			"a section of its own", "c.md", "---\nkeywords: all\n---\n# A\n## B {#b1}\n\nkeywords: x, y\nsource: Name | https://b.example/\nchecked: 2026-11\nb\nsource: no\n## C\nc\n",
			[]passage{
				{file: "c.md", title: "B", heading: "B", anchor: "b1", line: 10, text: "b\nsource: no", keywords: "all, x, y", source: "Name | https://b.example/"},
				{file: "c.md", title: "A - C", heading: "C", anchor: "c", line: 13, text: "c", keywords: "all"},
			},
		},
		{"nothing", "empty.md", "# Only a heading\n", nil},
	} {
		_, got := cut(tt.file, tt.text)
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(passage{})); diff != "" {
			t.Errorf("%s:\n%s", tt.name, diff)
		}
	}
}

// Long texts become passages of a readable size, and no character is split.
func TestCut_LongTexts(t *testing.T) {
	for name, text := range map[string]string{
		"paragraphs":  strings.Repeat(strings.Repeat("Một câu về cây. ", 20)+"\n\n", 30),
		"one line":    strings.Repeat("word ", 5000),
		"no spaces":   strings.Repeat("x", 20_000),
		"no spaces 2": strings.Repeat("ươ", 9_000),
	} {
		total := 0
		_, passages := cut("long.txt", text)
		for _, p := range passages {
			total += len(strings.Join(strings.Fields(p.text), ""))
			if len(p.text) > largestPassage || !utf8.ValidString(p.text) {
				t.Errorf("%s: a passage of %d bytes, valid %v", name, len(p.text), utf8.ValidString(p.text))
			}
		}
		if want := len(strings.Join(strings.Fields(text), "")); total != want || len(passages) < 2 {
			t.Errorf("%s: %d bytes in %d passages, want %d", name, total, len(passages), want)
		}
	}
}

// Passages of documents keep to their page and their sheet, and begin with the names of the columns.
func TestCutDocument(t *testing.T) {
	row := func(text string, line int) documents.Part {
		return documents.Part{Text: text, Follows: true, Sheet: "Prices", Line: line}
	}
	wide := strings.Repeat("wide ", 130)
	for _, tt := range []struct {
		name, file string
		document   documents.Document
		want       []passage
	}{
		{
			"pages", "a.pdf",
			documents.Document{Parts: []documents.Part{
				{Level: 1, Text: "Handbook", Page: 1}, {Text: "one", Page: 1}, {Text: "two", Page: 1}, {Text: "three", Page: 2}, {Level: 2, Text: "1. Fees", Page: 2}, {Text: "four", Page: 3},
			}},
			[]passage{
				{file: "a.pdf", title: "Handbook", heading: "Handbook", anchor: "handbook", page: 1, text: "one\n\ntwo"},
				{file: "a.pdf", title: "Handbook", heading: "Handbook", anchor: "handbook", page: 2, text: "three"},
				{file: "a.pdf", title: "Handbook - 1. Fees", heading: "1. Fees", anchor: "1-fees", page: 3, text: "four"},
			},
		},
		{
			"chapters", "b.docx",
			documents.Document{Title: "Rules", Parts: []documents.Part{{Level: 1, Text: "A"}, {Text: "one"}, {Text: "- x", Follows: true}, {Text: "- y", Follows: true}, {Level: 1, Text: "B"}, {Text: "two"}}},
			[]passage{
				{file: "b.docx", title: "Rules - A", heading: "A", anchor: "a", text: "one\n- x\n- y"},
				{file: "b.docx", title: "Rules - B", heading: "B", anchor: "b", text: "two"},
			},
		},
		{
			"sheets", "c.xlsx",
			documents.Document{Parts: []documents.Part{{Level: 1, Text: "Prices", Sheet: "Prices"}, row("A: "+wide, 4), row("A: "+wide, 5), {Text: "other", Sheet: "Other", Line: 1}}},
			[]passage{
				{file: "c.xlsx", title: "c - Prices", heading: "Prices", anchor: "prices", sheet: "Prices", line: 4, last: 4, text: strings.TrimSpace("A: " + wide)},
				{file: "c.xlsx", title: "c - Prices", heading: "Prices", anchor: "prices", sheet: "Prices", line: 5, last: 5, text: strings.TrimSpace("A: " + wide)},
				{file: "c.xlsx", title: "c - Prices", heading: "Prices", anchor: "prices", sheet: "Other", line: 1, last: 1, text: "other"},
			},
		},
		{
			"a long table", "d.pdf",
			documents.Document{Parts: []documents.Part{
				{Text: "Name   Price", Page: 1}, {Text: "x  " + wide, Head: "Name   Price", Follows: true, Page: 1}, {Text: "y  " + wide, Head: "Name   Price", Follows: true, Page: 1},
			}},
			[]passage{
				{file: "d.pdf", title: "d", page: 1, text: "Name   Price\nx  " + strings.TrimSpace(wide)},
				{file: "d.pdf", title: "d", page: 1, text: "Name   Price\ny  " + strings.TrimSpace(wide)},
			},
		},
	} {
		_, got := cutDocument(tt.file, tt.document)
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(passage{})); diff != "" {
			t.Errorf("%s:\n%s", tt.name, diff)
		}
	}
}
