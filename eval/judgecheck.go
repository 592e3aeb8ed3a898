package eval

import (
	"fmt"
	"io"
	"text/tabwriter"

	"molar/schemas"
)

// A JudgeCheck compares the verdicts of a judge with the marks of people on the same answers.
type JudgeCheck struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	// Up and Down count the verdicts on the answers that were marked so.
	Up   VerdictCount `json:"up"`
	Down VerdictCount `json:"down"`
	// Agreement is the share of verdicts that agree with the mark, of those that are pass or fail.
	Agreement Share `json:"agreement"`
	// Kappa is Cohen's kappa: 1 for full agreement, 0 for that of chance. It is nil if either side
	// always says the same.
	Kappa  *float64 `json:"kappa"`
	Calls  int      `json:"model_calls"`
	Tokens int      `json:"tokens"`
	// Disagreements are the answers with the other verdict, and those without one.
	Disagreements []Disagreement `json:"disagreements"`
}

// A VerdictCount counts verdicts.
type VerdictCount struct {
	Pass int `json:"pass"`
	Fail int `json:"fail"`
	None int `json:"none"`
}

func (c *VerdictCount) add(result string) {
	switch result {
	case VerdictPass:
		c.Pass++
	case VerdictFail:
		c.Fail++
	default:
		c.None++
	}
}

// A Disagreement is an answer that a judge sees otherwise than the person who marked it.
type Disagreement struct {
	TurnID string `json:"turn_id"`
	Mark   string `json:"mark"`
	Result string `json:"result"`
	// Reason is the judge's, Note the person's.
	Reason string `json:"reason"`
	Note   string `json:"note,omitempty"`
}

// Add counts the verdict on a marked answer.
func (j *JudgeCheck) Add(f schemas.Feedback, v Verdict) {
	j.Provider, j.Model, j.Calls, j.Tokens = v.Provider, v.Model, j.Calls+v.Calls, j.Tokens+v.Tokens
	count, agrees := &j.Up, VerdictPass
	if f.Mark == schemas.MarkDown {
		count, agrees = &j.Down, VerdictFail
	}
	count.add(v.Result)
	if v.Result != agrees {
		j.Disagreements = append(j.Disagreements, Disagreement{TurnID: f.TurnID, Mark: f.Mark, Result: v.Result, Reason: v.Reason, Note: f.Note})
	}
	up, down := j.Up.Pass+j.Up.Fail, j.Down.Pass+j.Down.Fail
	n := up + down
	j.Agreement, j.Kappa = newShare(j.Up.Pass+j.Down.Fail, n), nil
	if n == 0 {
		return
	}
	chance := float64(up*(j.Up.Pass+j.Down.Pass)+down*(j.Up.Fail+j.Down.Fail)) / float64(n*n)
	if chance < 1 {
		j.Kappa = new(round((float64(j.Agreement.Hits)/float64(n) - chance) / (1 - chance)))
	}
}

// Write writes the table, the numbers and the disagreements for people.
func (j *JudgeCheck) Write(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "\tpass\tfail\tno verdict\t")
	for _, row := range []struct {
		name string
		VerdictCount
	}{{"marked up", j.Up}, {"marked down", j.Down}} {
		_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%d\t\n", row.name, row.Pass, row.Fail, row.None)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	a := j.Agreement
	if _, err := fmt.Fprintf(w, "%s %s agrees with %d of %d marks: %s, 95 %% between %s and %s; kappa %s; %d model calls, %d tokens\n",
		j.Provider, j.Model, a.Hits, a.Total, Number(a.Value), Number(a.Low), Number(a.High), Number(j.Kappa), j.Calls, j.Tokens); err != nil {
		return err
	}
	for _, d := range j.Disagreements {
		line := fmt.Sprintf("turn %s: marked %s, verdict %s: %s", d.TurnID, d.Mark, d.Result, d.Reason)
		if d.Note != "" {
			line += "; the note: " + d.Note
		}
		if _, err := fmt.Fprintln(w, Clean(oneLine(line))); err != nil {
			return err
		}
	}
	return nil
}
