package web

import (
	"strings"

	"github.com/gin-gonic/gin"

	"molar/schemas"
	"molar/web/wire"
)

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
	gaps, err := s.Review.Store.Gaps(c.Request.Context(), since)
	if err != nil {
		s.storeError(c, "turns", err)
		return
	}
	if s.reviews(c.Request) {
		s.record(c.Request, schemas.AuditLine{Event: schemas.EventReview, Detail: strings.TrimSpace("gaps " + filters(c))})
	}
	wire.WriteJSON(c.Writer, listOf(gaps))
}
