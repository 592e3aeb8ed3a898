package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"molar/agent"
	"molar/internal/httpguard"
	"molar/internal/telemetry"
	"molar/schemas"
)

// A Runner answers turns. The sequence is single use; an error comes once and last,
// and breaking off or cancelling ctx ends the turn.
type Runner interface {
	Run(ctx context.Context, t agent.Turn) iter.Seq2[agent.Event, error]
}

// A ConversationStore reads and changes the conversations of one owner. An id that
// it does not know gives an error that is [agent.ErrNotFound].
type ConversationStore interface {
	// List returns at most limit conversations that match q, the newest first, and
	// the cursor to pass as after for the next page, empty on the last one.
	List(ctx context.Context, owner, q string, limit int, after string) ([]schemas.Conversation, string, error)
	// Messages returns the messages in order, the summary, and whether the
	// conversation exists.
	Messages(ctx context.Context, owner, id string) ([]schemas.StoredMessage, string, bool, error)
	Rename(ctx context.Context, owner, id, title string) error
	Clear(ctx context.Context, owner, id string) error
	Delete(ctx context.Context, owner, id string) error
}

// A ToolLister gives the catalogue of discovered tools.
type ToolLister interface{ Tools() []schemas.Tool }

// A ServerLister gives the state of every configured MCP server.
type ServerLister interface{ Status() []schemas.ServerStatus }

// A TraceStore gives the trace of a turn, and whether there is one.
type TraceStore interface {
	Trace(ctx context.Context, owner, turnID string) (json.RawMessage, bool, error)
}

// ModelInfo is an assistant as clients see it: an OpenAI model.
type ModelInfo struct {
	ID          string
	Description string
}

// DefaultKeepAlive is how often a silent stream sends a comment.
const DefaultKeepAlive = 10 * time.Second

// Config is what the HTTP side is built from. Agent, Models, Conversations, Tools,
// Servers, Traces and Guard are required.
type Config struct {
	Agent         Runner
	Models        func() []ModelInfo
	Conversations ConversationStore
	Tools         ToolLister
	Servers       ServerLister
	Traces        TraceStore
	// Reload reads the config file anew and applies it; an error that is a
	// [*BrokenConfigError] left everything as it was. Nil means that there is no such
	// route.
	Reload func(ctx context.Context) (Reloaded, error)
	// Operations are what an operator may do; those that are nil have no route.
	Operations Operations
	// Hints help on the chat page.
	Hints Hints
	// Telemetry counts and traces requests; nil does neither.
	Telemetry *telemetry.Telemetry
	// Ready says why the host is not ready to answer; nil means that it always is.
	Ready func(ctx context.Context) error
	// Keys remembers the turns of Idempotency-Keys; nil means that they are forgotten a
	// minute after the turn's end, and at a restart.
	Keys KeyStore
	// Turns holds what runs on without its client. The caller drains it; nil means a set
	// of the handler's own, which nobody does.
	Turns *Turns
	// Guard stands in front of every route: Host, origin, body size, headers.
	Guard func(http.Handler) http.Handler
	// MayChoose says whether a client with a key may choose this model of the provider for
	// the assistant; provider may be empty. Nil means that it may, as it does without keys.
	MayChoose func(assistant, provider, model string) bool
	// Access says who may use the port, and how often.
	Access Access
	// Owner names whose conversations a request may see; nil means the owner of its key,
	// and without keys "", which sees all.
	Owner func(*http.Request) string
	// Logger is discarded when nil.
	Logger *slog.Logger
	// Now is time.Now when nil.
	Now func() time.Time
	// KeepAlive is [DefaultKeepAlive] when zero.
	KeepAlive time.Duration
	Version   string
}

// New returns the handler of all routes.
func New(cfg Config) (http.Handler, error) {
	s, err := newServer(cfg)
	if err != nil {
		return nil, err
	}
	return s.handler()
}

func newServer(cfg Config) (*server, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Ready == nil {
		cfg.Ready = func(context.Context) error { return nil }
	}
	if cfg.Owner == nil {
		cfg.Owner = ownerOf
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.KeepAlive == 0 {
		cfg.KeepAlive = DefaultKeepAlive
	}
	if cfg.Turns == nil {
		cfg.Turns = NewTurns(cfg.Logger, cfg.Now)
	}
	pages, err := loadPages()
	if err != nil {
		return nil, err
	}
	return &server{Config: cfg, approvals: newApprovals(cfg.Now), pages: pages, started: cfg.Now(), markdown: sync.OnceValue(newMarkdownWriter)}, nil
}

func (s *server) handler() (http.Handler, error) {
	routes, err := s.routes()
	if err != nil {
		return nil, err
	}
	return withRequestID(s.Guard(s.authenticate(routes))), nil
}

func (c Config) check() error {
	var errs []error
	for name, missing := range map[string]bool{
		"Agent": c.Agent == nil, "Models": c.Models == nil, "Conversations": c.Conversations == nil,
		"Tools": c.Tools == nil, "Servers": c.Servers == nil, "Traces": c.Traces == nil, "Guard": c.Guard == nil,
	} {
		if missing {
			errs = append(errs, fmt.Errorf("web config: %s is required", name))
		}
	}
	if c.KeepAlive < 0 {
		errs = append(errs, fmt.Errorf("web config: KeepAlive %v: want a duration above zero", c.KeepAlive))
	}
	return errors.Join(errs...)
}

// A server holds what the handlers share. Nothing of it changes after New.
type server struct {
	Config
	pages map[string]page
	// markdown is built when it is first asked for.
	markdown func() *markdownWriter
	started  time.Time
	// approvals are the calls that wait for a person.
	approvals *approvals
	// document is the OpenAPI document, once somebody asked for it.
	document document
}

func (s *server) routes() (http.Handler, error) {
	gin.SetMode(gin.ReleaseMode) // gin has no setting of its own for one engine
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

	// A key needs one of the scopes; what changes more than its own conversations wants
	// admin. New routes name theirs here too.
	chat, read, admin := s.scope(httpguard.ScopeChat), s.scope(httpguard.ScopeChat, httpguard.ScopeAdmin), s.scope(httpguard.ScopeAdmin)
	e.POST("/v1/chat/completions", chat, s.limitTurns, s.countStream, s.chat)
	e.POST("/chat", chat, s.limitTurns, s.countStream, s.chat)
	e.GET("/v1/models", read, s.listModels)
	e.GET("/v1/models/:id", read, s.getModel)
	e.GET("/v1/conversations", chat, s.listConversations)
	e.GET("/v1/conversations/:id", chat, possibleID, s.getConversation)
	e.PATCH("/v1/conversations/:id", chat, possibleID, s.renameConversation)
	e.DELETE("/v1/conversations/:id", chat, possibleID, s.deleteConversation)
	e.POST("/v1/conversations/:id/clear", chat, possibleID, s.clearConversation)
	e.GET("/v1/turns/:id", chat, s.getTurn)
	e.GET("/v1/turns/:id/events", chat, s.turnEvents)
	e.DELETE("/v1/turns/:id", chat, s.stopTurn)
	e.GET("/v1/approvals", chat, s.listApprovals)
	e.POST("/v1/approvals/:id", chat, s.decideApproval)
	e.GET("/v1/tools", read, s.listTools)
	e.GET("/v1/servers", read, s.listServers)
	e.GET("/v1/prompts", read, s.listPrompts)
	e.GET("/v1/setup", read, s.getSetup)
	e.GET("/openapi.json", read, s.openAPI)
	e.GET("/v1/calls", admin, s.listCalls)
	for path, route := range s.operatorRoutes() {
		e.Handle(route.method, path, admin, route.handle)
	}
	if s.Telemetry.Metrics() != nil {
		e.GET("/metrics", s.scope(httpguard.ScopeMetrics, httpguard.ScopeAdmin), s.metrics)
	}
	if s.Reload != nil {
		e.POST("/v1/servers/reload", admin, s.reloadServers)
	}

	reads := []string{http.MethodGet, http.MethodHead}
	e.Match(reads, "/health", s.health)
	e.Match(reads, "/ready", s.ready)
	for path := range s.pages {
		if !strings.HasPrefix(path, "/static/") {
			e.Match(reads, path, read, s.page)
		}
	}
	e.Match(reads, "/static/*file", read, s.page)
	return e, nil
}
