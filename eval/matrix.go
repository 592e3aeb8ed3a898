package eval

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"molar/internal/text"
	"molar/schemas"
)

// A Variant is a model and a prompt under which cases run; either is empty if it is that of the config.
type Variant struct {
	Name   string `json:"name"`
	Model  string `json:"model,omitempty"`
	Prompt string `json:"prompt,omitempty"`
	// Cases are the cases with the variant's provider, model and system text.
	Cases []Case `json:"-"`
}

// A Matrix has the outcome of the same cases under several variants.
type Matrix struct {
	V       int      `json:"v"`
	Columns []Column `json:"variants"`
}

// A Column is the outcome of all cases under one variant. Cells has one for each case of the report,
// in its order; Sum adds them up.
type Column struct {
	Variant
	Sum    Cell    `json:"sum"`
	Cells  []Cell  `json:"cells"`
	Report *Report `json:"report"`
}

// A Cell counts the runs of a case under a variant.
type Cell struct {
	Runs   int `json:"runs"`
	Passed int `json:"passed"`
	// Infra counts the runs that were not judged, since a service was down.
	Infra int `json:"infra,omitempty"`
	// OtherAnswer counts the runs with another answer than the tape, OtherCalls those with other calls,
	// verdicts or failures.
	OtherAnswer int `json:"other_answer"`
	OtherCalls  int `json:"other_calls"`
	Spent
	TookMS float64 `json:"took_ms"`
}

// Matrix runs the cases of each variant; each run has a store of its own. All variants have the same
// cases, in the same order.
func (r *Runner) Matrix(ctx context.Context, variants []Variant) (*Matrix, error) {
	started := time.Now()
	var all []Case
	for _, v := range variants {
		all = append(all, v.Cases...)
	}
	results, err := r.all(ctx, all)
	if err != nil {
		return nil, err
	}
	for i := range results {
		if results[i].Status != StatusDrift { // that a variant differs from the tape is its purpose
			results[i].Drift, results[i].Follows = nil, nil
		}
	}
	m := &Matrix{V: ReportVersion}
	for _, v := range variants {
		nameAll(results[:len(v.Cases)])
		c := Column{Variant: v, Report: r.report(started, results[:len(v.Cases)]), Sum: Cell{Spent: Spent{Cost: new(schemas.Cost)}}}
		results = results[len(v.Cases):]
		for i := range c.Report.Cases {
			cell := newCell(c.Report.Cases[i])
			c.Cells = append(c.Cells, cell)
			c.Sum.add(cell)
		}
		c.Report.Run.TookMS = c.Sum.TookMS
		m.Columns = append(m.Columns, c)
	}
	return m, nil
}

// Check returns an error if a matrix that was read is not whole: each variant has a report, with a cell for
// each case.
func (m *Matrix) Check() error {
	for _, c := range m.Columns {
		if c.Report == nil || len(c.Cells) != len(c.Report.Cases) || len(c.Cells) != len(m.cases()) {
			return fmt.Errorf("variant %q lacks its report, or cells of its cases", c.Name)
		}
	}
	return nil
}

func newCell(c CaseResult) Cell {
	sum := Cell{Spent: Spent{Cost: new(schemas.Cost)}}
	for _, run := range everyRun([]CaseResult{c}) {
		sum.Runs, sum.TookMS = sum.Runs+1, sum.TookMS+run.TookMS
		sum.Spent.add(run.spent)
		switch run.Status {
		case StatusPass:
			sum.Passed++
		case StatusInfra:
			sum.Infra++
		}
		if w := run.WhatIf; w != nil && len(w.Answers) > 0 {
			sum.OtherAnswer++
		}
		if w := run.WhatIf; w != nil && w.Outcome == OutcomeOtherCalls {
			sum.OtherCalls++
		}
	}
	return sum
}

func (c *Cell) add(o Cell) {
	c.Runs, c.Passed, c.Infra = c.Runs+o.Runs, c.Passed+o.Passed, c.Infra+o.Infra
	c.OtherAnswer, c.OtherCalls, c.TookMS = c.OtherAnswer+o.OtherAnswer, c.OtherCalls+o.OtherCalls, c.TookMS+o.TookMS
	c.Spent.add(o.Spent)
}

// The marks of a cell.
const (
	markAnswer = "~"
	markCalls  = "!"
	// MatrixLegend explains the marks of [Matrix.Rows].
	MatrixLegend = markAnswer + " other answer than on the tape, " + markCalls + " other calls, tape: replayed without a call, –: not known"
)

// Verdict returns whether the case passed: "pass", "FAIL", or with several runs how many passed, "2/3".
func (c Cell) Verdict(s Status) string {
	switch {
	case c.Runs > 1 && c.Infra > 0:
		return fmt.Sprintf("%d/%d infra", c.Passed, c.Runs)
	case c.Runs > 1:
		return fmt.Sprintf("%d/%d", c.Passed, c.Runs)
	case s == StatusInfra:
		return "infra"
	case s == StatusPass:
		return "pass"
	}
	return mark(s)
}

// Marks returns the marks of what differs from the tape, see [MatrixLegend].
func (c Cell) Marks() string {
	marks := ""
	if c.OtherAnswer > 0 {
		marks += markAnswer
	}
	if c.OtherCalls > 0 {
		marks += markCalls
	}
	return marks
}

// TokensText returns the tokens of the calls: "tape" if there was no call, "–" if they are not known.
func (c Cell) TokensText() string {
	switch {
	case c.ModelCalls == 0 && c.Infra == 0:
		return "tape"
	case c.Tokens == 0:
		return "–"
	}
	return strconv.Itoa(c.Tokens)
}

// CostText returns the cost of the calls, "–" if that of one is not known, or "" if there was no call.
func (c Cell) CostText() string {
	switch {
	case c.ModelCalls == 0 && c.Infra == 0:
		return ""
	case c.Cost == nil || c.Tokens == 0 && c.Infra > 0:
		return "–"
	}
	return CostText(*c.Cost)
}

// CostText returns an amount with four decimals, or six below a hundredth.
func CostText(c schemas.Cost) string {
	switch amount := c.Amount(); {
	case amount == 0:
		return "0"
	case amount < 1e-6:
		return "<0.000001"
	case amount < 0.01:
		return fmt.Sprintf("%.6f", amount)
	default:
		return fmt.Sprintf("%.4f", amount)
	}
}

// MatrixSums is the number of the last rows of [Matrix.Rows], which add up the cells.
const MatrixSums = 6

// Rows returns the table as texts, each row with its title first: the names of the variants, the titles of
// what a cell has, the cells of each case, and the sums.
func (m *Matrix) Rows() [][]string {
	rows := [][]string{{""}, {"case"}}
	for _, c := range m.cases() {
		rows = append(rows, []string{Clean(oneLine(c.ID))})
	}
	for _, sum := range []string{"passed", "other answers", "other calls", "tokens", "cost", "seconds"} {
		rows = append(rows, []string{sum})
	}
	for _, c := range m.Columns {
		s := c.Sum
		texts := slices.Concat([]string{Clean(oneLine(c.Name))}, c.texts(), []string{
			fmt.Sprintf("%d of %d", s.Passed, s.Runs), strconv.Itoa(s.OtherAnswer), strconv.Itoa(s.OtherCalls),
			s.TokensText(), s.CostText(), fmt.Sprintf("%.1f", s.TookMS/1000),
		})
		for i := range rows {
			rows[i] = append(rows[i], texts[i])
		}
	}
	return rows
}

// texts returns the titles of what a cell has, and the texts of the cells: verdict and marks, tokens and
// cost below each other.
func (c *Column) texts() []string {
	fields := [][3]string{{"result", "tokens", "cost"}}
	for i, cell := range c.Cells {
		fields = append(fields, [3]string{strings.TrimSpace(cell.Verdict(c.Report.Cases[i].Status) + " " + cell.Marks()), cell.TokensText(), cell.CostText()})
	}
	var widths [3]int
	for _, f := range fields {
		for k := range f {
			widths[k] = max(widths[k], utf8.RuneCountInString(f[k]))
		}
	}
	var texts []string
	for _, f := range fields {
		texts = append(texts, fmt.Sprintf("%-*s  %*s  %*s", widths[0], f[0], widths[1], f[1], widths[2], f[2]))
	}
	return texts
}

// cases returns the cases, as the first variant has them.
func (m *Matrix) cases() []CaseResult {
	if len(m.Columns) == 0 {
		return nil
	}
	return m.Columns[0].Report.Cases
}

// Details describes each cell that did not pass in one line; if full is set, each that did not pass or
// differs from the tape, with both answers.
func (m *Matrix) Details(full bool) string {
	var b strings.Builder
	for i := range m.cases() {
		for _, column := range m.Columns {
			c := &column.Report.Cases[i]
			switch {
			case full && c.Status != StatusPass:
				fmt.Fprintf(&b, "\n%s: %s", column.Name, failure(c))
			case full && c.WhatIf != nil && c.WhatIf.Outcome != OutcomeSame:
				fmt.Fprintf(&b, "\n%s: %s %s\n%s", column.Name, mark(c.Status), oneLine(c.ID), whatIfText(c))
			case c.Status != StatusPass:
				fmt.Fprintf(&b, "%s %s, %s: %s\n", mark(c.Status), oneLine(c.ID), column.Name, oneLine(text.Truncate(c.Why, 300)))
			}
		}
	}
	return Clean(b.String()) + strings.Join(append(m.gates(), ""), "\n")
}

// gates returns a line for each gate of each variant.
func (m *Matrix) gates() []string {
	var lines []string
	for _, c := range m.Columns {
		for _, g := range c.Report.Gates {
			lines = append(lines, Clean(c.Name+": "+strings.TrimSuffix(gateLine(g), "\n")))
		}
	}
	return lines
}

// ExitCode returns the worst exit code of the variants' reports, see [Report.ExitCode].
func (m *Matrix) ExitCode() int {
	worst := ExitOK
	for _, c := range m.Columns {
		worst = max(worst, c.Report.ExitCode()) // they are in the order of their precedence
	}
	return worst
}
