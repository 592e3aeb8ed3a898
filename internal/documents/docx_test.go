package documents_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReader_Word(t *testing.T) {
	styles := map[string]string{"word/styles.xml": `<w:styles xmlns:w="w">
		<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/></w:style>
		<w:style w:styleId="u1"><w:name w:val="heading 1"/></w:style>
		<w:style w:styleId="own"><w:name w:val="Tiêu đề 2"/></w:style>
		<w:style w:styleId="below"><w:name w:val="House"/><w:basedOn w:val="u1"/></w:style>
		<w:style w:styleId="level"><w:name w:val="Deep"/><w:pPr><w:outlineLvl w:val="2"/></w:pPr></w:style>
		<w:style w:styleId="T"><w:name w:val="Title"/></w:style>
		<w:style w:styleId="toc1"><w:name w:val="toc 1"/></w:style></w:styles>`}
	cell := func(text string) string { return `<w:tc>` + para("", text) + `</w:tc>` }
	for name, tt := range map[string]struct {
		body   string
		others map[string]string
		want   []string
	}{
		"headings by their style, in any language, and by their level": {
			body: para("T", "Handbook") + para("toc1", "Prices 3") + para("u1", "Prices") + para("", "All prices.") + para("own", "Bảo hành") +
				para("", "Một năm.") + para("below", "Fees") + para("level", "Late") + `<w:p><w:pPr><w:outlineLvl w:val="3"/></w:pPr><w:r><w:t>Own level</w:t></w:r></w:p>`,
			others: styles,
			want:   []string{"title Handbook", "# Prices", "All prices.", "## Bảo hành", "Một năm.", "# Fees", "### Late", "#### Own level"},
		},
		"brief bold paragraphs where there is no heading": {
			body: `<w:p><w:r><w:rPr><w:b/></w:rPr><w:t>HANDBOOK</w:t></w:r></w:p><w:p><w:r><w:rPr><w:b/></w:rPr><w:t>Prices</w:t></w:r></w:p>` + para("", "One is free.") +
				`<w:p><w:r><w:rPr><w:b/></w:rPr><w:t>Bold, and a sentence.</w:t></w:r></w:p><w:p><w:r><w:rPr><w:b w:val="0"/></w:rPr><w:t>Not bold</w:t></w:r></w:p>`,
			want: []string{"# HANDBOOK", "## Prices", "One is free.", "Bold, and a sentence.", "Not bold"},
		},
		"a table by its first row": {
			body: `<w:tbl><w:tr>` + cell("Service") + cell("Price") + cell("Time") + `</w:tr><w:tr>` + cell("Scaling") + cell("300.000") + cell("") + `</w:tr>` +
				`<w:tr>` + cell("Service") + cell("Price") + cell("Time") + `</w:tr><w:tr>` + cell("Filling") + cell("500.000") + cell("30 min") + `</w:tr></w:tbl>`,
			want: []string{"> Service: Scaling; Price: 300.000", "> Service: Filling; Price: 500.000; Time: 30 min"},
		},
		"a table without names": {
			body: `<w:tbl><w:tr>` + cell("Address") + cell("12 High Street") + `</w:tr><w:tr>` + cell("Phone:") + cell("555") + `</w:tr><w:tr>` + cell("Doctor") + cell("Ann") + `</w:tr></w:tbl>`,
			want: []string{"> Address: 12 High Street", "> Phone: 555", "> Doctor: Ann"},
		},
		"merged cells": {
			body: `<w:tbl><w:tr><w:trPr><w:tblHeader/></w:trPr>` + cell("Branch") + `<w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr>` + para("", "Hours") + `</w:tc></w:tr>` +
				`<w:tr><w:trPr><w:tblHeader/></w:trPr>` + cell("Branch") + cell("Weekdays") + cell("Sunday") + `</w:tr>` +
				`<w:tr><w:tc><w:tcPr><w:vMerge w:val="restart"/></w:tcPr>` + para("", "North") + `</w:tc>` + cell("8-20") + cell("8-12") + `</w:tr>` +
				`<w:tr><w:tc><w:tcPr><w:vMerge/></w:tcPr><w:p/></w:tc>` + cell("9-21") + cell("closed") + `</w:tr></w:tbl>`,
			want: []string{"> Branch: North; Hours - Weekdays: 8-20; Hours - Sunday: 8-12", "> Branch: North; Hours - Weekdays: 9-21; Hours - Sunday: closed"},
		},
		"a frame around text, and paragraphs in a cell": {
			body: `<w:tbl><w:tr><w:tc>` + para("", "Read this") + para("", "with care.") + `</w:tc></w:tr></w:tbl>`,
			want: []string{"Read this, with care."},
		},
		"the newest of what changed, and nothing that is hidden": {
			body: `<w:p><w:r><w:t xml:space="preserve">It costs </w:t></w:r><w:del><w:r><w:delText>5</w:delText></w:r></w:del><w:ins><w:r><w:t>6</w:t></w:r></w:ins>` +
				`<w:r><w:rPr><w:vanish/></w:rPr><w:t> secretly</w:t></w:r><w:r><w:commentReference w:id="0"/></w:r><w:moveFrom><w:r><w:t>gone</w:t></w:r></w:moveFrom><w:r><w:t> now</w:t></w:r></w:p>`,
			others: map[string]string{"word/comments.xml": `<w:comments xmlns:w="w"><w:comment>` + para("", "a remark") + `</w:comment></w:comments>`},
			want:   []string{"It costs 6 now"},
		},
		"a note at the foot, and a box": {
			body: `<w:p><w:r><w:t>Warranty</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r><mc:AlternateContent><mc:Choice><w:r><w:drawing><w:txbxContent>` + para("", "Call us") +
				`</w:txbxContent></w:drawing></w:r></mc:Choice><mc:Fallback><w:r><w:pict><w:txbxContent>` + para("", "Call us") + `</w:txbxContent></w:pict></w:r></mc:Fallback></mc:AlternateContent></w:p>`,
			others: map[string]string{"word/footnotes.xml": `<w:footnotes xmlns:w="w"><w:footnote w:type="separator" w:id="1">` + para("", "line") + `</w:footnote><w:footnote w:id="2">` + para("", "One year.") + `</w:footnote></w:footnotes>`},
			want:   []string{"Warranty[*]\n[*] One year.", "Call us"},
		},
		"numbers of lists and of headings": {
			body: `<w:p><w:pPr><w:pStyle w:val="u1"/><w:numPr><w:ilvl w:val="0"/><w:numId w:val="7"/></w:numPr></w:pPr><w:r><w:t>Steps</w:t></w:r></w:p>` +
				strings.Repeat(`<w:p><w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="7"/></w:numPr></w:pPr><w:r><w:t>Do it</w:t></w:r></w:p>`, 2) +
				`<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="8"/></w:numPr></w:pPr><w:r><w:t>A dot</w:t></w:r></w:p>`,
			others: map[string]string{"word/styles.xml": styles["word/styles.xml"], "word/numbering.xml": `<w:numbering xmlns:w="w"><w:abstractNum w:abstractNumId="1">` +
				`<w:lvl w:ilvl="0"><w:start w:val="4"/><w:numFmt w:val="upperRoman"/><w:lvlText w:val="Part %1:"/></w:lvl><w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1.%2"/></w:lvl></w:abstractNum>` +
				`<w:abstractNum w:abstractNumId="2"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="?"/></w:lvl></w:abstractNum>` +
				`<w:num w:numId="7"><w:abstractNumId w:val="1"/></w:num><w:num w:numId="8"><w:abstractNumId w:val="2"/></w:num></w:numbering>`},
			want: []string{"# Part IV: Steps", "> IV.1 Do it", "> IV.2 Do it", "> - A dot"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, read(t, "a.docx", word(t, tt.body, tt.others))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
