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
	results    []schemas.ToolResult // of this question, in order
	called     bool                 // some of them are of calls, not of code-driven tools
	calls      []schemas.ToolCall   // made for this question
}

// readTurn finds the last question and what tools have given for it since.
func readTurn(req providers.Request) turn {
	var t turn
	for i, v := range slices.Backward(req.Messages) {
		if v.Role != schemas.RoleUser || !opensTurn(v) {
			continue
		}
		t.question = strings.TrimSpace(v.Said())
		for _, m := range req.Messages[i:] {
			t.gather(m)
		}
		break
	}
	t.vietnamese = req.Language == "vi" || req.Language == "" && isVietnamese(t.question)
	return t
}

// opensTurn tells a person's message, or text that code put together, from one that
// only carries results.
func opensTurn(m schemas.Message) bool {
	return m.FullText() != ""
}

func (t *turn) gather(m schemas.Message) {
	for _, part := range m.Parts {
		switch {
		case part.Result != nil && (part.Kind == schemas.PartResult || part.Kind == schemas.PartContext):
			t.results = append(t.results, *part.Result)
			t.called = t.called || part.Kind == schemas.PartResult
		case part.Kind == schemas.PartCall && part.Call != nil:
			t.calls = append(t.calls, *part.Call)
		}
	}
}
