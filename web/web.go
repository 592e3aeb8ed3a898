package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"molar/agent"
	"molar/agent/answer"
	"molar/agent/journal"
	"molar/internal/httpguard"
	"molar/internal/telemetry"
	"molar/schemas"
	"molar/web/chat"
	"molar/web/pages"
	"molar/web/public"
	"molar/web/responses"
	"molar/web/turns"
	"molar/web/wire"
)

// A ConversationStore reads and changes the conversations of one owner. For an unknown id, the
// error is [agent.ErrNotFound].
type ConversationStore interface {
	// List returns at most limit conversations that match q, newest first, and the cursor to pass
	// as after for the next page, which is empty on the last page.
	List(ctx context.Context, owner, q string, limit int, after string) ([]schemas.Conversation, string, error)
	// Messages returns the messages of the newest branch in order, the summary, and
	// whether the conversation exists.
	Messages(ctx context.Context, owner, id string) ([]schemas.StoredMessage, string, bool, error)
	// Branch returns the messages of the branch that ends with the turn tip; Tree returns those of
	// all branches, each with the number of its predecessor.
	Branch(ctx context.Context, owner, id, tip string) ([]schemas.StoredMessage, error)
	Tree(ctx context.Context, owner, id string) ([]schemas.StoredMessage, error)
	Rename(ctx context.Context, owner, id, title string) error
	Clear(ctx context.Context, owner, id string) error
	Delete(ctx context.Context, owner, id string) error
}

// A ToolLister returns the catalogue of discovered tools.
type ToolLister interface{ Tools() []schemas.Tool }

// A ServerLister returns the state of every configured MCP server.
type ServerLister interface{ Status() []schemas.ServerStatus }

// defaultKeepAlive is the interval at which a silent stream sends a comment.
const defaultKeepAlive = 10 * time.Second

// defaultMaxMessages is the maximum number of messages of a request.
const defaultMaxMessages = 10_000

// Config configures the HTTP side. Agent, Models, Conversations, Tools, Servers, Traces and
// Guard are required.
type Config struct {
	Agent         turns.Runner
	Models        func() []schemas.AssistantInfo
	Conversations ConversationStore
	Tools         ToolLister
	Servers       ServerLister
	Traces        chat.TraceStore
	// Searches returns the host's search tools that an assistant uses: those that its model may call,
	// and those that code calls before each answer. Nil means none.
	Searches func(assistant string) (byModel, byCode []schemas.Tool)
	// Knowledge reads the folders of knowledge; with nil, its routes do not exist.
	Knowledge KnowledgeStore
	// Notice returns the emergency notice that an answer begins with, or ""; the pages show it in
	// its own box. Nil means that answers have none.
	Notice func(answer string) string
	// Files reads the files attached to questions; nil means that none are stored.
	Files Store
	// Feedback stores marks of answers; with nil, its routes do not exist.
	Feedback FeedbackStore
	// Review lets some people read, mark and correct the turns of all.
	Review Review
	// Handovers lets people at the desk answer those who asked for them; with nil, its routes do not exist. It
	// needs Audit.
	Handovers HandoverDesk
	// Logins are those of people at servers; with nil, their routes do not exist.
	Logins LoginStore
	// Grants stores grants; with nil, their routes do not exist.
	Grants GrantStore
	// Audit stores who decided or changed what; with nil, its route does not exist and nothing is
	// recorded.
	Audit AuditStore
	// People exports and erases what is a person's; with nil, its routes do not exist.
	People PeopleStore
	// Held are the calls that are stored for their approvers; nil without any. Told is called with what
	// happens to calls that need approvers, and Ruling keeps the decisions about stored ones; both may be
	// nil.
	Held   turns.HeldStore
	Told   func(ctx context.Context, event, owner string, a answer.Approval, d *agent.Decision)
	Ruling func(ctx context.Context, r agent.Ruling)
	// Usage tells what model calls used; with nil, its route does not exist.
	Usage UsageStore
	// Reload rereads the config file and applies it. After a [*BrokenConfigError] nothing has
	// changed. With nil, its route does not exist.
	Reload func(ctx context.Context) (Reloaded, error)
	// Operations are the operations of an operator; nil ones have no route.
	Operations Operations
	// Hints are shown on the pages.
	Hints Hints
	// Telemetry counts and traces requests; nil means neither.
	Telemetry *telemetry.Telemetry
	// Ready returns the reason why the host is not ready to answer, or nil. A nil func means that
	// it is always ready.
	Ready func(ctx context.Context) error
	// Keys stores the turns of Idempotency-Keys; nil means that they are forgotten a minute after
	// the turn's end, and at a restart.
	Keys turns.KeyStore
	// Responses stores responses; with nil, the newest are kept in memory only.
	Responses responses.Store
	// Imports adds items of clients to conversations; nil refuses them.
	Imports responses.Imports
	// Secret returns the key of 32 bytes that seals texts which clients keep for the host; nil
	// means a random key that ends with the process.
	Secret func(context.Context) ([]byte, error)
	// Turns holds the running turns. The caller drains it. Nil means a new set, which is never
	// drained.
	Turns *turns.Set
	// Sharing shares turns with other replicas; the caller runs it. Nil means that only this
	// process has access to its turns.
	Sharing *turns.Sharing
	// Journal records turns that others may follow; nil records none.
	Journal *journal.Recorder
	// MaxMessages is the maximum number of messages of a request; zero means
	// [defaultMaxMessages].
	MaxMessages int
	// MaxBody is the maximum size of a chat request without its files, in bytes; zero means
	// [httpguard.DefaultMaxBody]. Guard limits whole bodies.
	MaxBody int64
	// Guard wraps the handler of all routes: it checks Host, Origin and body size, and sets
	// headers.
	Guard func(http.Handler) http.Handler
	// MayChoose reports whether a client with a key may choose this model of the provider for the
	// assistant; provider may be empty. Nil allows all models. Without keys it is not called.
	MayChoose func(assistant, provider, model string) bool
	// Public is the assistant that anybody may ask from a frame; nil means that there is none. The
	// fields that its comment names are set here.
	Public *public.Config
	// Access decides which clients may use the port, and how often.
	Access Access
	// Owner returns the owner whose conversations a request may see; "" means all. Nil means the
	// owner of the request's key, and "" without keys.
	Owner func(*http.Request) string
	// Logger may be nil; then nothing is logged.
	Logger *slog.Logger
	// Now returns the time; nil means time.Now.
	Now func() time.Time
	// KeepAlive is the interval at which a silent stream sends a comment; zero means
	// [defaultKeepAlive].
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
	if cfg.Searches == nil {
		cfg.Searches = func(string) (byModel, byCode []schemas.Tool) { return nil, nil }
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
		cfg.KeepAlive = defaultKeepAlive
	}
	if cfg.MaxBody == 0 {
		cfg.MaxBody = httpguard.DefaultMaxBody
	}
	if cfg.MaxMessages == 0 {
		cfg.MaxMessages = defaultMaxMessages
	}
	if cfg.Turns == nil {
		cfg.Turns = turns.NewSet(cfg.Logger, cfg.Now)
	}
	s := &server{Config: cfg, started: cfg.Now(), openRoutes: map[string]bool{}, markdown: sync.OnceValue(func() *pages.HTML {
		html := pages.NewHTML()
		html.Notice = cfg.Notice
		return html
	})}
	s.turns = &turns.Host{
		Agent: cfg.Agent, Set: cfg.Turns, Waits: turns.NewWaits(cfg.Now), Keys: cfg.Keys, Journal: cfg.Journal, Logger: cfg.Logger, Now: cfg.Now,
	}
	if cfg.Journal != nil {
		s.turns.May = s.mayGoOn
		s.turns.OnContinued = func(t *turns.Live) { s.responses.GoOn(t) }
		cfg.Journal.GoOn(s.turns.GoOn)
	}
	s.turns.Held, s.turns.Told, s.turns.Audit = cfg.Held, cfg.Told, cfg.Ruling
	if cfg.Sharing != nil {
		s.turns.Sharing = cfg.Sharing
		cfg.Sharing.Takes(s.turns.Waits)
	}
	s.chat = chat.New(chat.Config{
		Turns: s.turns, Conversations: cfg.Conversations, Traces: cfg.Traces, HTML: func() *pages.HTML { return s.markdown() },
		MayChoose: s.mayChoose, Owner: cfg.Owner, SetOrigins: s.setOrigins, MaxMessages: cfg.MaxMessages, MaxBody: cfg.MaxBody, KeepAlive: cfg.KeepAlive,
	})
	s.responses = responses.New(responses.Config{
		Turns: s.turns, Conversations: cfg.Conversations, Traces: cfg.Traces, Store: cfg.Responses, Imports: cfg.Imports, Searches: cfg.Searches, Files: cfg.Files, Secret: cfg.Secret, Admit: s.admit, Bind: s.bind, Decider: s.decider, Tools: cfg.Tools.Tools, Servers: cfg.Servers.Status,
		MayChoose: s.mayChoose, Owner: cfg.Owner, SetOrigins: s.setOrigins, MaxMessages: cfg.MaxMessages, MaxBody: cfg.MaxBody, KeepAlive: cfg.KeepAlive,
	})
	s.document = sync.OnceValues(func() ([]byte, error) { return wire.Document(s.operations(), s.Version, true) })
	if err := s.openPublic(); err != nil {
		return nil, err
	}
	site, err := pages.New(s.modelsFor, func(r *http.Request) any { return s.meOf(r) }, s.unknownRoute)
	s.site = site
	return s, err
}

// mayChoose reports whether a client may choose a model. Without keys every client may.
func (s *server) mayChoose(assistant, provider, model string) bool {
	return s.MayChoose == nil || !s.Access.on() || s.MayChoose(assistant, provider, model)
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
		"Audit, Review.Secret, Review.Names and Review.Group": c.Review.Store != nil && (c.Audit == nil || c.Review.Secret == nil || c.Review.Names == nil || c.Review.Group == nil),
		"Audit": c.Handovers != nil && c.Audit == nil,
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

// A server holds the data that the handlers share. It does not change after New.
type server struct {
	Config
	site *pages.Site
	// markdown is built on first use.
	markdown func() *pages.HTML
	started  time.Time
	// openRoutes are the routes, as "GET /login", at which nobody has to say who they are.
	openRoutes map[string]bool
	// turns runs the turns of all surfaces.
	turns *turns.Host
	chat  *chat.Surface
	// responses is the surface of the Responses API.
	responses *responses.Surface
	// public answers visitors; nil if there are none.
	public *public.Surface
	// document is the OpenAPI document, built on first use.
	document func() ([]byte, error)
}
