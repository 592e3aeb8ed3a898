package documents_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReader_Workbook(t *testing.T) {
	for name, tt := range map[string]struct {
		sheets [][2]string
		others map[string]string
		want   []string
	}{
		"each row by the names of its columns": {
			sheets: [][2]string{{"Prices", rows("PRICE LIST 2026", "All taxes included.", "Code|Service|Price", "CLEANING", "A1|Scaling|300", "A2|Polishing|", "", "Code|Service|Price", "B1|Filling|500")}},
			want: []string{
				"# Prices", "1 ## PRICE LIST 2026", "2 All taxes included.", "4 ### CLEANING", "5 > Code: A1; Service: Scaling; Price: 300", "6 > Code: A2; Service: Polishing",
				"9 > Code: B1; Service: Filling; Price: 500",
			},
		},
		"sheets that are seen": {
			sheets: [][2]string{{"Sheet1", rows("Name|Age|Town", "Ann|7|Hue")}, {"Secret|hidden", rows("a|b|c", "1|2|3")}, {"More|veryHidden", rows("a")}, {"Notes", rows("Closed on Sunday.")}},
			want:   []string{"2 > Name: Ann; Age: 7; Town: Hue", "# Notes", "1 Closed on Sunday."},
		},
		"hidden rows and columns": {
			sheets: [][2]string{{"A", `<cols><col min="2" max="2" hidden="1"/></cols><sheetData><row r="1"><c r="A1" t="str"><v>Service</v></c><c r="B1" t="str"><v>Cost</v></c><c r="C1" t="str"><v>Price</v></c></row>` +
				`<row r="2"><c r="A2" t="str"><v>Scaling</v></c><c r="B2"><v>1</v></c><c r="C2"><v>3</v></c></row><row r="3" hidden="1"><c r="A3" t="str"><v>Old</v></c><c r="C3"><v>4</v></c></row></sheetData>`}},
			want: []string{"# A", "2 > Service: Scaling; Price: 3"},
		},
		"merged cells": {
			sheets: [][2]string{{"A", rows("All our prices||", "Kind|Price|", "Kind|Adult|Child", "Teeth|3|2", "|5|4", "Gums|7|6") +
				`<mergeCells><mergeCell ref="A1:C1"/><mergeCell ref="B2:C2"/><mergeCell ref="A4:A5"/></mergeCells>`}},
			want: []string{
				"# A", "1 ## All our prices", "4 > Kind: Teeth; Price - Adult: 3; Price - Child: 2", "5 > Kind: Teeth; Price - Adult: 5; Price - Child: 4",
				"6 > Kind: Gums; Price - Adult: 7; Price - Child: 6",
			},
		},
		"a second table below": {
			sheets: [][2]string{{"A", rows("Service|Price|Note", "Scaling|3|x", "", "Discounts", "Who|Share|When", "Children|10|always")}},
			want:   []string{"# A", "2 > Service: Scaling; Price: 3; Note: x", "4 ### Discounts", "6 > Who: Children; Share: 10; When: always"},
		},
		"names and values": {
			sheets: [][2]string{{"A", rows("Clinic|Morning Star", "Town|Hue")}},
			want:   []string{"# A", "1 > Clinic: Morning Star", "2 > Town: Hue"},
		},
		"texts that cells share, and values of formulas": {
			sheets: [][2]string{{"A", `<sheetData><row><c t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="s"><v>9</v></c></row><row><c><f>1+1</f><v>2</v></c><c t="b"><v>1</v></c><c t="e"><v>#REF!</v></c></row></sheetData>`}},
			others: map[string]string{"xl/sharedStrings.xml": `<sst><si><t>Sum</t></si><si><r><t>Is</t></r><r><t> it</t></r><rPh><t>no</t></rPh></si></sst>`},
			want:   []string{"# A", "1 > Sum: Is it", "2 > 2: TRUE"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, read(t, "a.xlsx", workbook(t, tt.sheets, tt.others))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A number is read as a person sees it.
func TestReader_Workbook_formats(t *testing.T) {
	for _, tt := range []struct{ format, value, want, vietnamese string }{
		{"General", "300000", "300000", "300000"},
		{"General", "0.1", "0.1", "0,1"},
		{"General", "0.30000000000000004", "0.3", "0,3"},
		{"0", "2.5", "2", "2"},
		{"#,##0", "1250000", "1,250,000", "1.250.000"},
		{"#,##0.00", "1234.5", "1,234.50", "1.234,50"},
		{`#,##0\ "đ"`, "300000", "300,000 đ", "300.000 đ"},
		{`#,##0\ [$₫-42A]`, "999", "999 ₫", "999 ₫"},
		{"#,##0,", "1234567", "1,235", "1.235"},
		{"0%", "0.15", "15%", "15%"},
		{"0.0%", "0.125", "12.5%", "12,5%"},
		{"0.##", "7", "7", "7"},
		{"000", "7", "007", "007"},
		{`#,##0;[Red]-#,##0`, "-1500", "-1,500", "-1.500"},
		{`#,##0_);(#,##0)`, "-1500", "(1,500)", "(1.500)"},
		{`0;-0;"none"`, "0", "none", "none"},
		{"0", "-0.1", "0", "0"},
		{"dd/mm/yyyy", "46235", "01/08/2026", "01/08/2026"},
		{`d"."m"."yy`, "46235", "1.8.26", "1.8.26"},
		{"yyyy-mm-dd hh:mm", "46235.75", "2026-08-01 18:00", "2026-08-01 18:00"},
		{"h:mm AM/PM", "0.5625", "1:30 PM", "1:30 PM"},
		{"h:mm", "0.34375", "8:15", "8:15"},
		{"[h]:mm", "1.5", "36:00", "36:00"},
		{"dddd, mmmm d", "46235", "Saturday, August 1", "Saturday, August 1"},
		{"dd/mm/yyyy", "1", "01/01/1900", "01/01/1900"},
		{"dd/mm/yyyy", "-5", "-5", "-5"},
		{"0.00E+00", "1200", "1200", "1200"},
		{"@", "12", "12", "12"},
		{"", "no number", "no number", "no number"},
		{`0"` + strings.Repeat("đ", 252) + `"`, "7", "7" + strings.Repeat("đ", 252), "7" + strings.Repeat("đ", 252)},
		{`0"` + strings.Repeat("x", 253) + `"`, "7", "7", "7"}, // too long a format for Excel
	} {
		for shared, want := range map[string]string{"Plain": tt.want, "Giá từ": tt.vietnamese} {
			format := strings.NewReplacer(`"`, "&quot;").Replace(tt.format)
			data := workbook(t, [][2]string{{"Sheet1", fmt.Sprintf(`<sheetData><row><c s="1"><v>%s</v></c></row></sheetData>`, tt.value)}}, map[string]string{
				"xl/styles.xml":        `<styleSheet><numFmts><numFmt numFmtId="170" formatCode="` + format + `"/></numFmts><fonts><font/></fonts><cellXfs><xf numFmtId="0"/><xf numFmtId="170"/></cellXfs></styleSheet>`,
				"xl/sharedStrings.xml": `<sst><si><t>` + shared + `</t></si></sst>`,
			})
			if got := read(t, "a.xlsx", data); len(got) != 1 || got[0] != "1 "+want {
				t.Errorf("%s of %s in %s: got %q, want %q", tt.format, tt.value, shared, got, want)
			}
		}
	}
}

// The days of 1904 begin later.
func TestReader_Workbook_since1904(t *testing.T) {
	data := workbook(t, [][2]string{{"Sheet1", `<sheetData><row><c s="0"><v>44773</v></c></row></sheetData>`}}, map[string]string{
		"xl/workbook.xml": `<workbook xmlns:r="r"><workbookPr date1904="1"/><sheets><sheet name="Sheet1" r:id="s0"/></sheets></workbook>`,
		"xl/styles.xml":   `<styleSheet><cellXfs><xf numFmtId="14"/></cellXfs></styleSheet>`,
	})
	if got := read(t, "a.xlsx", data); got[0] != "1 2026-08-01" {
		t.Errorf("got %q", got)
	}
}
