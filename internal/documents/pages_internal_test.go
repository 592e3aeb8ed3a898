package documents

import (
	"errors"
	"strings"
	"testing"
)

// FuzzPages reads what a program may print.
func FuzzPages(f *testing.F) {
	f.Add("HEADER\n\n  1. Fees\n  text   with   columns\n  and      more\n\fHEADER\n\nnext page\n\f", true)
	f.Add("# Title\n\ntext\n", false)
	f.Fuzz(func(t *testing.T, text string, isPDF bool) {
		b := &builder{}
		if err := readPages(text, isPDF, b); err != nil {
			return
		}
		last := 0
		for _, p := range b.Parts {
			if strings.TrimSpace(p.Text) == "" || p.Page < last {
				t.Errorf("part %+v after page %d", p, last)
			}
			last = p.Page
		}
	})
}

// Of many pages or lines, the first ones are read.
func TestReadPages_inPart(t *testing.T) {
	for name, text := range map[string]string{
		"pages": "first\n\f" + strings.Repeat("\f", mostPages) + "last",
		"lines": "first\n" + strings.Repeat("\n", mostLines) + "last",
	} {
		b := &builder{}
		if err := readPages(text, true, b); !errors.Is(err, errPages) || len(b.Parts) != 1 || b.Parts[0].Text != "first" {
			t.Errorf("%s: %d parts, error %v", name, len(b.Parts), err)
		}
	}
}
