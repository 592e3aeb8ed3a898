package documents_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"molar/internal/documents"
)

// packed returns a zip file.
func packed(tb testing.TB, files map[string]string) []byte {
	tb.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		w, err := z.Create(name)
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := w.Write([]byte(files[name])); err != nil {
			tb.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

const officeTypes = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"

// rels returns a file of relationships: "id type target" each.
func rels(links ...string) string {
	var b strings.Builder
	b.WriteString("<Relationships>")
	for _, link := range links {
		f := strings.Fields(link)
		fmt.Fprintf(&b, `<Relationship Id="%s" Type="%s%s" Target="%s"/>`, f[0], officeTypes, f[1], f[2])
	}
	return b.String() + "</Relationships>"
}

// word returns a document of Word with a body and other files beside it.
func word(tb testing.TB, body string, others map[string]string) []byte {
	tb.Helper()
	files := map[string]string{
		"_rels/.rels":                  rels("r1 officeDocument word/document.xml"),
		"word/_rels/document.xml.rels": rels("a styles styles.xml", "b numbering numbering.xml", "c footnotes footnotes.xml"),
		"word/document.xml":            `<w:document xmlns:w="w" xmlns:mc="mc"><w:body>` + body + `</w:body></w:document>`,
	}
	maps.Copy(files, others)
	return packed(tb, files)
}

// para returns a paragraph of Word.
func para(style, text string) string {
	if style != "" {
		style = `<w:pPr><w:pStyle w:val="` + style + `"/></w:pPr>`
	}
	return `<w:p>` + style + `<w:r><w:t>` + text + `</w:t></w:r></w:p>`
}

// workbook returns a workbook of sheets, by "name" or "name hidden" and the content of their sheet elements.
func workbook(tb testing.TB, sheets [][2]string, others map[string]string) []byte {
	tb.Helper()
	files := map[string]string{"_rels/.rels": rels("r1 officeDocument xl/workbook.xml")}
	var names, links []string
	for i, s := range sheets {
		name, state, _ := strings.Cut(s[0], "|")
		names = append(names, fmt.Sprintf(`<sheet name="%s" sheetId="%d" state="%s" r:id="s%d"/>`, name, i+10, state, i))
		links = append(links, fmt.Sprintf("s%d worksheet worksheets/sheet%d.xml", i, i))
		files[fmt.Sprintf("xl/worksheets/sheet%d.xml", i)] = `<worksheet>` + s[1] + `</worksheet>`
	}
	links = append(links, "st styles styles.xml", "sh sharedStrings sharedStrings.xml")
	files["xl/workbook.xml"] = `<workbook xmlns:r="r"><sheets>` + strings.Join(names, "") + `</sheets></workbook>`
	files["xl/_rels/workbook.xml.rels"] = rels(links...)
	maps.Copy(files, others)
	return packed(tb, files)
}

// rows returns the rows of a sheet, of inline texts separated by "|".
func rows(lines ...string) string {
	var b strings.Builder
	b.WriteString("<sheetData>")
	for i, line := range lines {
		if line == "" {
			continue
		}
		fmt.Fprintf(&b, `<row r="%d">`, i+1)
		for at, text := range strings.Split(line, "|") {
			if text != "" {
				fmt.Fprintf(&b, `<c r="%c%d" t="inlineStr"><is><t>%s</t></is></c>`, 'A'+at, i+1, text)
			}
		}
		b.WriteString("</row>")
	}
	return b.String() + "</sheetData>"
}

func reader(tb testing.TB, convert map[string][]string) *documents.Reader {
	tb.Helper()
	r, err := documents.New(documents.Config{Convert: convert})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// read returns the parts of a document as lines: the level of a heading, ">" where a part follows, and the place.
func read(tb testing.TB, name string, data []byte) []string {
	tb.Helper()
	d, err := reader(tb, nil).Read(tb.Context(), name, data)
	if err != nil {
		tb.Fatal(err)
	}
	return lines(d)
}

func lines(d documents.Document) (all []string) {
	if d.Title != "" {
		all = append(all, "title "+d.Title)
	}
	for _, p := range d.Parts {
		line := p.Text
		switch {
		case p.Level > 0:
			line = strings.Repeat("#", p.Level) + " " + line
		case p.Follows:
			line = "> " + line
		}
		if p.Page > 0 {
			line = fmt.Sprintf("p%d %s", p.Page, line)
		}
		if p.Line > 0 {
			line = fmt.Sprintf("%d %s", p.Line, line)
		}
		all = append(all, line)
	}
	return all
}
