package web

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"molar/internal/httpguard"
	"molar/schemas"
	"molar/web/wire"
)

// A UsageStore tells what model calls used, by day.
type UsageStore interface {
	Usage(ctx context.Context, since time.Time) ([]schemas.UsageLine, error)
	UsageOf(ctx context.Context, owner string, since time.Time) ([]schemas.UsageLine, error)
}

// usageSince is how far back usage is added up unless a request says so.
const usageSince = 30 * 24 * time.Hour

// getUsage answers GET /v1/usage: everybody's with the scope admin, else only the client's own.
func (s *server) getUsage(c *gin.Context) {
	by := c.DefaultQuery("by", "person")
	if !slices.Contains(schemas.UsageBy(), by) {
		wire.WriteError(c.Writer, wire.Invalid("by", "by must be one of %s", strings.Join(schemas.UsageBy(), ", ")))
		return
	}
	since := time.Now().Add(-usageSince)
	if text := c.Query("since"); text != "" {
		at, err := time.Parse(time.DateOnly, text)
		if err != nil {
			wire.WriteError(c.Writer, wire.Invalid("since", "since must be a date such as 2026-01-31"))
			return
		}
		since = at
	}
	who := httpguard.PrincipalOf(c.Request.Context())
	var lines []schemas.UsageLine
	var err error
	if who.May(httpguard.ScopeAdmin) {
		lines, err = s.Usage.Usage(c.Request.Context(), since)
	} else {
		lines, err = s.Usage.UsageOf(c.Request.Context(), who.Owner, since)
	}
	if err != nil {
		s.storeError(c, "usage", err)
		return
	}
	rows := schemas.SumUsage(lines, by)
	switch c.Query("format") {
	case "", "json":
		wire.WriteJSON(c.Writer, listOf(rows))
	case "csv":
		c.Header("Content-Type", "text/csv; charset=utf-8")
		c.Status(http.StatusOK)
		if err := schemas.WriteUsageCSV(c.Writer, by, rows); err != nil {
			s.Logger.Info("the usage was not sent", "error", err)
		}
	default:
		wire.WriteError(c.Writer, wire.Invalid("format", "format must be json or csv"))
	}
}

// usageOperations describes the route of the usage.
func (s *server) usageOperations() []wire.Operation {
	if s.Usage == nil {
		return nil
	}
	return []wire.Operation{{
		Method: "GET", Path: "/v1/usage", Tag: tagProbes, Scope: "chat or admin", Summary: "Add up what model calls used: everybody's with the scope admin, else one's own", Answer: list[schemas.UsageRow]{},
		Query: []wire.Parameter{
			{"by", "person, key, group, assistant, model, provider or day; default person"},
			{"since", "a date in UTC, such as 2026-01-31; default 30 days ago"},
			{"format", "json or csv"},
		},
		Errors: []int{400, 503},
	}}
}
