package eval

import "molar/eval/tape"

const themeButton markup = `<button type="button" id="theme" class="theme">light or dark</button>` + "\n"

// head puts what stands before the parts of a page: its last element is open and holds the title.
func (w *pageWriter) head(f frame) {
	w.put(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s</title>
<style>%s</style>
</head>
<body>
<main>
<div class="top">
<div>
<h1>%s</h1>
`, f.Policy, f.Title, markup(pageStyle), f.Title)
}

// cases puts the filter, all cases and the end of the page.
func (w *pageWriter) cases(f frame) {
	w.put(`<div class="filter" role="search">
<input id="find" type="search" placeholder="Find in cases, calls, answers …  ( / )" aria-label="Find a case">
<button type="button" id="fold">open or close all</button>
<span class="gap"></span>
`)
	for _, p := range f.Parts {
		if p.N() > 0 {
			w.put(`<button type="button" class="%s" data-key="status" data-value="%s" aria-pressed="false">%s <b>%v</b></button>`, p.Status, p.Status, p.Word, p.N())
		}
	}
	for _, t := range f.Tags {
		w.put(`<button type="button" data-key="tag" data-value="%s" aria-pressed="false">%s <b>%v</b></button>`, t.Key, Clean(t.Tag), t.N)
	}
	w.put("\n<span id=\"count\" class=\"soft\" aria-live=\"polite\"></span>\n</div>\n")
	for i := range f.Views {
		w.oneCase(&f.Views[i])
	}
	w.put(`<p id="none" class="empty" hidden>No case fits.</p>
</main>
<script>%s</script>
</body>
</html>`, markup(pageScript))
}

func (w *pageWriter) oneCase(c *caseView) {
	open := markup("")
	if c.Open {
		open = " open"
	}
	w.put(`<details class="case" id="%s" data-status="%s" data-tags="%s"%s>
<summary><span class="pill %s">%s</span> <b>%s</b> <span class="why">%s</span>`,
		c.Anchor, c.Status, Clean(c.Tagged), open, c.Status, mark(c.Status), Clean(c.ID), Clean(c.Why))
	w.some(` <span class="soft">%s</span>`, c.Outcomes)
	w.put(" ")
	for _, tag := range c.Tags {
		w.put(`<span class="tag">%s</span> `, Clean(tag))
	}
	w.put("<span class=\"soft mono\">%s</span></summary>\n<div>\n<p class=\"meta mono\">%s:%v", c.Took, Clean(c.File), c.Line)
	if len(c.Trials) > 0 {
		w.put(" · trials: ")
		for _, s := range c.Trials {
			w.put(`<span class="%s">%s</span> `, s, s)
		}
	}
	w.put("</p>\n")
	for _, note := range c.Notes {
		w.put("<p class=\"notes\">%s</p>\n", Clean(note))
	}
	if c.Why != "" && c.Status != StatusPass && len(c.Drift)+len(c.Turns) == 0 {
		w.put("<p class=\"failed\">%s%s</p>\n", firstCause, Clean(c.Why))
	}
	for _, check := range c.UnmatchedChecks {
		w.put("<p class=\"failed\">turn %v, %s: %s</p>\n", check.Turn, check.Name, Clean(check.Text))
	}
	w.drifts(c.Drift, c.Follows)
	w.whatIf(c.WhatIf)
	for i := range c.Turns {
		w.turn(&c.Turns[i])
	}
	w.put("</div>\n</details>\n")
}

const (
	firstCause markup = `<span class="cause">first cause</span>`
	// traceHead opens a table of two columns with their names.
	traceHead markup = `<div class="trace">` + "\n<div><div>%s</div><div>%s</div></div>\n"
)

// drifts puts the first divergence from the tape and what it caused.
func (w *pageWriter) drifts(first, follows []tape.Drift) {
	if len(first)+len(follows) == 0 {
		return
	}
	w.put(traceHead, "on the tape", "now")
	for _, d := range first {
		w.put(`<div class="drifted differs"><div class="wide">%s`, firstCause)
		w.drift(&d)
		w.put("</div>\n")
		w.sides(compare(d.Want, d.Got))
		w.put("</div>\n")
	}
	for _, d := range follows {
		w.put(`<div class="drift-later"><div class="wide follows">`)
		w.drift(&d)
		w.put(" · follows</div>\n")
		if d.Want != "" && d.Class != tape.Unconsumed {
			w.sides(compare(d.Want, d.Got))
		}
		w.put("</div>\n")
	}
	w.put("</div>\n")
}

func (w *pageWriter) drift(d *tape.Drift) {
	w.put("<b>%s</b> · turn %v · %s · tape line %v", d.Class, d.Turn, Clean(d.Where), d.Line)
	w.some(" · %s", d.Rule)
	w.some(" (%s)", d.Tier)
}

// whatIf puts what a model did otherwise than on the tape.
func (w *pageWriter) whatIf(x *WhatIf) {
	if x == nil {
		return
	}
	if len(x.Changed) > 0 {
		w.put(traceHead, "on the tape", "now")
		for _, c := range changesOf(x.Changed) {
			if c.Turn != "" {
				w.put(`<div><div class="wide">%s</div></div>`, c.Turn)
				continue
			}
			w.put(`<div class="differs">`)
			w.sides(c.Pieces)
			w.put("</div>")
		}
		w.put("\n</div>\n")
	}
	if len(x.Answers) > 0 {
		w.put(traceHead, "answer on the tape", "answer now")
		for _, a := range x.Answers {
			pieces := compare(a.Was, a.Now)
			if len(pieces) == 0 {
				continue
			}
			w.put(`<div><div class="answer">`)
			w.was(pieces)
			w.put(`</div><div class="answer">`)
			w.now(pieces)
			w.put("</div></div>")
		}
		w.put("\n</div>\n")
	}
}

func (w *pageWriter) turn(t *turnView) {
	w.put("<div class=\"turn\">\n<div class=\"user\">%s</div>\n", Clean(t.User))
	if len(t.Rows) > 0 {
		w.put(traceHead, "expected", "made")
		for i := range t.Rows {
			w.row(&t.Rows[i])
		}
		w.put("</div>\n")
	}
	for i, check := range t.Failed {
		cause := markup("")
		if t.Cause && i == 0 {
			cause = firstCause
		}
		w.put("<p class=\"failed\">%s<b>%s</b>: %s</p>\n", cause, check.Name, Clean(check.Text))
	}
	if len(t.Failed) == 0 {
		w.some("<p class=\"notes\">%s</p>\n", Clean(t.Error))
	}
	w.some("<div class=\"answer\">%s</div>\n", Clean(t.Answer))
	for _, v := range t.Verdicts {
		w.put("<p class=\"notes\">%s</p>\n", Clean(v))
	}
	w.put(`<div class="facts">`)
	w.some("<span>guardrail: %s</span>", t.Guardrail)
	w.put("<span>model calls: %v</span>", t.ModelCalls)
	if t.Tokens != 0 {
		w.put("<span>tokens: %v</span>", t.Tokens)
	}
	if t.Passed != 0 {
		w.put(`<span class="pass">checks that hold: %v</span>`, t.Passed)
	}
	w.put("</div>\n</div>\n")
}

// row puts an expected call beside the one that was made.
func (w *pageWriter) row(r *rowView) {
	w.put("<div class=\"%s\">\n<div>", r.Kind)
	if r.Cause {
		w.put("%s", firstCause)
	}
	switch r.Kind {
	case "extra":
		w.put(`<span class="none">no call</span>`)
	case "plain":
		w.put(`<span class="none">not judged</span>`)
	default:
		w.call(r.Expected)
	}
	w.put("</div>\n<div>")
	if r.Kind == "missing" {
		w.put(`<span class="none">not called</span>`)
	} else {
		w.call(r.Made)
		w.some("<details><summary>result</summary><code>%s</code></details>", r.Output)
		if r.IsError {
			w.put(`<span class="flaky">the tool reported a fault</span>`)
		}
	}
	w.put("</div>\n")
	if len(r.Faults) > 0 {
		w.put(`<div class="wide">`)
		for _, f := range r.Faults {
			at := Clean(f.Pointer)
			if at == "" {
				at = "call"
			}
			w.put(`<div class="mono">%s: `, at)
			if pieces := compare(f.Want, f.Got); len(pieces) > 0 {
				w.was(pieces)
				w.put(" → ")
				w.now(pieces)
			}
			w.put("</div>")
		}
		w.put("</div>\n")
	}
	w.put("</div>")
}

func (w *pageWriter) call(s string) {
	c := callOf(s)
	w.put(`<span class="name">%s</span>`, c.Name)
	w.some("<br><code>%s</code>", c.Args)
}

// comparison puts the page of a matrix.
func (w *pageWriter) comparison(p *matrixPage) {
	w.head(p.frame)
	w.put(`<p class="soft">The model is asked from the first request that differs from a tape.`)
	w.some(" %s", p.Run.Started)
	w.some(" · molar %s", p.Run.Host)
	w.put("</p>\n</div>\n%s</div>\n", themeButton)
	w.put(`<div class="grid" role="region" aria-label="Cases by variants" tabindex="0"><table>
<thead><tr><th scope="col">case</th>`)
	for _, name := range p.Names {
		w.put(`<th scope="col">%s</th>`, name)
	}
	w.put("</tr></thead>\n<tbody>")
	for _, row := range p.Rows {
		w.put(`<tr><th scope="row">%s</th>`, row.ID)
		for i := range row.Cells {
			w.cell(&row.Cells[i])
		}
		w.put("</tr>\n")
	}
	w.put("</tbody>\n<tfoot>")
	for _, sum := range p.Sums {
		w.put(`<tr><th scope="row">%s</th>`, sum[0])
		for _, s := range sum[1:] {
			w.put("<td>%s</td>", s)
		}
		w.put("</tr>\n")
	}
	w.put("</tfoot>\n</table></div>\n")
	for _, gate := range p.Gates {
		w.put("<p class=\"notes\">%s</p>\n", gate)
	}
	w.cases(p.frame)
}

func (w *pageWriter) cell(c *matrixCell) {
	w.put(`<td><a href="#%s"><b class="%s">%s</b>`, c.Anchor, c.Status, c.Verdict)
	for _, other := range []struct {
		n    int
		what markup
	}{{c.OtherAnswer, "other answer"}, {c.OtherCalls, "other calls"}} {
		switch {
		case other.n > 1:
			w.put("<span>%s ×%v</span>", other.what, other.n)
		case other.n == 1:
			w.put("<span>%s</span>", other.what)
		}
	}
	w.put(`<span class="soft">%s</span></a></td>`, c.Used)
}
