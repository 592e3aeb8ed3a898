package documents_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf16"

	"molar/internal/documents"
)

// A document that cannot be read says why, in bounded time and memory.
func TestReader_refuses(t *testing.T) {
	utf16 := func(s string) string {
		var b []byte
		for _, u := range utf16.Encode([]rune(s)) {
			b = append(b, byte(u), byte(u>>8))
		}
		return string(b)
	}
	good := word(t, para("", "text"), nil)
	lied := bytes.Clone(good)
	lied = bytes.ReplaceAll(lied, []byte("PK\x01\x02\x14\x00\x14\x00\x08\x00"), []byte("PK\x01\x02\x14\x00\x14\x00\x09\x00")) // the flag of a password
	deep := strings.Repeat("<w:sdt>", 1000)
	xml := func(body string) []byte {
		return packed(t, map[string]string{"_rels/.rels": rels("r officeDocument word/document.xml"), "word/document.xml": body})
	}
	for name, tt := range map[string]struct {
		file string
		data []byte
		want string
	}{
		"empty":                           {"a.docx", nil, "it is empty"},
		"too large":                       {"a.csv", make([]byte, documents.Largest+1), "over 64 MiB"},
		"nothing but a heading":           {"a.docx", word(t, "<w:p/>", nil), "it holds no text"},
		"encrypted":                       {"a.docx", []byte("\xD0\xCF\x11\xE0 " + utf16("EncryptedPackage")), "protected by a password"},
		"encrypted within":                {"a.docx", lied, "protected by a password"},
		"old under a new name":            {"a.xlsx", []byte("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"), "an old file of Office"},
		"old":                             {"a.doc", []byte("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"), "save it as .docx"},
		"another kind under its name":     {"a.xlsx", good, "it is a document"},
		"a page under its name":           {"a.docx", []byte("<html>hello</html>"), "not what its name says"},
		"a picture under its name":        {"a.pdf", []byte("\x89PNG\r\n\x1a\n"), "it is no PDF"},
		"a program under its name":        {"a.csv", []byte("MZ\x90\x00\x03"), "its content is no text"},
		"no document within":              {"a.docx", packed(t, map[string]string{"a.txt": "x"}), "damaged"},
		"cut off":                         {"a.docx", good[:len(good)/2], "damaged"},
		"an end that is missing":          {"a.docx", xml(`<w:document xmlns:w="w"><w:body><w:p>`), "damaged"},
		"entities":                        {"a.docx", xml(`<!DOCTYPE d [<!ENTITY a "aaaa">]><w:document xmlns:w="w"><w:body><w:p><w:r><w:t>&a;</w:t></w:r></w:p></w:body></w:document>`), "document type"},
		"much that is packed into little": {"a.docx", xml(`<w:document xmlns:w="w">` + strings.Repeat(" ", 64<<20) + `</w:document>`), "unpacks to far more"},
		"elements deep within each other": {"a.docx", xml(`<w:document xmlns:w="w"><w:body>` + deep), "unpacks to far more"},
		"tables deep within each other":   {"a.docx", xml(`<w:document xmlns:w="w"><w:body>` + strings.Repeat("<w:tbl><w:tr><w:tc>", 1000)), "unpacks to far more"},
		"a tag that does not end":         {"a.docx", xml(`<w:document xmlns:w="w" ` + attributes(300_000)), "unpacks to far more"},
		"an unknown kind":                 {"a.xyz", []byte("x"), documents.ErrUnknown.Error()},
		"a program that is not there":     {"a.none", []byte("x"), `"no-such-program" in convert is not found`},
		"links to itself":                 {"a.docx", packed(t, map[string]string{"_rels/.rels": rels("r officeDocument _rels/.rels")}), "it is a Relationships"},
		"a path out of the zip file":      {"a.docx", packed(t, map[string]string{"_rels/.rels": rels("r officeDocument ../../../../etc/passwd")}), "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := reader(t, map[string][]string{"none": {"no-such-program", "{}"}, "pdf": {os.Args[0], "{}"}}).Read(t.Context(), tt.file, tt.data)
			if err == nil || !strings.Contains(err.Error(), tt.want) || len(d.Parts) > 0 {
				t.Errorf("got %d parts and error %v, want %s", len(d.Parts), err, tt.want)
			}
		})
	}
}

// attributes returns attributes of a tag that do not pack well.
func attributes(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `a%x="%x" `, i*7919, i*104729)
	}
	return b.String()
}

// A zip file of many files costs nothing.
func TestReader_manyFiles(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := range 6000 {
		if _, err := z.Create(fmt.Sprintf("%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := reader(t, nil).Read(t.Context(), "a.docx", b.Bytes()); err == nil || !strings.Contains(err.Error(), "unpacks to far more") {
		t.Errorf("error %v", err)
	}
}

// A document that is too long is read in part, and says so.
func TestReader_inPart(t *testing.T) {
	if testing.Short() {
		t.Skip("reads documents of megabytes")
	}
	long := strings.Repeat("word ", 200)
	var table, sheet, body, below strings.Builder
	table.WriteString("name,number\n")
	sheet.WriteString("<sheetData>")
	for i := range 60_000 {
		fmt.Fprintf(&table, "n%d,%d\n", i, i)
		if i < 40_000 {
			fmt.Fprintf(&below, `<row><c r="B%d"><v>%d</v></c></row>`, i, i*7919)
		}
		fmt.Fprintf(&sheet, `<row><c t="str"><v>n%d</v></c><c><v>%d</v></c></row>`, i, i)
	}
	for i := range 9000 {
		body.WriteString(para("", fmt.Sprintf("%d %s", i, long)))
	}
	// Each of many rows would repeat a long text.
	merged := `<sheetData><row r="1"><c r="A1" t="str"><v>` + strings.Repeat("long ", 20_000) + `</v></c><c r="B1"><v>1</v></c></row>` +
		below.String() + `</sheetData><mergeCells><mergeCell ref="A1:A1000000"/></mergeCells>`
	for name, tt := range map[string]struct {
		file string
		data []byte
		left string
		most int // parts
	}{
		"a long table":    {"a.csv", []byte(table.String()), "only its first 50000 rows are read", 50_000},
		"a long sheet":    {"a.xlsx", workbook(t, [][2]string{{"A", sheet.String() + "</sheetData>"}}, nil), "only its first 50000 rows are read", 50_001},
		"a long document": {"a.docx", word(t, body.String(), nil), "only its first 8 MiB of text are read", 9000},
		"merged cells":    {"a.xlsx", workbook(t, [][2]string{{"A", merged}}, nil), "only its first 8 MiB of text are read", 100},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := reader(t, nil).Read(t.Context(), tt.file, tt.data)
			if err != nil || d.Left != tt.left || len(d.Parts) == 0 || len(d.Parts) > tt.most {
				t.Errorf("%d parts, left %q, error %v", len(d.Parts), d.Left, err)
			}
			size := 0
			for _, p := range d.Parts {
				size += len(p.Text)
			}
			if size > 8<<20 {
				t.Errorf("%d bytes", size)
			}
		})
	}
}

// The numbers of lists count as text, and none is long.
func TestReader_longNumbers(t *testing.T) {
	list := func(text string) map[string]string {
		return map[string]string{
			"word/styles.xml": `<w:styles xmlns:w="w"><w:style w:type="paragraph" w:default="1" w:styleId="N"><w:name w:val="Normal"/><w:numPr><w:ilvl w:val="1"/><w:numId w:val="7"/></w:numPr></w:style></w:styles>`,
			"word/numbering.xml": `<w:numbering xmlns:w="w"><w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:start w:val="3889"/><w:numFmt w:val="upperRoman"/></w:lvl>` +
				`<w:lvl w:ilvl="1"><w:numFmt w:val="decimal"/><w:lvlText w:val="` + text + `"/></w:lvl></w:abstractNum><w:num w:numId="7"><w:abstractNumId w:val="1"/></w:num></w:numbering>`,
		}
	}
	for text, want := range map[string]string{strings.Repeat("x", 100): strings.Repeat("x", 100) + " item", strings.Repeat("x", 101): "item"} {
		if got := read(t, "a.docx", word(t, para("", "item"), list(text))); strings.TrimPrefix(got[0], "> ") != want {
			t.Errorf("an item with a number of %d bytes is %q", len(text), got)
		}
	}
	// Nothing shows the note: what is read of it is all that counts.
	others := list(strings.Repeat("%1", 50)) // 750 bytes of Roman digits
	others["word/footnotes.xml"] = `<w:footnotes xmlns:w="w"><w:footnote w:id="2">` + strings.Repeat(para("", "x"), 25_000) + `</w:footnote></w:footnotes>`
	if d, err := reader(t, nil).Read(t.Context(), "a.docx", word(t, para("", "item"), others)); err == nil || !strings.Contains(err.Error(), "far more than a document holds") {
		t.Errorf("%d parts, error %v", len(d.Parts), err)
	}
}

func TestNew_refuses(t *testing.T) {
	for _, command := range [][]string{nil, {"cat"}, {"{}"}, {"cat", "-"}} {
		if _, err := documents.New(documents.Config{Convert: map[string][]string{"odt": command}}); err == nil || !strings.Contains(err.Error(), `"odt"`) {
			t.Errorf("%q: error %v", command, err)
		}
	}
}

// seeds adds small documents of a kind.
func seeds(f *testing.F, kind string) {
	f.Helper()
	switch kind {
	case "docx":
		f.Add(word(f, para("u1", "Prices")+`<w:tbl><w:tr><w:tc>`+para("", "A")+`</w:tc><w:tc>`+para("", "1")+`</w:tc></w:tr></w:tbl>`, nil))
	case "xlsx":
		f.Add(workbook(f, [][2]string{{"A", rows("Name|Price", "Ann|7") + `<mergeCells><mergeCell ref="A1:C1"/></mergeCells>`}}, nil))
	case "csv":
		f.Add([]byte("Name;Price\nAnn;7\n"))
		f.Add([]byte("\xFF\xFEa\x00,\x00b\x00"))
	}
}

// fuzz reads whatever there is.
func fuzz(f *testing.F, kind string) {
	seeds(f, kind)
	r := reader(f, nil)
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := r.Read(t.Context(), "a."+kind, data)
		if err == nil && len(d.Parts) == 0 {
			t.Error("no text, and no error")
		}
		for _, p := range d.Parts {
			if strings.TrimSpace(p.Text) == "" {
				t.Error("an empty part")
			}
		}
	})
}

func FuzzWord(f *testing.F)     { fuzz(f, "docx") }
func FuzzWorkbook(f *testing.F) { fuzz(f, "xlsx") }
func FuzzCSV(f *testing.F)      { fuzz(f, "csv") }

// FuzzDocumentXML reads the main file of a document of Word, which fuzzing does not find within a zip file.
func FuzzDocumentXML(f *testing.F) {
	f.Add(para("u1", "Prices") + `<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="2"/><w:vMerge/></w:tcPr>` + para("", "A") + `</w:tc></w:tr></w:tbl>`)
	r := reader(f, nil)
	f.Fuzz(func(t *testing.T, body string) {
		_, _ = r.Read(t.Context(), "a.docx", word(t, body, nil))
	})
}

// FuzzSheetXML does the same with a sheet and its formats.
func FuzzSheetXML(f *testing.F) {
	f.Add(rows("Name|Price", "Ann|7")+`<mergeCells><mergeCell ref="A1:C1"/></mergeCells>`, `#,##0.00 "x";[Red]-0`)
	f.Add(`<sheetData><row><c s="1"><v>46235.5</v></c></row></sheetData>`, `dd/mm/yyyy h:mm AM/PM`)
	r := reader(f, nil)
	escape := strings.NewReplacer(`"`, "&quot;", "<", "&lt;", "&", "&amp;")
	f.Fuzz(func(t *testing.T, sheet, format string) {
		_, _ = r.Read(t.Context(), "a.xlsx", workbook(t, [][2]string{{"A", sheet}}, map[string]string{
			"xl/styles.xml": `<styleSheet><numFmts><numFmt numFmtId="170" formatCode="` + escape.Replace(format) + `"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="170"/></cellXfs></styleSheet>`,
		}))
	})
}
