package web

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"molar/schemas"
	"molar/web/wire"
)

// The number of turns of a page.
const (
	defaultTurns = 50
	maxTurns     = 200
	maxDays      = 36500
)

// turnFilters are the filters of GET /v1/turns.
func turnFilters() []string {
	return []string{"outcome", "assistant", "marked", "since", "limit", "after"}
}

// marks maps the values of the filter marked to marks.
func marks() map[string]string {
	return map[string]string{"good": schemas.MarkUp, "bad": schemas.MarkDown, "any": "any"}
}

// readTurnFilter reads the filters of a request. It refuses unknown ones: who misspells one would get
// what the others let through.
func readTurnFilter(c *gin.Context, now time.Time) (want schemas.TurnFilter, refusal *wire.Error) {
	query := c.Request.URL.Query()
	for name := range query {
		if !slices.Contains(turnFilters(), name) {
			return want, wire.Invalid(name, "there is no filter %q; the filters are %s", name, strings.Join(turnFilters(), ", "))
		}
	}
	want = schemas.TurnFilter{Assistant: query.Get("assistant"), After: query.Get("after"), Limit: defaultTurns}
	if name := query.Get("outcome"); name != "" {
		outcome := schemas.Outcome(name)
		if !slices.Contains(schemas.Outcomes(), outcome) {
			return want, wire.Invalid("outcome", "outcome must be one of %s", join(schemas.Outcomes()))
		}
		want.Outcomes = []schemas.Outcome{outcome}
	}
	if name := query.Get("marked"); name != "" {
		mark, ok := marks()[name]
		if !ok {
			return want, wire.Invalid("marked", "marked must be good, bad or any")
		}
		want.Marked = mark
	}
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxTurns {
			return want, wire.Invalid("limit", "limit must be a number from 1 to %d", maxTurns)
		}
		want.Limit = n
	}
	want.Since, refusal = readSince(query.Get("since"), now)
	return want, refusal
}

// readSince reads a time, or how long ago it was.
func readSince(text string, now time.Time) (time.Time, *wire.Error) {
	if text == "" {
		return time.Time{}, nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n <= maxDays {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago > 0 {
		return now.Add(-ago), nil
	}
	return time.Time{}, wire.Invalid("since", "since must be a time such as 30d or 2026-01-31T00:00:00Z")
}

func join[T ~string](names []T) string {
	var all []string
	for _, name := range names {
		all = append(all, fmt.Sprint(name))
	}
	return strings.Join(all, ", ")
}
