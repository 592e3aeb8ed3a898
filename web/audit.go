package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"molar/schemas"
	"molar/web/wire"
)

// An AuditStore stores the record of who decided or changed what.
type AuditStore interface {
	Audit(ctx context.Context, line schemas.AuditLine) error
	ListAudit(ctx context.Context, q schemas.AuditQuery) ([]schemas.AuditLine, error)
}

// record appends a line about what the client of a request has just done, even if it has gone away.
// It is done, so a record that cannot be written is only logged.
func (s *server) record(r *http.Request, line schemas.AuditLine) {
	if s.Audit == nil {
		return
	}
	s.recordOf(context.WithoutCancel(r.Context()), s.Owner(r), line)
}

// hashOf returns the hash by which a line says whose things it is about.
func hashOf(owner string) string {
	sum := sha256.Sum256([]byte(owner))
	return hex.EncodeToString(sum[:])
}

// recordOf appends a line about what a person has just done.
func (s *server) recordOf(ctx context.Context, person string, line schemas.AuditLine) {
	if s.Audit == nil {
		return
	}
	line.Person = person
	if err := s.Audit.Audit(ctx, line); err != nil {
		s.Logger.Error("the audit could not be written", "event", line.Event, "person", line.Person, "error", err)
	}
}

// The number of lines of GET /v1/audit.
const (
	defaultAudit = 200
	maxAudit     = 1000
)

// listAudit answers GET /v1/audit, in the order of the lines.
func (s *server) listAudit(c *gin.Context) {
	q := schemas.AuditQuery{Person: c.Query("person"), Limit: defaultAudit}
	for name, to := range map[string]*time.Time{"since": &q.Since, "until": &q.Until} {
		text := c.Query(name)
		at, err := time.Parse(time.RFC3339, text)
		if text != "" && err != nil {
			wire.WriteError(c.Writer, wire.Invalid(name, "%s must be a time such as 2026-01-31T00:00:00Z", name))
			return
		}
		*to = at
	}
	if text := c.Query("after"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			wire.WriteError(c.Writer, wire.Invalid("after", "after must be the id of a line"))
			return
		}
		q.After = n
	}
	if text := c.Query("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxAudit {
			wire.WriteError(c.Writer, wire.Invalid("limit", "limit must be a number from 1 to %d", maxAudit))
			return
		}
		q.Limit = n
	}
	lines, err := s.Audit.ListAudit(c.Request.Context(), q)
	if err != nil {
		s.storeError(c, "audit", err)
		return
	}
	wire.WriteJSON(c.Writer, listOf(lines))
}

// auditOperations describes the route of the audit.
func (s *server) auditOperations() []wire.Operation {
	if s.Audit == nil {
		return nil
	}
	return []wire.Operation{{
		Method: "GET", Path: "/v1/audit", Tag: tagProbes, Scope: "admin", Summary: "List who decided or changed what, in the order in which it happened", Answer: list[schemas.AuditLine]{},
		Query: []wire.Parameter{
			{"since", "a time, such as 2026-01-31T00:00:00Z"},
			{"until", "the time before which lines end"},
			{"person", "the owner whose lines to list; operator for the command line"},
			{"after", "the id of a line: those that follow it"},
			{"limit", "1 to 1000; default 200"},
		},
		Errors: []int{400, 503},
	}}
}
