package web

import (
	"fmt"
	"slices"

	"github.com/gin-gonic/gin"

	"molar/schemas"
	"molar/web/wire"
)

func (s *server) listServers(c *gin.Context) {
	var added []string
	if s.Operations.AddedServers != nil {
		added = s.Operations.AddedServers()
	}
	all := s.serversFor(c.Request)
	for i := range all {
		all[i].Added = slices.Contains(added, all[i].Name)
		if all[i].Unconfirmed && s.Operations.Propose != nil {
			all[i].Proposal = s.Operations.Propose(all[i])
		}
	}
	wire.WriteJSON(c.Writer, listOf(all))
}

// approveBody is the body of POST /v1/servers/{name}/approve.
type approveBody struct {
	// Digest is the digest in the server's status. If it is set, the request is refused when the
	// tools have changed since the status was read.
	Digest string `json:"digest,omitempty"`
	// Marks are the proposal in the server's status, as the person has changed it. They are confirmed
	// for the list of tools that the proposal's own digest identifies.
	Marks *schemas.Proposal `json:"marks,omitempty"`
}

// An approvedObject lists the approved tools, which were withheld before.
type approvedObject struct {
	Object   string   `json:"object"`
	Server   string   `json:"server"`
	Approved []string `json:"approved"`
}

// approveServer approves the current tools of a pinned server.
func (s *server) approveServer(c *gin.Context) {
	var body approveBody
	if c.Request.ContentLength != 0 {
		if err := wire.ReadBody(c.Request, &body); err != nil {
			wire.WriteError(c.Writer, wire.Failure(err))
			return
		}
	}
	ctx, name := c.Request.Context(), c.Param("name")
	approved := []string{} // clients iterate over it
	if body.Marks == nil || body.Digest != "" {
		withheld, err := s.Operations.ApproveServer(ctx, name, body.Digest)
		if err != nil {
			s.operationError(c, "approve a server", err)
			return
		}
		if approved = append(approved, withheld...); len(approved) > 0 {
			s.record(c.Request, schemas.AuditLine{Event: schemas.EventApproveServer, Server: name, Allowed: new(true), SHA256: body.Digest, Detail: fmt.Sprintf("tools: %d", len(approved))})
		}
	}
	if body.Marks != nil && s.Operations.ConfirmServer != nil {
		body.Marks.Server = name
		if err := s.Operations.ConfirmServer(ctx, *body.Marks); err != nil {
			s.operationError(c, "confirm the marks of a server", err)
			return
		}
		s.record(c.Request, body.Marks.Line())
	}
	wire.WriteJSON(c.Writer, approvedObject{Object: "server.approved", Server: c.Param("name"), Approved: approved})
}
