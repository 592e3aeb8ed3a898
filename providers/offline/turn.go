package offline

import (
	"slices"
	"strings"

	"molar/providers"
	"molar/schemas"
)

// A turn is what this provider needs of a request.
type turn struct {
	question   string
	vietnamese bool
	about      string               // what the assistant is for
	results    []schemas.ToolResult // of this question, in order
	called     bool                 // some of them are of calls, not of code-driven tools
	found      bool                 // more tools were looked for
	answers    []string             // what was answered before, as far as the request holds it
}

// readTurn finds the last question and what tools have given for it since.
func readTurn(req providers.Request) turn {
	t := turn{about: req.About}
	for i, v := range slices.Backward(req.Messages) {
		if v.Role != schemas.RoleUser || !opensTurn(v) {
			continue
		}
		t.question = strings.TrimSpace(v.Said())
		for _, m := range req.Messages[:i] {
			if m.Role == schemas.RoleAssistant {
				t.answers = append(t.answers, m.Said())
			}
		}
		for _, m := range req.Messages[i:] {
			for _, part := range m.Parts {
				switch {
				case part.Result == nil:
				case part.Result.Server == "" && part.Result.ToolName == schemas.FindTools:
					t.found = true // its tools are among the others now
				case part.Kind == schemas.PartResult, part.Kind == schemas.PartContext:
					t.results = append(t.results, *part.Result)
					t.called = t.called || part.Kind == schemas.PartResult
				}
			}
		}
		break
	}
	t.vietnamese = req.Language == "vi" || req.Language == "" && isVietnamese(t.question)
	return t
}

// opensTurn reports whether a message of role user asks something: it holds a person's
// words, or a text to work on. Others are rules that code put behind results.
func opensTurn(m schemas.Message) bool {
	return m.Said() != "" || slices.ContainsFunc(m.Parts, func(p schemas.Part) bool { return p.Result != nil })
}
