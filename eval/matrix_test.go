package eval_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"molar/eval"
	"molar/schemas"
)

// compared is a matrix of the sample's cases under two variants, whose names and texts are hostile.
func compared() *eval.Matrix {
	m := &eval.Matrix{V: 1}
	for _, name := range []string{"first" + hostile, "nhỏ"} {
		c := eval.Column{Variant: eval.Variant{Name: name}, Report: sample()}
		for range c.Report.Cases {
			c.Cells = append(c.Cells, eval.Cell{Runs: 1, OtherCalls: 1, Spent: eval.Spent{ModelCalls: 2, Tokens: 40, Cost: new(schemas.NewCost(0.5))}})
		}
		m.Columns = append(m.Columns, c)
	}
	m.Columns[1].Report.Cases[1].WhatIf = &eval.WhatIf{
		Outcome: eval.OutcomeOtherCalls, Changed: []string{"  turn 1: Who?", "- call f {}", "+ call f {} " + hostile, "+ call g {}"},
		Answers: []eval.AnswerPair{{Turn: 1, Was: "An and Binh", Now: "An " + hostile}},
	}
	return m
}

func TestMatrixHTML(t *testing.T) {
	var b bytes.Buffer
	if err := eval.MatrixHTML(&b, compared()); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, outside := range []string{"http://", "https://", "src=", "@import", "<script>alert", "\x1b", "\u202e", " style=", " onclick="} {
		if strings.Contains(page, outside) {
			t.Errorf("the page has %q", outside)
		}
	}
	if policy := between(t, page, `http-equiv="Content-Security-Policy" content="`, `"`); !strings.HasPrefix(policy, "default-src &#39;none&#39;;") || strings.Contains(policy, "unsafe") {
		t.Errorf("the policy allows too much: %s", policy)
	}
	// Each cell leads to its own part of the page.
	links := regexp.MustCompile(`href="#([^"]+)"`).FindAllStringSubmatch(page, -1)
	if len(links) != 8 {
		t.Errorf("%d links, want one for each of 4 cases under 2 variants", len(links))
	}
	for _, link := range links {
		if strings.Count(page, `id="`+link[1]+`"`) != 1 {
			t.Errorf("%s leads nowhere", link[0])
		}
	}
	if n := strings.Count(page, `<th scope="col">`); n != 3 {
		t.Errorf("%d heads of columns", n)
	}
	if n := strings.Count(page, `<th scope="row">`); n != 4+6 {
		t.Errorf("%d heads of rows", n)
	}
	for _, want := range []string{`<code><mark>call g {}</mark></code>`, `An <mark class="was">and Binh</mark>`, "40 tokens · 0.5000", "server is down", "other calls"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// A stored matrix is the same when it is read again.
func TestMatrix_JSON(t *testing.T) {
	var b, again bytes.Buffer
	if err := eval.JSON(&b, compared()); err != nil {
		t.Fatal(err)
	}
	var m eval.Matrix
	if err := json.Unmarshal(b.Bytes(), &m); err != nil {
		t.Fatal(err)
	}
	if err := eval.JSON(&again, &m); err != nil || b.String() != again.String() {
		t.Errorf("%v: %s", err, cmp.Diff(b.String(), again.String()))
	}
	if diff := cmp.Diff(compared().Rows(), m.Rows()); diff != "" || m.Check() != nil {
		t.Errorf("%v: %s", m.Check(), diff)
	}
	m.Columns[1].Cells = m.Columns[1].Cells[1:]
	if m.Check() == nil {
		t.Error("a matrix without a cell is whole")
	}
}

func TestCell_texts(t *testing.T) {
	priced := func(c float64) *schemas.Cost { return new(schemas.NewCost(c)) }
	for _, test := range []struct {
		cell   eval.Cell
		status eval.Status
		want   []string
	}{
		{eval.Cell{Runs: 1, Spent: eval.Spent{Cost: priced(0)}}, eval.StatusPass, []string{"pass", "tape", ""}},
		{eval.Cell{Runs: 1, OtherAnswer: 1, Spent: eval.Spent{ModelCalls: 1, Tokens: 9, Cost: priced(0)}}, eval.StatusPass, []string{"pass ~", "9", "0"}},
		{eval.Cell{Runs: 1, OtherAnswer: 1, OtherCalls: 1, Spent: eval.Spent{ModelCalls: 1, Tokens: 9}}, eval.StatusFail, []string{"FAIL ~!", "9", "–"}},
		{eval.Cell{Runs: 3, Passed: 2, Spent: eval.Spent{ModelCalls: 3, Tokens: 9, Cost: priced(0.001)}}, eval.StatusFlaky, []string{"2/3", "9", "0.001000"}},
		{eval.Cell{Runs: 3, Passed: 2, Infra: 1, Spent: eval.Spent{ModelCalls: 3, Tokens: 9, Cost: priced(12)}}, eval.StatusInfra, []string{"2/3 infra", "9", "12.0000"}},
		{eval.Cell{Runs: 1, Infra: 1, Spent: eval.Spent{ModelCalls: 1, Cost: priced(0)}}, eval.StatusInfra, []string{"infra", "–", "–"}},
		{eval.Cell{Runs: 1, Spent: eval.Spent{ModelCalls: 1, Tokens: 1, Cost: priced(1e-8)}}, eval.StatusDrift, []string{"DRIFT", "1", "<0.000001"}},
	} {
		got := []string{strings.TrimSpace(test.cell.Verdict(test.status) + " " + test.cell.Marks()), test.cell.TokensText(), test.cell.CostText()}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%+v: %s", test.cell, diff)
		}
	}
}
