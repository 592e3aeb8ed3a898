package web

import (
	"context"
	"encoding/json"

	"github.com/gin-gonic/gin"

	"molar/agent"
	"molar/schemas"
	"molar/web/wire"
)

// A decisionRequest is the body of POST /v1/approvals/{id}.
type decisionRequest struct {
	Token    string `json:"token"`
	Decision string `json:"decision"`
	// Scope is how far the approval reaches: once, conversation or always.
	Scope agent.Scope `json:"scope"`
	// Destination is the id of what an approval beyond this call covers, one of the approval's
	// destinations; without it the call's own.
	Destination string `json:"destination"`
	// Arguments replace the arguments of the call: an object, or a string that contains one.
	Arguments json.RawMessage `json:"arguments"`
}

// read returns the decision of the request.
func (q decisionRequest) read() (agent.Decision, error) {
	var d agent.Decision
	switch q.Decision {
	case "approve":
		d.Allowed, d.Scope, d.Destination = true, q.Scope, q.Destination
	case "refuse":
	default:
		return d, wire.Invalid("decision", "decision %q is not known; use approve or refuse", wire.Clip(q.Decision, 40))
	}
	if len(q.Arguments) == 0 || string(q.Arguments) == "null" {
		return d, nil
	}
	if !d.Allowed {
		return d, wire.Invalid("arguments", "a refused call cannot have arguments")
	}
	d.Arguments = string(q.Arguments)
	if q.Arguments[0] == '"' {
		if err := json.Unmarshal(q.Arguments, &d.Arguments); err != nil {
			return d, wire.Invalid("arguments", "arguments cannot be read: %v", err)
		}
	}
	if d.Arguments == "" {
		return d, wire.Invalid("arguments", "arguments must be a JSON object")
	}
	return d, nil
}

// listApprovals answers GET /v1/approvals: the client's own calls, or with for=me those of others that
// it may decide about.
func (s *server) listApprovals(c *gin.Context) {
	list := s.turns.Approvals
	switch of := c.Query("for"); of {
	case "":
	case "me":
		list = s.approvalsForMe
	default:
		wire.WriteError(c.Writer, wire.Invalid("for", "for %q is not known; use me, or leave it out", wire.Clip(of, 40)))
		return
	}
	waiting, err := list(c.Request.Context(), s.decider(c.Request))
	if err != nil {
		wire.WriteError(c.Writer, wire.Failure(err))
		return
	}
	wire.WriteJSON(c.Writer, listOf(waiting))
}

// decideApproval answers POST /v1/approvals/{id}.
func (s *server) decideApproval(c *gin.Context) {
	var req decisionRequest
	err := wire.ReadBody(c.Request, &req)
	var d agent.Decision
	if err == nil {
		d, err = req.read()
	}
	if err == nil {
		err = s.turns.Decide(c.Request.Context(), s.decider(c.Request), c.Param("id"), req.Token, d)
	}
	if err != nil {
		wire.WriteError(c.Writer, wire.Failure(err))
		return
	}
	wire.WriteJSON(c.Writer, changedObject{ID: c.Param("id"), Object: "approval", Decision: req.Decision, Scope: string(d.Scope)})
}

// A GrantStore stores grants, which are permissions beyond a single call. An empty owner means
// every owner.
type GrantStore interface {
	ListGrants(ctx context.Context, owner string) ([]schemas.Grant, error)
	DeleteGrant(ctx context.Context, owner, id string) (ok bool, err error)
}

// listGrants answers GET /v1/grants.
func (s *server) listGrants(c *gin.Context) {
	all, err := s.Grants.ListGrants(c.Request.Context(), s.Owner(c.Request))
	if err != nil {
		s.storeError(c, "grant", err)
		return
	}
	wire.WriteJSON(c.Writer, listOf(all))
}

// revokeGrant answers DELETE /v1/grants/{id}.
func (s *server) revokeGrant(c *gin.Context) {
	ok, err := s.Grants.DeleteGrant(c.Request.Context(), s.Owner(c.Request), c.Param("id"))
	switch {
	case err != nil:
		s.storeError(c, "grant", err)
	case !ok:
		wire.WriteError(c.Writer, wire.NotFound("grant"))
	default:
		wire.WriteJSON(c.Writer, changedObject{ID: c.Param("id"), Object: "grant", Deleted: true})
	}
}
