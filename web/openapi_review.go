package web

import (
	"molar/schemas"
	"molar/web/wire"
)

// reviewOperations describes the routes of the review of turns.
func (s *server) reviewOperations() []wire.Operation {
	if s.Review.Store == nil {
		return nil
	}
	all := []wire.Operation{
		{
			Method: "GET", Path: "/v1/turns", Tag: tagTurns, Scope: "chat", Summary: "List turns, newest first: one's own, or with the scope review those of everybody", Answer: turnList{},
			Query: []wire.Parameter{
				{"outcome", "refused, failed, interrupted, not_found, unapproved, emergency or done"},
				{"assistant", ""},
				{"marked", "good, bad or any"},
				{"since", "a time, such as 30d or 2026-01-31T00:00:00Z"},
				{"limit", "1 to 200; default 50"},
				{"after", "the cursor next of the previous page"},
			},
			Errors: []int{400, 503},
		},
		{
			Method: "GET", Path: "/v1/turns/gaps", Tag: tagTurns, Scope: "review", Summary: "List the questions that nobody could answer, grouped by their words, the most frequent first", Answer: list[schemas.Gap]{},
			Query: []wire.Parameter{{"since", "a time, such as 30d or 2026-01-31T00:00:00Z"}}, Errors: []int{400, 503},
		},
	}
	if s.Review.MakeTest != nil {
		all = append(all, wire.Operation{
			Method: "POST", Path: "/v1/turns/{id}/test", Tag: tagTurns, Scope: "review", Summary: "Make a test of a turn. Of an answer marked down it is red until another answer comes", Answer: testObject{}, Errors: []int{404, 409, 503},
		})
	}
	if s.Review.RunTest != nil {
		all = append(all, wire.Operation{
			Method: "POST", Path: "/v1/turns/{id}/test/run", Tag: tagTurns, Scope: "review", Summary: "Ask the question of a turn's test again, of the assistant as it is now, with the tools that only read", Answer: schemas.TestRun{}, Errors: []int{404, 409, 429, 503},
		})
	}
	if s.Review.Correct != nil {
		all = append(all, wire.Operation{
			Method: "POST", Path: "/v1/turns/{id}/correction", Tag: tagTurns, Scope: "review", Summary: "Write the right answer to a turn's question into the knowledge folder that takes corrections; without one, only its text is returned",
			Request: schemas.Correction{}, Needs: []string{"answer"}, Answer: schemas.WrittenCorrection{}, Errors: []int{400, 404, 500, 503},
		})
	}
	return all
}
