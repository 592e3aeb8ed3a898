package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/server"

	"molar/internal/store"
	"molar/mcpservers"
	"molar/schemas"
)

// serverName is the server's name for hosts and clients.
const serverName = schemas.MemoryServer

// version is the version of the server's methods.
const version = "1.0.0"

const (
	// defaultKeepRecent bounds the messages of get_context.
	defaultKeepRecent = 6
	// defaultLeaseTTL is how long a lease lasts; a longer turn renews it.
	defaultLeaseTTL = 15 * time.Second
	// claimTTL is how long a claimed summary is reserved for its worker.
	claimTTL = time.Minute
	// maxID is the longest conversation id, in bytes.
	maxID = 256
)

// Conversations stores the list of conversations.
type Conversations interface {
	Ensure(ctx context.Context, owner, id string) error
	Conversation(ctx context.Context, owner, id string) (schemas.Conversation, bool, error)
	List(ctx context.Context, req store.ListRequest) (store.ConversationPage, error)
	Rename(ctx context.Context, owner, id, title string) error
	SuggestTitle(ctx context.Context, owner, id, title string) error
	Clear(ctx context.Context, owner, id string) error
	Delete(ctx context.Context, owner, id string) error
	ErasePerson(ctx context.Context, owner string) (schemas.Erased, error)
}

// Messages stores messages.
type Messages interface {
	AddMessage(ctx context.Context, owner, id string, m store.Message) error
	Recent(ctx context.Context, owner, id string, last int) ([]store.Message, error)
	Messages(ctx context.Context, owner, id string, r store.MessageRange) (messages []schemas.StoredMessage, total int, err error)
	MessagesAfter(ctx context.Context, owner, id string, b store.Branch, after int64, limit int) (page []schemas.StoredMessage, next int64, err error)
}

// Summaries stores the summary of each conversation.
type Summaries interface {
	Summary(ctx context.Context, owner, id string) (store.Summary, error)
	SetSummary(ctx context.Context, owner, id, text string, covers *int64) error
	AddPiece(ctx context.Context, owner, id string, p schemas.Piece) error
	ClaimSummaries(ctx context.Context, limit, least int, titles bool, ttl time.Duration) ([]schemas.SummaryWork, error)
}

// Turns stores turns, one at a time for each conversation.
type Turns interface {
	BeginTurn(ctx context.Context, req store.TurnRequest) (schemas.Opening, error)
	RenewLease(ctx context.Context, l schemas.Lease, ttl time.Duration) (schemas.Lease, error)
	SaveTurn(ctx context.Context, t store.Turn) (store.SavedTurn, error)
	EndTurn(ctx context.Context, l schemas.Lease) error
	DeleteTurn(ctx context.Context, l schemas.Lease, turnID string) error
	Turn(ctx context.Context, owner, turnID string) (schemas.StoredTurn, error)
}

// Files stores the files of questions.
type Files interface {
	PutFile(ctx context.Context, l schemas.Lease, turnID string, f schemas.File, c schemas.FileChunk, most int64) error
	ListFiles(ctx context.Context, owner, id string) ([]schemas.File, error)
	ReadFile(ctx context.Context, owner, id string, seq int64, n, part int) (schemas.File, schemas.FileChunk, error)
}

// Store is the server's store. Its errors wrap store.ErrNotFound, ErrNoTurn, ErrNoFile, ErrBusy,
// ErrStaleLease, ErrConflict, ErrTooMuch and ErrInvalid; any other is a fault of the store.
type Store interface {
	Conversations
	Messages
	Summaries
	Turns
	Files
}

// Config describes the server.
type Config struct {
	Store Store
	// KeepRecent is how many of the newest messages get_context returns at most and
	// get_old_messages omits; 0 means 6.
	KeepRecent int
	// CompressAfterSummary omits what the summary covers from get_old_messages. Nothing is
	// deleted either way.
	CompressAfterSummary bool
	// FileBytes bounds the files of one conversation together, in bytes; 0 stores none.
	FileBytes int64
	// Consults are prompts about subjects.
	Consults []Consult
	// LeaseTTL is how long a silent turn keeps its lease; 0 means 15 s.
	LeaseTTL time.Duration
	// Logger may be nil.
	Logger *slog.Logger
}

// memory answers the methods.
type memory struct {
	store    Store
	keep     int
	compress bool
	leaseTTL time.Duration
	files    int64
	consults []Consult
}

// New returns the dispatcher of the memory server.
func New(cfg Config) (*mcpservers.Dispatcher, error) {
	if cfg.Store == nil {
		return nil, errors.New("new memory server: no store given")
	}
	if cfg.KeepRecent < 0 {
		return nil, fmt.Errorf("new memory server: keep_recent_messages is %d, at least 1 is needed", cfg.KeepRecent)
	}
	m := &memory{store: cfg.Store, keep: cfg.KeepRecent, compress: cfg.CompressAfterSummary, leaseTTL: cfg.LeaseTTL, files: cfg.FileBytes, consults: cfg.Consults}
	if m.leaseTTL <= 0 {
		m.leaseTTL = defaultLeaseTTL
	}
	if m.keep == 0 {
		m.keep = defaultKeepRecent
	}
	return mcpservers.New(mcpservers.Config{
		Name:    serverName,
		Version: version,
		MCP: offerPrompts(server.NewMCPServer(serverName, version,
			server.WithToolCapabilities(false), server.WithResourceCapabilities(false, false), server.WithPromptCapabilities(false)), cfg.Consults),
		Methods: m.methods(),
		Logger:  cfg.Logger,
	})
}

func (m *memory) methods() map[string]mcpservers.Method {
	return map[string]mcpservers.Method{
		"memory/get_or_create":         method(m.getOrCreate),
		"memory/get_context":           method(m.getContext),
		"memory/get_all_messages":      method(m.getAllMessages),
		"memory/get_old_messages":      method(m.getOldMessages),
		"memory/get_or_create_summary": method(m.getSummary),
		"memory/get_summary":           method(m.getSummary),
		"memory/set_summary":           method(m.setSummary),
		"memory/add_message":           method(m.addMessage),
		"memory/clear":                 method(m.clear),
		"memory/delete":                method(m.delete),
		"memory/erase":                 method(m.erase),
		"memory/begin_turn":            method(m.beginTurn),
		"memory/renew_turn":            method(m.renewTurn),
		"memory/save_turn":             method(m.saveTurn),
		"memory/end_turn":              method(m.endTurn),
		"memory/get_turn":              method(m.getTurn),
		"memory/add_piece":             method(m.addPiece),
		"memory/claim_summaries":       method(m.claimSummaries),
		"memory/put_file":              method(m.putFile),
		"memory/list_files":            method(m.listFiles),
		"memory/read_file":             method(m.readFile),
		"memory/list":                  method(m.list),
		"memory/rename":                method(m.rename),
		"resources/list":               method(m.listResources),
		"resources/templates/list":     method(m.listTemplates),
		"resources/read":               method(m.readResource),
		"prompts/get":                  method(m.getPrompt),
	}
}

// method returns a [mcpservers.Method] for a function with typed params, and gives the store's
// refusals their codes.
func method[P any](f func(ctx context.Context, p P) (any, error)) mcpservers.Method {
	return func(ctx context.Context, params json.RawMessage) (any, error) {
		var p P
		if err := mcpservers.DecodeParams(params, &p); err != nil {
			return nil, err
		}
		result, err := f(ctx, p)
		return result, refusal(err)
	}
}

func refusal(err error) error {
	code := 0
	busy, isBusy := errors.AsType[*store.BusyError](err)
	switch {
	case err == nil:
		return nil
	case isBusy:
		return &mcpservers.RPCError{Code: mcpservers.CodeBusy, Message: err.Error(), Data: map[string]int64{"retry_after_ms": busy.Left.Milliseconds()}}
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrNoTurn), errors.Is(err, store.ErrNoFile):
		code = mcpservers.CodeResourceNotFound
	case errors.Is(err, store.ErrStaleLease), errors.Is(err, store.ErrConflict):
		code = mcpservers.CodeConflict
	case errors.Is(err, store.ErrTooMuch):
		return mcpservers.InvalidParams("%v", err)
	case errors.Is(err, store.ErrInvalid):
		code = mcpservers.CodeInvalidParams
	default:
		return err
	}
	return &mcpservers.RPCError{Code: code, Message: err.Error()}
}

// ref identifies a conversation, as in most methods.
type ref struct {
	ConversationID string `json:"conversation_id"`
	Owner          string `json:"owner"`
}

// check rejects invalid conversation ids.
func (r ref) check() error {
	switch id := r.ConversationID; {
	case id == "":
		return mcpservers.InvalidParams("conversation_id is missing")
	case len(id) > maxID:
		return mcpservers.InvalidParams("conversation_id has %d bytes, at most %d are allowed", len(id), maxID)
	case !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl):
		return mcpservers.InvalidParams("conversation_id has control characters")
	}
	return nil
}

// checkOrMake is check, but replaces a missing id by a new one.
func (r *ref) checkOrMake() error {
	if r.ConversationID == "" {
		r.ConversationID = "chat_" + schemas.NewID()
	}
	return r.check()
}
