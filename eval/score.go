package eval

import (
	"fmt"

	"molar/eval/match"
	"molar/eval/tape"
)

// Score grades the tapes of cases and runs nothing.
func Score(cases []Case) (*Report, error) {
	var results []CaseResult
	for i := range cases {
		r, err := scoreCase(&cases[i])
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	rep := NewReport(results)
	rep.Run.Mode = "score"
	return rep, nil
}

func scoreCase(c *Case) (CaseResult, error) {
	result := CaseResult{ID: c.ID, Tags: c.Tags, File: c.File, Line: c.Line, Checks: []CheckResult{}, Turns: []TurnResult{}, gate: c.Gate}
	story, err := c.Story()
	if err != nil {
		return result, err
	}
	if story.Torn != nil {
		result.Notes = append(result.Notes, story.Torn.Error())
	}
	for i := range c.Turns {
		if i >= len(story.Turns) {
			result.Checks = append(result.Checks, CheckResult{Turn: i + 1, Name: "turn", Text: fmt.Sprintf("the tape has %d turns", len(story.Turns))})
			result.add(c, i, &tape.Seen{User: c.Turns[i].User}, emptyAgreement(c, i))
			continue
		}
		checks, agreement := c.grade(i, &story.Turns[i], story.Turns[:i])
		result.Checks = append(result.Checks, checks...)
		result.add(c, i, &story.Turns[i], agreement)
	}
	result.conclude(false)
	return result, nil
}

func emptyAgreement(c *Case, i int) *match.Agreement {
	if c.plans[i] == nil {
		return nil
	}
	return new(c.plans[i].Compare(nil))
}
