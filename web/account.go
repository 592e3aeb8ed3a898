package web

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"molar/internal/httpguard"
	"molar/schemas"
	"molar/web/wire"
)

// A PeopleStore exports and erases what is a person's. An owner is never empty.
type PeopleStore interface {
	ListOwners(ctx context.Context) ([]schemas.Owner, error)
	CountPerson(ctx context.Context, owner string) (schemas.Erased, error)
	ExportPerson(ctx context.Context, owner string) iter.Seq2[schemas.PersonRecord, error]
	ErasePerson(ctx context.Context, owner string) (schemas.Erased, error)
	// MadeFiles returns the files that reviewers made of an owner's turns.
	MadeFiles(ctx context.Context, owner string) ([]schemas.MadeFile, error)
	SessionsOf(ctx context.Context, owner string) ([]schemas.Session, error)
	// EndSessions ends those of an owner's sessions that have the ids, or all, and returns how many.
	EndSessions(ctx context.Context, owner string, ids ...string) (int, error)
}

// routePeople adds the routes of one's own things, and those of the operator about people.
func (s *server) routePeople(e *gin.Engine, chat, admin gin.HandlerFunc) {
	if s.People == nil {
		return
	}
	e.GET("/v1/account", chat, s.withOwner(s.getAccount))
	e.GET("/v1/account/export", chat, s.withOwner(s.export))
	e.POST("/v1/account/erase", chat, s.withOwner(s.eraseAccount))
	e.GET("/v1/account/sessions", chat, s.withOwner(s.listSessions))
	e.DELETE("/v1/account/sessions/:id", chat, s.withOwner(s.endSession))
	e.GET("/v1/people", admin, s.listPeople)
	e.GET("/v1/people/export", admin, withPerson(s.export))
	e.DELETE("/v1/people", admin, withPerson(s.erase))
	e.DELETE("/v1/people/sessions", admin, withPerson(s.endSessions))
}

// withOwner passes the owner of the request; without one there is no account.
func (s *server) withOwner(f func(c *gin.Context, owner string)) gin.HandlerFunc {
	return func(c *gin.Context) {
		owner := s.Owner(c.Request)
		if owner == "" {
			wire.WriteError(c.Writer, wire.NotFound("account"))
			return
		}
		f(c, owner)
	}
}

// withPerson passes the owner that the address names, as a query: ids have slashes in them.
func withPerson(f func(c *gin.Context, owner string)) gin.HandlerFunc {
	return func(c *gin.Context) {
		owner := c.Query("id")
		if owner == "" {
			wire.WriteError(c.Writer, wire.Invalid("id", "id must be that of a person, as GET /v1/people lists it, encoded for an address"))
			return
		}
		f(c, owner)
	}
}

type accountObject struct {
	Object string `json:"object"`
	ID     string `json:"id"`
	Name   string `json:"name"`
	// Counts are how many things of each kind are stored.
	Counts schemas.Erased `json:"counts"`
}

func (s *server) getAccount(c *gin.Context, owner string) {
	counts, err := s.People.CountPerson(c.Request.Context(), owner)
	if err != nil {
		s.storeError(c, "account", err)
		return
	}
	wire.WriteJSON(c.Writer, accountObject{"account", owner, httpguard.PrincipalOf(c.Request.Context()).Name, counts})
}

// export answers with one line of JSON for each thing of an owner.
func (s *server) export(c *gin.Context, owner string) {
	s.record(c.Request, schemas.AuditLine{Event: schemas.EventExport, Detail: "all of a person", SHA256: hashOf(owner)})
	c.Header("Content-Type", "application/x-ndjson")
	c.Header("Content-Disposition", `attachment; filename="molar-export.jsonl"`)
	c.Header("Cache-Control", "no-store")
	write, limits := json.NewEncoder(c.Writer), http.NewResponseController(c.Writer)
	for r, err := range s.People.ExportPerson(c.Request.Context(), owner) {
		if err != nil {
			if !c.Writer.Written() {
				c.Writer.Header().Del("Content-Disposition")
				s.storeError(c, "account", err)
				return
			}
			s.Logger.Error("export a person", "error", err, "request_id", wire.RequestID(c.Writer))
			panic(http.ErrAbortHandler) // a cut answer must not look whole
		}
		_ = limits.SetWriteDeadline(time.Now().Add(wire.WriteLimit)) // a writer without deadlines has none
		if write.Encode(r) != nil {
			return // the client has disconnected
		}
	}
	c.Writer.WriteHeaderNow()
}

type eraseRequest struct {
	// Confirm is the id or the name of the account, as GET /v1/account shows it.
	Confirm string `json:"confirm"`
}

type erasedObject struct {
	Object string `json:"object"`
	Erased bool   `json:"erased"`
	// Counts are how many things of each kind were deleted.
	Counts schemas.Erased `json:"counts"`
	// Kept are the files that reviewers made of the person's turns. They are not erased, and have the
	// person's words in them.
	Kept []schemas.MadeFile `json:"kept"`
}

func (s *server) eraseAccount(c *gin.Context, owner string) {
	var body eraseRequest
	if err := wire.ReadBody(c.Request, &body); err != nil {
		wire.WriteError(c.Writer, wire.Failure(err))
		return
	}
	if name := httpguard.PrincipalOf(c.Request.Context()).Name; body.Confirm == "" || body.Confirm != owner && body.Confirm != name {
		wire.WriteError(c.Writer, wire.Invalid("confirm", "confirm must be your id or your name, as GET /v1/account shows them: this erases all that is yours, for good"))
		return
	}
	s.erase(c, owner)
}

// erase stops an owner's turns and deletes all that is theirs.
func (s *server) erase(c *gin.Context, owner string) {
	ctx := context.WithoutCancel(c.Request.Context()) // half an erasure is none
	kept, err := s.People.MadeFiles(ctx, owner)       // the erasure forgets whose they are
	if err != nil {
		s.storeError(c, "account", err)
		return
	}
	s.Turns.Forget(owner)
	erased, err := s.People.ErasePerson(ctx, owner)
	if err == nil || erased.Total() > 0 {
		line := schemas.AuditLine{Event: schemas.EventErase, Detail: "all of a person: " + erased.String(), SHA256: hashOf(owner)}
		if s.Owner(c.Request) == owner {
			s.recordOf(ctx, schemas.AuditErased, line) // a name of theirs would be made anew
		} else {
			s.record(c.Request, line)
		}
	}
	if err != nil {
		s.storeError(c, "account", err)
		return
	}
	wire.WriteJSON(c.Writer, erasedObject{"account.erased", true, erased, slices.Concat([]schemas.MadeFile{}, kept)})
}

func (s *server) listSessions(c *gin.Context, owner string) {
	sessions, err := s.People.SessionsOf(c.Request.Context(), owner)
	if err != nil {
		s.storeError(c, "session", err)
		return
	}
	wire.WriteJSON(c.Writer, listOf(sessions))
}

func (s *server) endSession(c *gin.Context, owner string) {
	ended, err := s.People.EndSessions(c.Request.Context(), owner, c.Param("id"))
	switch {
	case err != nil:
		s.storeError(c, "session", err)
	case ended == 0:
		wire.WriteError(c.Writer, wire.NotFound("session"))
	default:
		wire.WriteJSON(c.Writer, map[string]any{"id": c.Param("id"), "object": "session.deleted", "deleted": true})
	}
}

type endedObject struct {
	Object string `json:"object"`
	Ended  int    `json:"ended"`
}

// endSessions signs somebody out everywhere.
func (s *server) endSessions(c *gin.Context, owner string) {
	ended, err := s.People.EndSessions(c.Request.Context(), owner)
	if ended > 0 {
		s.record(c.Request, schemas.AuditLine{Event: schemas.EventLogout, Detail: fmt.Sprintf("%d sessions of a person", ended), SHA256: hashOf(owner)})
	}
	if err != nil {
		s.storeError(c, "session", err)
		return
	}
	wire.WriteJSON(c.Writer, endedObject{"sessions.ended", ended})
}

func (s *server) listPeople(c *gin.Context) {
	all, err := s.People.ListOwners(c.Request.Context())
	if err != nil {
		s.storeError(c, "person", err)
		return
	}
	wire.WriteJSON(c.Writer, listOf(all))
}

// peopleOperations describes the routes of people.
func (s *server) peopleOperations() []wire.Operation {
	if s.People == nil {
		return nil
	}
	id := []wire.Parameter{{"id", "the id of a person or a key's owner, as GET /v1/people lists it"}}
	return []wire.Operation{
		{Method: "GET", Path: "/v1/account", Tag: tagAccount, Scope: "chat", Summary: "Who makes the request, and how much of theirs is stored", Answer: accountObject{}, Errors: []int{404, 503}},
		{Method: "GET", Path: "/v1/account/export", Tag: tagAccount, Scope: "chat", Summary: "Export all that is one's own, one JSON object a line", Binary: true, Errors: []int{404, 503}},
		{Method: "POST", Path: "/v1/account/erase", Tag: tagAccount, Scope: "chat", Summary: "Erase all that is one's own, for good; sessions end", Request: eraseRequest{}, Needs: []string{"confirm"}, Answer: erasedObject{}, Errors: []int{400, 404, 503}},
		{Method: "GET", Path: "/v1/account/sessions", Tag: tagAccount, Scope: "chat", Summary: "List one's own sessions", Answer: list[schemas.Session]{}, Errors: []int{404, 503}},
		{Method: "DELETE", Path: "/v1/account/sessions/{id}", Tag: tagAccount, Scope: "chat", Summary: "End a session of one's own", Answer: changedObject{}, Errors: []int{404, 503}},
		{Method: "GET", Path: "/v1/people", Tag: tagAccount, Scope: "admin", Summary: "List all who own something here", Answer: list[schemas.Owner]{}, Errors: []int{503}},
		{Method: "GET", Path: "/v1/people/export", Tag: tagAccount, Scope: "admin", Summary: "Export all that is a person's, one JSON object a line", Query: id, Binary: true, Errors: []int{400, 503}},
		{Method: "DELETE", Path: "/v1/people", Tag: tagAccount, Scope: "admin", Summary: "Erase all that is a person's, for good; their sessions end", Query: id, Answer: erasedObject{}, Errors: []int{400, 503}},
		{Method: "DELETE", Path: "/v1/people/sessions", Tag: tagAccount, Scope: "admin", Summary: "End a person's sessions, on each replica", Query: id, Answer: endedObject{}, Errors: []int{400, 503}},
	}
}
