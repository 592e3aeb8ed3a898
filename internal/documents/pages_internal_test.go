package documents

import (
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
