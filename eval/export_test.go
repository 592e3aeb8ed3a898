package eval

import (
	"context"

	"molar/eval/tape"
)

// NewShare gives black-box tests the interval of a share.
func NewShare(hits, total int) Share { return newShare(hits, total) }

// NewReport gives black-box tests the summary of results.
func NewReport(results []CaseResult) *Report { return newReport(results) }

// Score gives black-box tests the grades of the tapes of cases.
func Score(cases []Case) (*Report, error) {
	var results []CaseResult
	for i := range cases {
		t, err := cases[i].ReadTape()
		if err != nil {
			return nil, err
		}
		results = append(results, score(context.Background(), &cases[i], t))
	}
	return newReport(results), nil
}

// Passes tells black-box tests whether a check of an answer passes.
func Passes(c Check, answer string) bool { return c.mismatch(&tape.Turn{Answer: answer}, nil) == "" }
