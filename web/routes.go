package web

import (
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"

	"molar/internal/httpguard"
)

// routeWaits adds the routes of pending approvals and questions, and of grants.
func (s *server) routeWaits(e *gin.Engine, chat gin.HandlerFunc) {
	decides := s.scope(httpguard.ScopeChat, httpguard.ScopeReview) // the server knows whose call it is
	e.GET("/v1/approvals", decides, s.listApprovals)
	e.POST("/v1/approvals/:id", decides, s.decideApproval)
	if s.Grants != nil {
		e.GET("/v1/grants", chat, s.listGrants)
		e.DELETE("/v1/grants/:id", chat, s.revokeGrant)
	}
	e.GET("/v1/questions", chat, s.listQuestions)
	e.POST("/v1/questions/:id", chat, s.answerQuestion)
}

// routeConversations adds the routes of stored conversations.
func (s *server) routeConversations(e *gin.Engine, chat gin.HandlerFunc) {
	e.GET("/v1/conversations", chat, s.listConversations)
	e.GET("/v1/conversations/:id", chat, possibleID, s.getConversation)
	e.POST("/v1/conversations", chat, s.responses.CreateConversation)
	e.POST("/v1/conversations/:id", chat, possibleID, s.responses.UpdateConversation)
	e.GET("/v1/conversations/:id/items", chat, possibleID, s.responses.ConversationItems)
	e.POST("/v1/conversations/:id/items", chat, possibleID, s.responses.AddItems)
	e.GET("/v1/conversations/:id/items/:item", chat, possibleID, s.responses.ConversationItem)
	e.DELETE("/v1/conversations/:id/items/:item", chat, possibleID, s.responses.DeleteItem)
	e.PATCH("/v1/conversations/:id", chat, possibleID, s.renameConversation)
	e.DELETE("/v1/conversations/:id", chat, possibleID, s.deleteConversation)
	e.POST("/v1/conversations/:id/clear", chat, possibleID, s.clearConversation)
}

func (s *server) routes() (http.Handler, error) {
	gin.SetMode(gin.ReleaseMode) // gin has no such setting for a single engine
	e := gin.New()
	e.HandleMethodNotAllowed = true
	e.RedirectTrailingSlash = false
	e.ForwardedByClientIP = false
	if err := e.SetTrustedProxies(nil); err != nil {
		return nil, fmt.Errorf("set trusted proxies: %w", err)
	}
	e.Use(s.observe, s.logRequest, s.recoverPanic)
	e.NoRoute(s.noRoute)
	e.NoMethod(s.noMethod)

	// Each route names the scopes of which a key needs one. Routes that change more than the
	// conversations of the key's owner require admin.
	chat, read, admin := s.scope(httpguard.ScopeChat), s.scope(httpguard.ScopeChat, httpguard.ScopeAdmin), s.scope(httpguard.ScopeAdmin)
	e.POST("/v1/chat/completions", chat, s.limitTurns, s.countStream, s.chat.Chat)
	e.POST("/chat", chat, s.limitTurns, s.countStream, s.chat.Chat)
	e.POST("/v1/responses", chat, s.limitTurns, s.countStream, s.responses.Create)
	e.GET("/v1/responses", chat, s.countStream, s.responses.Socket)
	e.POST("/v1/responses/compact", chat, s.responses.Compact)
	e.POST("/v1/responses/input_tokens", chat, s.responses.CountTokens)
	e.GET("/v1/responses/:id", chat, s.responses.Retrieve)
	e.DELETE("/v1/responses/:id", chat, s.responses.Delete)
	e.POST("/v1/responses/:id/cancel", chat, s.responses.Cancel)
	e.GET("/v1/responses/:id/input_items", chat, s.responses.InputItems)
	e.GET("/v1/models", read, s.listModels)
	e.GET("/v1/models/:id", read, s.getModel)
	s.routeConversations(e, chat)
	reviewed := s.scope(httpguard.ScopeChat, httpguard.ScopeReview) // one's own turns, or with the scope review everybody's
	s.routeReview(e)
	s.routeHandovers(e)
	e.GET("/v1/turns/:id", reviewed, s.getTurn)
	e.GET("/v1/turns/:id/events", chat, s.chat.TurnEvents)
	e.DELETE("/v1/turns/:id", chat, s.chat.StopTurn)
	if s.Files != nil {
		e.GET("/v1/conversations/:id/files/:file", chat, possibleID, serve(s.Files, s.Owner, s.storeError))
	}
	if s.Feedback != nil {
		e.POST("/v1/turns/:id/feedback", reviewed, s.giveFeedback)
		e.GET("/v1/feedback", reviewed, s.listFeedback)
	}
	s.routeWaits(e, chat)
	s.routePeople(e, chat, admin)
	s.routeLogins(e, chat)
	e.GET("/v1/tools", read, s.listTools)
	e.GET("/v1/servers", read, s.listServers)
	e.GET("/v1/prompts", read, s.listPrompts)
	s.routeKnowledge(e, admin)
	e.GET("/v1/setup", read, s.getSetup)
	e.GET("/openapi.json", read, s.openAPI)
	e.GET("/v1/calls", admin, s.listCalls)
	if s.Usage != nil {
		e.GET("/v1/usage", read, s.getUsage)
	}
	if s.Audit != nil {
		e.GET("/v1/audit", admin, s.listAudit)
	}
	for path, route := range s.operatorRoutes() {
		e.Handle(route.method, path, admin, route.handle)
	}
	if s.Operations.AddServer != nil {
		e.POST("/v1/servers", admin, s.addServer)
		e.DELETE("/v1/servers/:name", admin, s.removeServer)
	}
	if s.Telemetry.Metrics() != nil {
		e.GET("/metrics", s.scope(httpguard.ScopeMetrics), s.metrics)
	}
	if s.Reload != nil {
		e.POST("/v1/servers/reload", admin, s.reloadServers)
	}

	s.routePages(e)
	return e, nil
}

// routePages adds the routes for browsers, visitors and probes.
func (s *server) routePages(e *gin.Engine) {
	s.routePublic(e)
	reads := []string{http.MethodGet, http.MethodHead}
	e.Match(reads, "/health", s.health)
	e.Match(reads, "/ready", s.ready)
	for _, path := range s.site.Paths() {
		e.Match(reads, path, s.pageScope(path), s.site.Serve)
	}
	s.open(e, loginPath, s.signInPage, reads...)
	s.open(e, loginPath, s.logIn, http.MethodPost)
	s.open(e, logoutPath, s.logOut, http.MethodPost)
	s.open(e, waysPath, s.signInWays, http.MethodGet)
	s.routeSignIn(e)
	e.GET("/v1/me", s.getMe)
	e.Match(reads, "/static/*file", s.pageScope("/static/"), s.site.Serve)
}
