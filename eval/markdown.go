package eval

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"molar/internal/text"
)

// MarkdownMarker is the first line of [Markdown]. A comment that begins with it is one to update.
const MarkdownMarker = "<!-- molar-eval -->"

// MaxMarkdown is the maximum size of [Markdown], in bytes. A comment on GitHub may have 65,536
// characters.
const MaxMarkdown = 60_000

// The maximum lengths of texts in Markdown, in bytes before they are escaped.
const (
	maxMarkdownText = 1500
	maxMarkdownName = 200
)

// Markdown writes a report as the comment on a change, the most important first: what does not
// pass, the causes of drift, what changed since the base report if that is not nil, and changed
// answers. What has no room is counted. Texts of models, tools and cases are in code elements of
// HTML blocks and escaped: they cannot mention people, refer to issues, load a picture or end their
// element.
func Markdown(w io.Writer, r, base *Report) error {
	var b strings.Builder
	code, sign := r.ExitCode(), "✅"
	if code != ExitOK {
		sign = "❌"
	}
	fmt.Fprintf(&b, "%s\n### %s molar eval: %d of %d cases passed\n\n%s (exit code %d).\n", MarkdownMarker, sign, r.Summary.Pass, r.Summary.Cases, exitMeaning(code), code)
	var since []string
	changed := leftTapes(r)
	if base != nil {
		c := Compare(base, r)
		fmt.Fprintf(&b, "Since the base report: %d worse, %d better, %d other answers, %d other calls.\n", c.Worse, c.Better, c.OtherAnswer, c.OtherCalls)
		since, changed = changeLines(c), c.Turns
	}
	var numbers strings.Builder
	writeSummary(&numbers, r)
	for _, part := range []struct {
		title string
		open  bool
		until int // the percentage of MaxMarkdown that the text may have after this part
		items []string
	}{
		{"Not passed", true, 60, failures(r)},
		{"Drift", true, 70, causes(r)},
		{"Changed since the base report", true, 80, since},
		{"Changed answers and calls", false, 95, behaviours(changed)},
		{"Numbers", false, 98, []string{pre(numbers.String())}},
	} {
		if len(part.items) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n<details%s><summary><b>%s</b></summary>\n", map[bool]string{true: " open"}[part.open], part.title)
		for i, item := range part.items {
			if b.Len()+len(item) > MaxMarkdown*part.until/100 {
				fmt.Fprintf(&b, "<p>and %d more</p>\n", len(part.items)-i)
				break
			}
			b.WriteString(item + "\n")
		}
		b.WriteString("</details>\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// MatrixMarkdown writes a matrix as the comment on a change: text is its table for a terminal.
func MatrixMarkdown(w io.Writer, m *Matrix, text string) error {
	code := m.ExitCode()
	head := fmt.Sprintf("%s\n### molar eval: %d variants\n\n%s (exit code %d).\n\n", MarkdownMarker, len(m.Columns), exitMeaning(code), code)
	const escaped = 7 // the most bytes that one byte becomes
	_, err := io.WriteString(w, head+preformatted(text, (MaxMarkdown-len(head))/escaped)+"\n")
	return err
}

// exitMeaning describes an exit code.
func exitMeaning(code int) string {
	switch code {
	case ExitOK:
		return "All passed"
	case ExitFailed:
		return "A check or a gate failed"
	case ExitInvalid:
		return "A case is invalid, so it was not run"
	case ExitDrift:
		return "Drift: what the program does now is not what the tape has"
	case ExitInfra:
		return "A server or a model service is down"
	}
	return "No case was selected"
}

// code returns a text as an inline element.
func code(s string) string {
	return "<code>" + escape(text.Clip(oneLine(s), maxMarkdownName, "…")) + "</code>"
}

// pre returns a text of several lines as a block.
func pre(s string) string { return preformatted(s, maxMarkdownText) }

func preformatted(s string, longest int) string {
	return "<pre>" + escape(text.Clip(strings.Trim(s, "\n"), longest, "…")) + "</pre>"
}

// escape escapes a text for an HTML block. Besides what HTML needs, that is line ends, since a
// blank line ends the block, and what refers to something where Markdown or a bot reads it.
func escape(s string) string {
	var b strings.Builder
	for _, c := range Clean(s) {
		if strings.ContainsRune("&<>@#[]`~\\$\n\t", c) {
			fmt.Fprintf(&b, "&#%d;", c)
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}

// changes lists the cases whose status changed, those that no longer pass first, and the numbers
// that changed.
func changeLines(c Comparison) []string {
	rank := func(c Change) int {
		switch {
		case c.After != "" && c.After != StatusPass:
			return 0
		case c.Before != "":
			return 1
		}
		return 2 // new cases that pass
	}
	slices.SortStableFunc(c.Changes, func(a, b Change) int { return cmp.Compare(rank(a), rank(b)) })
	var items []string
	for _, change := range c.Changes {
		items = append(items, fmt.Sprintf("<p>%s: %s → %s</p>", code(change.ID), code(cmp.Or(string(change.Before), "new")), code(cmp.Or(string(change.After), "gone"))))
	}
	for _, n := range c.Metrics {
		items = append(items, "<p>"+escape(n.String())+"</p>")
	}
	return items
}

// failures lists the cases that did not pass, apart from drift, and the gates that were not reached.
func failures(r *Report) []string {
	var items []string
	for _, g := range r.Groups {
		if g.Invalid != "" {
			items = append(items, pre(groupText(g, false)))
		}
	}
	for _, status := range []Status{StatusFail, StatusFlaky, StatusInfra, StatusNotAsked} {
		for _, c := range r.Cases {
			if c.Status == status {
				items = append(items, pre(failure(&c)))
			}
		}
	}
	for _, g := range r.Gates {
		if !g.OK {
			items = append(items, pre(gateLine(g)))
		}
	}
	return items
}

// causes lists the causes of drift, each once, those of most cases first.
func causes(r *Report) []string {
	groups := slices.Clone(r.Groups)
	slices.SortStableFunc(groups, func(a, b Group) int { return len(b.Cases) - len(a.Cases) })
	var items []string
	for _, g := range groups {
		if g.Invalid == "" {
			items = append(items, pre(groupText(g, false)))
		}
	}
	return items
}

// leftTapes returns the cases that behave differently from the tape that they left.
func leftTapes(r *Report) []ChangedCase {
	var changed []ChangedCase
	for _, c := range r.Cases {
		if w := c.WhatIf; w != nil && w.Outcome != OutcomeSame {
			changed = append(changed, ChangedCase{ID: c.ID, Outcome: w.Outcome, Lines: w.Changed, Answers: w.Answers})
		}
	}
	return changed
}

// behaviours lists what each case did before and does now.
func behaviours(changed []ChangedCase) []string {
	const most = 3
	var items []string
	for _, c := range changed {
		var item strings.Builder
		fmt.Fprintf(&item, "<p>%s: %s</p>", code(c.ID), code(string(c.Outcome)))
		if c.Outcome == OutcomeOtherCalls || len(c.Answers) == 0 {
			item.WriteString(pre(strings.Join(c.Lines, "\n")))
		}
		for _, a := range c.Answers[:min(most, len(c.Answers))] {
			fmt.Fprintf(&item, "<p>turn %d, before:</p>%s<p>now:</p>%s", a.Turn, pre(a.Was), pre(a.Now))
		}
		if more := len(c.Answers) - most; more > 0 {
			fmt.Fprintf(&item, "<p>and %d more answers</p>", more)
		}
		items = append(items, item.String())
	}
	return items
}
