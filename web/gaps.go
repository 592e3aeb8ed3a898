package web

import (
	"github.com/gin-gonic/gin"

	"molar/schemas"
	"molar/web/wire"
)

// maxGapTurns bounds the turns whose questions are grouped.
const maxGapTurns = 2000

// listGaps answers GET /v1/turns/gaps: the questions that nobody could answer, grouped by their words.
func (s *server) listGaps(c *gin.Context) {
	for name := range c.Request.URL.Query() {
		if name != "since" {
			wire.WriteError(c.Writer, wire.Invalid(name, "there is no filter %q; the filter is since", name))
			return
		}
	}
	since, refusal := readSince(c.Query("since"), s.Now())
	if refusal != nil {
		wire.WriteError(c.Writer, refusal)
		return
	}
	turns, _, err := s.Review.Store.Turns(c.Request.Context(), schemas.TurnFilter{
		Outcomes: []schemas.Outcome{schemas.OutcomeRefused, schemas.OutcomeNotFound}, Assistants: s.assistantsOf(c.Request), Limit: maxGapTurns,
	})
	if err == nil {
		err = s.name(c.Request, turns)
	}
	if err == nil && s.reviews(c.Request) {
		err = s.recordFirst(c.Request, "", "gaps "+filters(c))
	}
	if err != nil {
		s.storeError(c, "turns", err)
		return
	}
	wire.WriteJSON(c.Writer, listOf(s.Review.Group(turns, since)))
}
