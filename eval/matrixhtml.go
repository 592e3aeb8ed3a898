package eval

import (
	"fmt"
	"io"
	"strings"
)

// A matrixPage is a matrix as its page shows it.
type matrixPage struct {
	frame
	Run   RunInfo
	Names []string
	Rows  []matrixRow
	Sums  [][]string
	Gates []string
}

type matrixRow struct {
	ID    string
	Cells []matrixCell
}

// A matrixCell is a cell with a link to what happened.
type matrixCell struct {
	Cell
	Anchor, Verdict, Used string
	Status                Status
}

// MatrixHTML writes a matrix as one self-contained file, like [HTML]. Each cell leads to what happened in it:
// questions, answers and calls beside those of the tape, failed checks, tokens and cost.
func MatrixHTML(w io.Writer, m *Matrix) error {
	var all Summary
	for _, column := range m.Columns {
		for _, c := range column.Report.Cases {
			all.count(c.Status)
		}
	}
	rows := m.Rows()
	p := matrixPage{
		frame: newFrame(fmt.Sprintf("%d cases under %d variants", len(m.cases()), len(m.Columns)), all),
		Names: rows[0][1:], Sums: rows[len(rows)-MatrixSums:], Gates: m.gates(),
	}
	for i, column := range m.Columns {
		p.Run = column.Report.Run
		p.Tags = append(p.Tags, tagCount{Tag: column.Name, N: len(column.Cells), Key: fmt.Sprintf("variant-%d", i+1)})
	}
	for i := range m.cases() {
		row := matrixRow{ID: Clean(m.cases()[i].ID)}
		for k, column := range m.Columns {
			c, cell := column.Report.Cases[i], column.Cells[i]
			used := strings.Trim(cell.TokensText()+" tokens · "+cell.CostText(), "· ")
			if cell.ModelCalls == 0 {
				used = "replayed"
			}
			shown := matrixCell{Cell: cell, Anchor: fmt.Sprintf("case-%d-%d", i+1, k+1), Verdict: cell.Verdict(c.Status), Used: used, Status: c.Status}
			row.Cells = append(row.Cells, shown)
			v := viewOf(&c, used)
			v.Anchor, v.Open, v.Tagged, c.Tags = shown.Anchor, false, p.Tags[k].Key, []string{column.Name}
			p.Views = append(p.Views, v)
		}
		p.Rows = append(p.Rows, row)
	}
	var page pageWriter
	page.comparison(&p)
	_, err := io.WriteString(w, page.b.String())
	return err
}
