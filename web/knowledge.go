package web

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"molar/internal/httpguard"
	"molar/schemas"
	"molar/web/wire"
)

// A KnowledgeStore reads the folders of knowledge.
type KnowledgeStore interface {
	Status(ctx context.Context) ([]schemas.KnowledgeStatus, error)
	// Document returns a document from one of its parts on, counted from 0, and false for anything that
	// is no document of the folder.
	Document(ctx context.Context, folder, file string, from int) (schemas.Document, bool, error)
}

// routeKnowledge adds the routes of the folders of knowledge, and the page that shows a document.
func (s *server) routeKnowledge(e *gin.Engine, admin gin.HandlerFunc) {
	if s.Knowledge == nil {
		return
	}
	e.GET("/v1/knowledge", admin, s.listKnowledge)
	e.GET("/v1/knowledge/:name/document", s.scope(httpguard.ScopeChat, httpguard.ScopeAdmin, httpguard.ScopeReview), s.getDocument)
	e.Match([]string{http.MethodGet, http.MethodHead}, "/knowledge/:name/*file", s.pageScope("/knowledge"), s.readDocument)
}

// mayRead reports whether the client of a request may read a folder: whoever operates the host, and who may
// use an assistant that searches it before its answers, or whose model may call its tool for them.
func (s *server) mayRead(r *http.Request, folder string) bool {
	who := httpguard.PrincipalOf(r.Context())
	if who.May(httpguard.ScopeAdmin) {
		return true
	}
	isIt := func(t schemas.Tool) bool { return t.Server == schemas.ToolServer && t.ToolName == folder }
	return slices.ContainsFunc(s.modelsFor(r), func(m schemas.AssistantInfo) bool {
		byModel, byCode := s.Searches(m.Name)
		return slices.ContainsFunc(byCode, isIt) || slices.ContainsFunc(byModel, func(t schemas.Tool) bool { return isIt(t) && who.Rights.Tool(t.ToolInfo) })
	})
}

// listKnowledge lists the folders.
func (s *server) listKnowledge(c *gin.Context) {
	all, err := s.Knowledge.Status(c.Request.Context())
	if err != nil {
		s.operationError(c, "list the folders of knowledge", err)
		return
	}
	wire.WriteJSON(c.Writer, listOf(all))
}

// getDocument answers with a document of a folder. One that the client may not read is as unknown as one
// that does not exist.
func (s *server) getDocument(c *gin.Context) {
	from := 0
	if text := c.Query("from"); text != "" {
		var err error
		if from, err = strconv.Atoi(text); err != nil || from < 0 {
			wire.WriteError(c.Writer, wire.Invalid("from", "from must be the number of a part, such as the next of an answer"))
			return
		}
	}
	missing := wire.NotFound("document")
	missing.Param, missing.Message = "file", "there is no document of that name, or not for you"
	if !s.mayRead(c.Request, c.Param("name")) {
		wire.WriteError(c.Writer, missing)
		return
	}
	d, found, err := s.Knowledge.Document(c.Request.Context(), c.Param("name"), c.Query("file"), from)
	switch {
	case err != nil:
		s.operationError(c, "read a document", err)
	case !found:
		wire.WriteError(c.Writer, missing)
	default:
		wire.WriteJSON(c.Writer, d)
	}
}

// readDocument serves the page that shows a document, to those who may read its folder.
func (s *server) readDocument(c *gin.Context) {
	if strings.Trim(c.Param("file"), "/") == "" || !s.mayRead(c.Request, c.Param("name")) {
		s.noRoute(c)
		return
	}
	s.site.Reader(c)
}

// knowledgeOperations describes the routes of the folders of knowledge.
func (s *server) knowledgeOperations() []wire.Operation {
	if s.Knowledge == nil {
		return nil
	}
	return []wire.Operation{
		{
			Method: "GET", Path: "/v1/knowledge", Tag: tagTools, Scope: "admin", Answer: list[schemas.KnowledgeStatus]{}, Errors: []int{500},
			Summary: "List the folders of knowledge, with what was read of them and what was not",
		},
		{
			Method: "GET", Path: "/v1/knowledge/{name}/document", Tag: tagTools, Scope: "chat or admin or review", Answer: schemas.Document{}, Errors: []int{400, 404, 500},
			Summary: "Read a document as the search of its folder reads it, in parts with their places. A client may read the folders that an assistant of its own searches",
			Query:   []wire.Parameter{{"file", "the path of the document below the folder"}, {"from", "the number of the first part; the next of an answer that does not hold all"}},
		},
	}
}
