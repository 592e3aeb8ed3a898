package public

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"molar/internal/httpguard"
	"molar/schemas"
	"molar/web/pages"
	"molar/web/turns"
)

// Limits of what a visitor sends.
const (
	// MaxText is the maximum length of a question, in characters.
	MaxText = 2000
	// maxBody is the maximum size of a request, in bytes: a question whose characters are all escaped.
	maxBody = 32 << 10
)

// Limits are how many questions may be asked.
type Limits struct{ Visitor, Address, All schemas.Rate }

// Conversations reads the conversation of a visitor.
type Conversations interface {
	// Messages returns the messages of the newest branch in order, and whether the conversation exists.
	Messages(ctx context.Context, owner, id string) (messages []schemas.StoredMessage, summary string, ok bool, err error)
}

// Marks stores marks of answers.
type Marks interface {
	PutFeedback(ctx context.Context, f schemas.Feedback) (stored schemas.Feedback, ok bool, err error)
	ListFeedback(ctx context.Context, owner string, filter schemas.FeedbackFilter) ([]schemas.Feedback, error)
}

// Config configures what visitors get. Assistant, Count, Secret, Keep, and what the host sets are required.
type Config struct {
	Assistant string
	// Origins are those of the sites that may show the frame.
	Origins []string
	// Title and Notice are by language; without a title the assistant's name is shown.
	Title, Notice map[string]string
	// Privacy is the address of a page about privacy, or empty.
	Privacy string
	// Consent is set if a visitor has to agree to the notice before the first question.
	Consent bool
	// Colour is as #rrggbb; empty means a default.
	Colour string
	// Mark is an SVG or PNG file, MarkType its media type; empty without one.
	Mark     []byte
	MarkType string
	Limits   Limits
	// Keep is how long a conversation is kept after its last message.
	Keep time.Duration
	// Desk nil means that nobody can be reached.
	Desk Desk
	// Count counts an action under all of the limits, on all replicas, or refuses it and counts nothing.
	Count func(ctx context.Context, limits []schemas.CountedLimit) (*schemas.LimitRefusal, error)
	// Secret is the key with which addresses are hashed.
	Secret []byte
	// Emergency returns what to do in the emergency that a text describes; ok is false if it describes
	// none. It asks no model. Nil means that there are none.
	Emergency func(assistant, text string) (notice string, ok bool)
	// Refused counts a question that a limit refused: visitor, address, all or budget. It may be nil.
	Refused func(limit string)

	// The host of the routes sets the rest.

	// Turns runs the turns. The owner of a turn is [schemas.VisitorOwner].
	Turns         *turns.Host
	Conversations Conversations
	// Marks may be nil: then answers cannot be marked.
	Marks Marks
	// Erase deletes all that is an owner's.
	Erase func(ctx context.Context, owner string) error
	// Export yields all that is an owner's.
	Export func(ctx context.Context, owner string) iter.Seq2[schemas.PersonRecord, error]
	// HTML returns the renderer of answers.
	HTML func() *pages.HTML
	// Clients determines the address of a client.
	Clients *httpguard.Addresses
	Logger  *slog.Logger
	Now     func() time.Time
	// KeepAlive is the interval at which a silent stream sends a comment.
	KeepAlive time.Duration
}

// A Surface answers the routes of visitors.
type Surface struct {
	Config

	// consent is the hash of what a visitor agrees to.
	consent string
	files   map[string]asset
	// asking has the owners that are about to begin a turn in this process.
	asking sync.Map
	// streams are those that are open in this process.
	streams streams
}

// New returns the surface. It fails if something required is missing, or the colour is invalid.
func New(cfg Config) (*Surface, error) {
	if cfg.Assistant == "" || cfg.Count == nil || len(cfg.Secret) == 0 || cfg.Keep <= 0 || cfg.Turns == nil || cfg.Conversations == nil || cfg.Erase == nil || cfg.Export == nil || cfg.HTML == nil {
		return nil, errors.New("public page: Assistant, Count, Secret, Keep, Turns, Conversations, Erase, Export and HTML are required")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Refused == nil {
		cfg.Refused = func(string) {}
	}
	if cfg.Emergency == nil {
		cfg.Emergency = func(string, string) (string, bool) { return "", false }
	}
	if cfg.Colour == "" {
		cfg.Colour = defaultColour
	}
	s := &Surface{Config: cfg, consent: consentOf(cfg)}
	files, err := s.load(static)
	if err != nil {
		return nil, fmt.Errorf("public page: %w", err)
	}
	s.files = files
	return s, nil
}

// Owns reports whether a path is that of visitors.
func Owns(path string) bool {
	const root = "/embed"
	return path == root || path == root+".js" || len(path) > len(root) && path[:len(root)+1] == root+"/"
}

// Routes calls add with each route.
func (s *Surface) Routes(add func(method, path string, h gin.HandlerFunc)) {
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		add(method, "/embed.js", s.loader)
		add(method, "/embed", s.page)
		add(method, "/embed/static/:name", s.static)
		add(method, "/embed/colours.css", s.colours)
		add(method, "/embed/mark", s.mark)
	}
	add(http.MethodPost, "/embed/visit", s.visit)
	add(http.MethodGet, "/embed/conversation", s.own(s.conversation))
	add(http.MethodDelete, "/embed/conversation", s.own(s.forget))
	add(http.MethodGet, "/embed/news", s.own(s.news))
	add(http.MethodGet, "/embed/export", s.own(s.export))
	add(http.MethodPost, "/embed/chat", s.own(s.chat))
	add(http.MethodGet, "/embed/turns/:id/events", s.own(s.events))
	add(http.MethodDelete, "/embed/turns/:id", s.own(s.stop))
	add(http.MethodPost, "/embed/turns/:id/feedback", s.own(s.feedback))
	add(http.MethodPost, "/embed/handover", s.own(s.handover))
	add(http.MethodDelete, "/embed/handover", s.own(s.withdraw))
}

// Rights are what a turn of a visitor may do.
func (s *Surface) Rights() *schemas.Rights {
	return &schemas.Rights{Groups: []schemas.Group{{Assistants: []string{s.Assistant}}}}
}
