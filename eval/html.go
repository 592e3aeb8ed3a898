package eval

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"
)

//go:embed report.css
var pageStyle string

//go:embed report.js
var pageScript string

// HTML writes a report as one self-contained file. Style and script are inline, and the page's
// content security policy lets nothing else load or run.
func HTML(w io.Writer, r *Report) error {
	var page pageWriter
	page.report(newPage(r))
	_, err := io.WriteString(w, page.b.String())
	return err
}

// A page is a report as its page shows it.
type page struct {
	*Report
	frame
	Bars []bar
}

// A frame is what all pages have: the head, and the cases with their filter.
type frame struct {
	Policy string
	Title  string
	Parts  []part
	Tags   []tagCount
	Views  []caseView
}

// newFrame returns the frame of a page with results of these statuses.
func newFrame(title string, s Summary) frame {
	return frame{
		Policy: fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; form-action 'none'", hash(pageStyle), hash(pageScript)),
		Title:  title,
		Parts:  s.parts(),
	}
}

// A bar is a non-empty part with its start in the row of all cases.
type bar struct {
	part
	From int
}

type tagCount struct {
	Tag string
	N   int
	Key string // the tag among those of a case, or a short name of it
}

func newPage(r *Report) *page {
	p := &page{Report: r, frame: newFrame(fmt.Sprintf("%d of %d cases passed", r.Summary.Pass, r.Summary.Cases), r.Summary)}
	from := 0
	for _, part := range p.Parts {
		if part.N() > 0 {
			p.Bars = append(p.Bars, bar{part, from})
			from += part.N()
		}
	}
	example := make(map[string]bool) // only the first case of each cause is shown open
	for _, g := range r.Groups {
		for i, id := range g.Cases {
			example[id] = i == 0
		}
	}
	at := make(map[string]int)
	for i := range r.Cases {
		c := &r.Cases[i]
		v := viewOf(c, duration(r, c.ID))
		if first, grouped := example[c.ID]; grouped {
			v.Open = first
		}
		p.Views = append(p.Views, v)
		for _, tag := range c.Tags {
			if _, known := at[tag]; !known {
				at[tag] = len(p.Tags)
				p.Tags = append(p.Tags, tagCount{Tag: tag, Key: tag})
			}
			p.Tags[at[tag]].N++
		}
	}
	// Cases that did not pass come first.
	passed := func(v caseView) int { return map[bool]int{true: 1}[v.Status == StatusPass] }
	slices.SortStableFunc(p.Views, func(a, b caseView) int { return passed(a) - passed(b) })
	return p
}

// hash returns the CSP source expression that allows an inline text.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func percent(f *float64) string {
	if f == nil {
		return "–"
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", *f*100), ".0") + "\u00a0%"
}
