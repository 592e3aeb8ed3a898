package eval

import (
	"fmt"
	"html"
	"strings"

	"molar/eval/match"
)

// markup is HTML of our own. Only constants convert to it by themselves, so that no text of a case, tool or
// model is taken for it.
type markup string

// A pageWriter builds a page. It stands in for html/template, which calls methods by names that are known only when
// it runs: then the linker keeps every method of every library, a sixth of the program.
type pageWriter struct{ b strings.Builder }

// put appends markup with the arguments in place of its verbs. Whatever is not markup is escaped, for text
// and for values of attributes in double quotes.
func (w *pageWriter) put(form markup, args ...any) {
	for i, a := range args {
		if _, own := a.(markup); !own {
			args[i] = html.EscapeString(fmt.Sprint(a))
		}
	}
	fmt.Fprintf(&w.b, string(form), args...)
}

// some puts the form with the text in it, unless the text is empty.
func (w *pageWriter) some(form markup, text string) {
	if text != "" {
		w.put(form, text)
	}
}

// report puts the page of a report.
func (w *pageWriter) report(p *page) {
	w.head(p.frame)
	w.put(`<p class="soft">%s`, p.Run.Mode)
	w.some(" · %s", p.Run.Started)
	if p.Run.TookMS != 0 {
		w.put(" · %s", fmt.Sprintf("%.2f s", p.Run.TookMS/1000))
	}
	w.some(" · molar %s", p.Run.Host)
	w.put("</p>\n</div>\n%s</div>\n", themeButton)
	w.put(`<svg class="bar" role="img" aria-label="%s" width="100%%" height="12" preserveAspectRatio="none" viewBox="0 0 %v 12">`, p.Title, p.Summary.Cases)
	for _, bar := range p.Bars {
		w.put(`<rect class="%s" x="%v" y="0" width="%v" height="12" fill="currentColor"/>`, bar.Status, bar.From, bar.N())
	}
	w.put("</svg>\n<p>Pass rate <b>%s</b>", percent(p.Metrics.Cases.Value))
	if p.Live() {
		w.put(` <span class="soft">95 %%: %s to %s</span>`, percent(p.Metrics.Cases.Low), percent(p.Metrics.Cases.High))
	}
	w.put("</p>\n")
	w.groups(p.Groups)
	w.put(`<div class="cards">`)
	if s := p.WhatIf; s != nil {
		w.put(`<section class="card"><h2>Compared with the tapes</h2>
<table><tr><th>same calls and answer</th><td>%v</td></tr><tr><th>same calls, other answer</th><td>%v</td></tr><tr><th>other calls</th><td>%v</td></tr></table>
<p class="note">Runs that left their tapes: %v.</p></section>`, s.Same, s.OtherAnswer, s.OtherCalls, s.Left)
	}
	w.metrics(&p.Metrics)
	w.gates(p.Gates)
	w.put("</div>\n")
	w.cases(p.frame)
}

// groups puts the causes of drift and of invalid cases.
func (w *pageWriter) groups(groups []Group) {
	if len(groups) == 0 {
		return
	}
	w.put(`<section class="causes"><h2>Why cases drifted or are invalid</h2>`)
	for _, g := range groups {
		noun := "cases"
		if len(g.Cases) == 1 {
			noun = "case"
		}
		w.put("\n<details class=\"group\"><summary><b>%v</b> %s: %s", len(g.Cases), noun, Clean(g.Invalid))
		for i, c := range g.Causes {
			if i > 0 {
				w.put(", ")
			}
			w.put("<b>%s</b> %s", c.Class, Clean(c.Where))
		}
		w.put(` <span class="soft">%s</span></summary>`, Clean(listIDs(g.Cases)))
		for _, c := range g.Causes {
			w.put("\n<div class=\"trace\"><div><div>on the tape")
			w.some(" · %s", c.Rule)
			w.put(`</div><div>now</div></div><div>`)
			w.sides(compare(c.Was, c.Now))
			w.put(`</div></div>`)
		}
		w.put("\n</details>")
	}
	w.put("</section>\n")
}

// metrics puts the cards of the metrics.
func (w *pageWriter) metrics(m *Metrics) {
	w.put(`
<section class="card"><h2>Calls</h2>
<table>
<tr><th></th><th>precision</th><th>recall</th><th>F1</th></tr>`)
	for _, row := range []struct {
		name string
		PRF
	}{{"names", m.Name}, {"calls", m.Call}, {"arguments", m.Args}} {
		w.put("\n<tr><th>%s</th><td>%s</td><td>%s</td><td><b>%s</b></td></tr>", row.name, Number(row.Precision), Number(row.Recall), Number(row.F1))
	}
	w.put(`
<tr><th>trajectory</th><td colspan="3">%s</td></tr>
</table></section>
<section class="card"><h2>Call or no call</h2>`, Number(m.Trajectory))
	c := m.CallMatrix
	w.matrix("called", "did not", "should call", "should not", [4]int{c.Called, c.Missed, c.Wrong, c.Abstained})
	w.put("\n<p class=\"note\">Turns whose calls are judged.</p></section>")
	if g := m.Guardrail; g.Unsafe.Total+g.OverBlock.Total > 0 {
		w.put("\n<section class=\"card\"><h2>Guardrail</h2>")
		w.matrix("passed", "refused", "should pass", "should refuse", [4]int{g.PassPass, g.PassRefuse, g.RefusePass, g.RefuseRefuse})
		w.put("\n<p class=\"note\">Let through wrongly %s, refused wrongly %s.</p></section>", percent(g.Unsafe.Value), percent(g.OverBlock.Value))
	}
	w.put(`
<section class="card"><h2>Cost</h2>
<table>
<tr><th>model calls</th><td>%v</td></tr><tr><th>for each turn</th><td>%s</td></tr>
<tr><th>tool calls</th><td>%v</td></tr><tr><th>tokens</th><td>%v</td></tr>
</table></section>`, m.ModelCalls, Number(m.PerTurn), m.ToolCalls, m.Tokens)
	if len(m.PassAt) > 0 {
		w.put("\n<section class=\"card\"><h2>Several trials</h2>\n<table><tr><th>k</th><th>pass@k</th><th>pass^k</th></tr>")
		for i := range m.PassAt {
			w.put("\n<tr><th>%v</th><td>%s</td><td>%s</td></tr>", i+1, Number(&m.PassAt[i]), Number(&m.PassAll[i]))
		}
		w.put("\n</table><p class=\"note\">One of k trials passes; all k pass.</p></section>")
	}
}

// matrix puts four counts: what should be, by what was.
func (w *pageWriter) matrix(did, didNot, should, shouldNot markup, n [4]int) {
	w.put("\n<div class=\"matrix\"><span></span><span>%s</span><span>%s</span>", did, didNot)
	for i, row := range []markup{should, shouldNot} {
		w.put("\n<span>%s</span>", row)
		for k, n := range n[2*i : 2*i+2] {
			class := markup("bad")
			if i == k {
				class = "good"
			}
			w.put(`<b class="%s" data-n="%v">%v</b>`, class, n, n)
		}
	}
	w.put("</div>")
}

// gates puts the least values of metrics.
func (w *pageWriter) gates(gates []Gate) {
	if len(gates) == 0 {
		return
	}
	w.put("\n<section class=\"card\"><h2>Gates</h2>\n<table>")
	for _, g := range gates {
		class := markup("fail")
		if g.OK {
			class = "pass"
		}
		w.put(`<tr><th>%s ≥ %v</th><td class="%s"><b>%s</b></td></tr>`, g.Metric, g.Least, class, Number(g.Value))
	}
	w.put("</table></section>")
}

// now and was put one of two compared texts, with marks where they differ.
func (w *pageWriter) now(pieces []match.Piece) { w.side(pieces, match.Piece.InNow, "<mark>%s</mark>") }

func (w *pageWriter) was(pieces []match.Piece) {
	w.side(pieces, match.Piece.InWas, `<mark class="was">%s</mark>`)
}

func (w *pageWriter) side(pieces []match.Piece, has func(match.Piece) bool, differing markup) {
	for _, p := range pieces {
		switch {
		case !has(p):
		case p.Differs():
			w.put(differing, p.Text)
		default:
			w.put("%s", p.Text)
		}
	}
}

// sides puts two compared texts beside each other.
func (w *pageWriter) sides(pieces []match.Piece) {
	w.put("<div><code>")
	w.was(pieces)
	w.put("</code></div><div><code>")
	w.now(pieces)
	w.put("</code></div>")
}
