package eval

import (
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"slices"

	"molar/internal/text"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr,omitempty"`
	Time       string          `xml:"time,attr"`
	Properties []junitProperty `xml:"properties>property,omitempty"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name    string      `xml:"name,attr"`
	Class   string      `xml:"classname,attr"`
	Time    string      `xml:"time,attr"`
	Skipped *junitFault `xml:"skipped"`
	Failure *junitFault `xml:"failure"`
	Error   *junitFault `xml:"error"`
	Out     string      `xml:"system-out,omitempty"`
}

type junitFault struct {
	Type    string `xml:"type,attr,omitempty"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes JUnit XML: one suite for each first tag, with the totals of its cases;
// infrastructure failures and invalid cases are errors. It uses only the elements and attributes that the
// strictest readers accept, so the file and line of a case are in the text of its failure.
func JUnit(w io.Writer, r *Report) error {
	all := junitSuites{Name: "molar eval", Time: seconds(r.Run.TookMS)}
	cases := make(map[string][]CaseResult)
	for _, c := range r.Cases {
		name := "untagged"
		if len(c.Tags) > 0 {
			name = c.Tags[0]
		}
		cases[name] = append(cases[name], c)
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		all.add(name, newReport(cases[name]), func(i int) float64 { return r.Run.CaseMS[cases[name][i].ID] })
	}
	return all.write(w)
}

// MatrixJUnit writes JUnit XML with one suite for each variant, like [JUnit].
func MatrixJUnit(w io.Writer, m *Matrix) error {
	all := junitSuites{Name: "molar eval"}
	took := 0.0
	for _, column := range m.Columns {
		all.add(Clean(column.Name), column.Report, func(i int) float64 { return column.Cells[i].TookMS })
		took += column.Sum.TookMS
	}
	all.Time = seconds(took)
	return all.write(w)
}

// add adds a suite of the cases of a report, of which the i-th took so many milliseconds.
func (all *junitSuites) add(name string, r *Report, took func(i int) float64) {
	s := junitSuite{Name: name, Properties: properties(r)}
	sum := 0.0
	for i, c := range r.Cases {
		s.add(c, took(i))
		sum += took(i)
	}
	s.Time = seconds(sum)
	all.Tests, all.Failures, all.Errors = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors
	all.Suites = append(all.Suites, s)
}

func (all *junitSuites) write(w io.Writer) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *junitSuite) add(c CaseResult, ms float64) {
	j := junitCase{Name: Clean(c.ID), Class: s.Name, Time: seconds(ms)}
	s.Tests++
	fault := &junitFault{Type: string(c.Status), Message: Clean(text.Truncate(c.Why, 300)), Text: Clean(failure(&c))}
	switch c.Status {
	case StatusInfra, StatusInvalid:
		s.Errors++
		j.Error = fault
	case StatusFail, StatusDrift:
		s.Failures++
		j.Failure = fault
	case StatusFlaky:
		s.Failures++
		j.Failure = fault
		j.Out = fmt.Sprintf("flaky: %v\n", c.Trials)
	case StatusNotAsked: // no verdict
		s.Skipped++
		j.Skipped = &junitFault{Message: "not asked again: " + fault.Message}
	case StatusPass:
	}
	if o := outcomes(&c); o != "" {
		j.Out += o + "\n"
	}
	if c.Status == StatusPass {
		j.Out += Clean(verdictTexts(&c) + whatIfText(&c))
	}
	s.Cases = append(s.Cases, j)
}

func seconds(ms float64) string { return fmt.Sprintf("%.3f", ms/1000) }

func properties(r *Report) []junitProperty {
	m := r.Metrics
	all := []junitProperty{
		{"pass_rate", Number(m.Cases.Value)},
		{"model_calls", fmt.Sprint(m.ModelCalls)},
		{"tool_calls", fmt.Sprint(m.ToolCalls)},
	}
	if w := r.WhatIf; w != nil {
		all = append(all, junitProperty{string(OutcomeSame), fmt.Sprint(w.Same)},
			junitProperty{string(OutcomeOtherAnswer), fmt.Sprint(w.OtherAnswer)}, junitProperty{string(OutcomeOtherCalls), fmt.Sprint(w.OtherCalls)})
	}
	return all
}
