package eval

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"molar/eval/match"
	"molar/eval/tape"
	"molar/internal/text"
)

// JSON writes a report, or another result, with stable keys and order.
func JSON[T any](w io.Writer, outcome T) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(outcome)
}

// Text writes one line for each case, then the failures, each cause of drift once, then the
// totals. If full is set, differences are not cut. Control characters from tools and models are
// removed.
func Text(w io.Writer, r *Report, full bool) error {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, c := range r.Cases {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s", mark(c.Status), Clean(oneLine(c.ID)), strings.Join(c.Tags, ","), duration(r, c.ID))
		if o := outcomes(&c); o != "" {
			_, _ = fmt.Fprintf(table, "\t%s", o)
		}
		_, _ = fmt.Fprintln(table)
	}
	_ = table.Flush() // a strings.Builder never fails
	for _, g := range r.Groups {
		if len(g.Cases) > 1 || full {
			b.WriteString("\n" + groupText(g, full))
		}
	}
	grouped := groupSizes(r)
	for _, c := range r.Cases {
		switch {
		case c.Status != StatusPass && grouped[c.ID] <= 1:
			b.WriteString("\n" + failure(&c))
		case c.Status == StatusPass && (verdictTexts(&c) != "" || c.WhatIf != nil && c.WhatIf.Outcome != OutcomeSame):
			fmt.Fprintf(&b, "\n%s %s\n%s%s", mark(c.Status), oneLine(c.ID), verdictTexts(&c), whatIfText(&c))
		}
		for _, note := range c.Notes {
			fmt.Fprintf(&b, "note: %s: %s\n", c.ID, note)
		}
	}
	b.WriteString("\n")
	writeSummary(&b, r)
	if r.Summary.Drift > 0 {
		b.WriteString("what a model answers now: molar eval run --from-drift=live; to make the change the tape: molar eval accept\n")
	}
	_, err := io.WriteString(w, Clean(b.String()))
	return err
}

// groupSizes returns the number of cases in the group of each case.
func groupSizes(r *Report) map[string]int {
	of := make(map[string]int)
	for _, g := range r.Groups {
		for _, id := range g.Cases {
			of[id] = len(g.Cases)
		}
	}
	return of
}

// groupText describes a cause and its cases; full shows the texts uncut.
func groupText(g Group, full bool) string {
	var causes []tape.Drift
	for _, c := range g.Causes {
		if full {
			c.Want, c.Got = c.Was, c.Now
		}
		causes = append(causes, c.Drift)
	}
	what := fmt.Sprintf("%d cases, one cause", len(g.Cases))
	if len(g.Cases) == 1 {
		what = "1 case"
	}
	if g.Invalid != "" {
		return fmt.Sprintf("%s %s: %s\n  %s\n", mark(StatusInvalid), what, listIDs(g.Cases), g.Invalid)
	}
	return fmt.Sprintf("%s %s: %s\n%s", mark(StatusDrift), what, listIDs(g.Cases), Causes(causes))
}

// listIDs lists the first ids, and the number of the others.
func listIDs(ids []string) string {
	const most = 5
	if len(ids) <= most {
		return oneLine(strings.Join(ids, ", "))
	}
	return oneLine(fmt.Sprintf("%s and %d more", strings.Join(ids[:most], ", "), len(ids)-most))
}

// ReportedChange describes how a tool changed, and what that means for its callers.
func ReportedChange(d tape.Drift) string {
	return fmt.Sprintf("%s: %s, %s\n%s", d.Where, d.Rule, d.Tier, marked(oneLine(d.Want), oneLine(d.Got)))
}

// Causes describes the first drifts, with the differences marked.
func Causes(drifts []tape.Drift) string {
	var b strings.Builder
	for _, d := range drifts {
		fmt.Fprintf(&b, "  drift %s (cause), turn %d, tape line %d, %s\n", d.Class, max(d.Turn, 1), d.Line, d.Where)
		b.WriteString(marked(oneLine(d.Want), oneLine(d.Got)))
		if d.Rule != "" {
			fmt.Fprintf(&b, "    rule: %s, %s\n", d.Rule, d.Tier)
		}
	}
	return b.String()
}

// marked shows two texts as one with [-removed-] and {+added+} words. If they share less than
// half, it shows one below the other.
func marked(was, now string) string {
	pieces := match.Words(was, now)
	shared := 0
	var b strings.Builder
	for _, p := range pieces {
		switch p.Kind {
		case match.Was:
			b.WriteString("[-" + p.Text + "-]")
		case match.Now:
			b.WriteString("{+" + p.Text + "+}")
		default:
			b.WriteString(p.Text)
			shared += len(p.Text)
		}
	}
	if 2*shared < min(len(was), len(now)) {
		return fmt.Sprintf("    tape: %s\n    now:  %s\n", was, now)
	}
	return "    " + b.String() + "\n"
}

func mark(s Status) string {
	switch s {
	case StatusPass:
		return "ok"
	case StatusNotAsked:
		return "not asked again"
	}
	return strings.ToUpper(string(s))
}

// outcomes describes how the runs of a case compare with its tape: each outcome with its count,
// or "" if no run left the tape.
func outcomes(c *CaseResult) string {
	all := c.Outcomes
	if len(all) == 0 && c.WhatIf != nil {
		all = []Outcome{c.WhatIf.Outcome}
	}
	var parts []string
	for _, o := range []Outcome{OutcomeSame, OutcomeOtherAnswer, OutcomeOtherCalls} {
		n := 0
		for _, have := range all {
			if have == o {
				n++
			}
		}
		switch {
		case n > 0 && len(all) == 1:
			parts = append(parts, string(o))
		case n > 0:
			parts = append(parts, fmt.Sprintf("%d × %s", n, o))
		}
	}
	return strings.Join(parts, "; ")
}

// whatIfText describes how a run that left its tape differs from it, with both answers of each
// turn whose answer differs. It is "" for a run that did not leave its tape.
func whatIfText(c *CaseResult) string {
	w := c.WhatIf
	if w == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  %s\n", w.Outcome)
	for _, line := range w.Changed {
		b.WriteString("  " + oneLine(line) + "\n")
	}
	b.WriteString(answers(w.Answers))
	return b.String()
}

// answers shows both answers of turns, one below the other.
func answers(pairs []AnswerPair) string {
	const longest = 2000
	var b strings.Builder
	for _, p := range pairs {
		before, now := oneLine(p.Was), oneLine(p.Now)
		if max(len(before), len(now)) > longest {
			before, now = match.Excerpt(match.Words(before, now))
		}
		fmt.Fprintf(&b, "  turn %d, the answers\n    tape: %s\n    now:  %s\n", p.Turn, cmp.Or(before, "(nothing)"), cmp.Or(now, "(nothing)"))
	}
	return b.String()
}

func duration(r *Report, id string) string {
	if ms, ok := r.Run.CaseMS[id]; ok {
		return fmt.Sprintf("%.0f ms", ms)
	}
	return ""
}

// failure describes what went wrong in a case: the failed checks, the aligned trace of each turn
// with a fault, and the drift with its cause first.
func failure(c *CaseResult) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s (%s:%d)\n", mark(c.Status), oneLine(c.ID), c.File, c.Line)
	if c.Why != "" && (len(c.Checks) == 0 && len(c.Drift) == 0 || c.Status == StatusNotAsked && verdictTexts(c) == "") {
		fmt.Fprintf(&b, "  %s\n", c.Why)
	}
	for _, check := range c.Checks {
		if !check.OK && check.Verdict == nil && c.Status != StatusDrift && c.Status != StatusNotAsked {
			fmt.Fprintf(&b, "  turn %d, %s: %s\n", check.Turn, check.Name, oneLine(check.Text))
		}
	}
	b.WriteString(verdictTexts(c))
	cause := len(c.Drift) == 0 // the first cause is not marked yet
	for i, t := range c.Turns {
		if faulty(t) && c.Status != StatusDrift && c.Status != StatusNotAsked {
			writeTrace(&b, i+1, t, &cause)
		}
	}
	b.WriteString(whatIfText(c))
	b.WriteString(Causes(c.Drift))
	const most = 3
	for _, d := range c.Follows[:min(most, len(c.Follows))] {
		fmt.Fprintf(&b, "  follows: %s, turn %d, tape line %d, %s\n", d.Class, max(d.Turn, 1), d.Line, d.Where)
	}
	if more := len(c.Follows) - most; more > 0 {
		fmt.Fprintf(&b, "  and %d more follow\n", more)
	}
	return b.String()
}

func faulty(t TurnResult) bool {
	return slices.ContainsFunc(t.Trace, faultyRow)
}

// writeTrace writes the expected and the made calls of a turn side by side: = where they match, ! at
// the first difference of the case if cause is still set, ~ at the others.
func writeTrace(b *strings.Builder, turn int, t TurnResult, cause *bool) {
	const width = 46
	fmt.Fprintf(b, "  turn %d\n    %-*s   %s\n", turn, width, "expected", "made")
	for _, row := range t.Trace {
		sign := "="
		if faultyRow(row) {
			sign = "~"
			if *cause {
				sign, *cause = "!", false
			}
		}
		fmt.Fprintf(b, "  %s %-*s | %s\n", sign, width, text.Truncate(cmp.Or(row.Expected, "(nothing)"), width), text.Truncate(cmp.Or(row.Made, "(nothing)"), 2*width))
		for _, f := range row.Faults {
			fmt.Fprintf(b, "      %s: %s → %s\n", cmp.Or(f.Pointer, "call"), faultText(f.Want), faultText(f.Got))
		}
	}
}

func faultText(s string) string { return text.Truncate(oneLine(s), 200) }

func oneLine(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\n", "⏎"), "\r", "")
}

func writeSummary(b *strings.Builder, r *Report) {
	writeNumbers(b, r)
	for _, g := range r.Gates {
		b.WriteString(gateLine(g))
	}
}

func writeNumbers(b *strings.Builder, r *Report) {
	s, m := r.Summary, r.Metrics
	fmt.Fprintf(b, "%s: %d passed", text.Counted(s.Cases, "case"), s.Pass)
	for _, part := range s.parts()[1:] {
		if part.N() > 0 {
			fmt.Fprintf(b, ", %d %s", part.N(), part.Word)
		}
		if part.Status == StatusInfra && part.N() > 0 {
			b.WriteString(": infrastructure")
		}
	}
	if r.Run.TookMS > 0 {
		fmt.Fprintf(b, "; %s in %.2f s", strings.Join(append([]string{r.Run.Mode}, r.Run.Models...), ", "), r.Run.TookMS/1000)
	}
	b.WriteString("\n")
	if w := r.WhatIf; w != nil {
		fmt.Fprintf(b, "%d runs left their tapes; %s; since then %d model calls, %d tokens\n", w.Left, w.Counts(), w.ModelCalls, w.Tokens)
	}
	if j := r.Judge; j != nil {
		fmt.Fprintf(b, "verdicts: %d pass, %d fail, %d none; asked now: %d, with %d model calls and %d tokens\n", j.Pass, j.Fail, j.None, j.Asked, j.Calls, j.Tokens)
	}
	if !r.Live() && s.Fail+s.Flaky == 0 { // a replay is deterministic: there is nothing to estimate
		fmt.Fprintf(b, "model calls %d, tool calls %d, tokens %d\n", m.ModelCalls, m.ToolCalls, m.Tokens)
		return
	}
	if m.Cases.Value != nil && r.Live() {
		fmt.Fprintf(b, "pass rate %s, 95 %% between %s and %s\n", Number(m.Cases.Value), Number(m.Cases.Low), Number(m.Cases.High))
	}
	for _, p := range []struct {
		name string
		prf  PRF
	}{{"names", m.Name}, {"calls", m.Call}, {"arguments", m.Args}} {
		if p.prf.Made+p.prf.Expected > 0 {
			fmt.Fprintf(b, "%s: precision %s, recall %s, F1 %s\n", p.name, Number(p.prf.Precision), Number(p.prf.Recall), Number(p.prf.F1))
		}
	}
	if m.Trajectory != nil {
		fmt.Fprintf(b, "trajectory %s\n", Number(m.Trajectory))
		fmt.Fprintf(b, "call or not: called %d, missed %d, called without need %d, abstained %d\n", m.CallMatrix.Called, m.CallMatrix.Missed, m.CallMatrix.Wrong, m.CallMatrix.Abstained)
	}
	if g := m.Guardrail; g.Unsafe.Total+g.OverBlock.Total > 0 {
		fmt.Fprintf(b, "guardrail: let through %d of %d to refuse, refused %d of %d to let through\n", g.Unsafe.Hits, g.Unsafe.Total, g.OverBlock.Hits, g.OverBlock.Total)
	}
	fmt.Fprintf(b, "model calls %d (%s a turn), tool calls %d, tokens %d\n", m.ModelCalls, Number(m.PerTurn), m.ToolCalls, m.Tokens)
	for k := range m.PassAt {
		fmt.Fprintf(b, "pass@%d %.3f, pass^%d %.3f\n", k+1, m.PassAt[k], k+1, m.PassAll[k])
	}
}

func gateLine(g Gate) string {
	verdict := "reached"
	if !g.OK {
		verdict = "NOT REACHED"
	}
	return fmt.Sprintf("gate %s at least %g: %s (%s)\n", g.Metric, g.Least, verdict, Number(g.Value))
}

// Number formats a metric; one that could not be measured is a dash.
func Number(f *float64) string {
	if f == nil {
		return "–"
	}
	return fmt.Sprintf("%.3f", *f)
}

// Clean removes control characters except line ends and tabs, so that no tool can control the
// terminal. It also removes overrides of the writing direction.
func Clean(s string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\n', c == '\t':
			return c
		case c < ' ', c >= 0x7f && c < 0xa0, c >= 0x202a && c <= 0x202e, c >= 0x2066 && c <= 0x2069:
			return -1
		}
		return c
	}, s)
}
