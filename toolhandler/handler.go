package toolhandler

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"molar/schemas"
)

// Defaults of [Config].
const (
	defaultParallel    = 4
	defaultCallTimeout = 60 * time.Second
	// maxCallTimeout bounds every call, whatever a rule says.
	maxCallTimeout = 30 * time.Minute
	// ApprovalTimeout is how long a person may take to decide, or to answer a server.
	ApprovalTimeout = 10 * time.Minute
)

// ErrNotSent marks the error of a [Caller] whose call never reached its server.
var ErrNotSent = errors.New("nothing was sent")

// A Caller executes a tool on its server, for a person whom the server may reach meanwhile. An
// error means that the call could not be made; its text says what to do.
type Caller interface {
	CallFor(ctx context.Context, who *schemas.Person, server, tool string, args json.RawMessage) (schemas.ToolResult, error)
}

// An Approver asks a person whether a call may run.
type Approver interface {
	Approve(ctx context.Context, a Approval) (Decision, error)
}

// An Approval is a request for a person's approval.
type Approval struct {
	Call schemas.ToolCall
	Tool schemas.Tool
	// Reason is why it is required. After [RuleUnsure], to allow the call is to send it again.
	Reason Reason
	// Language is the turn's.
	Language string
	// Destinations are what a lasting approval may cover, the call's own first.
	Destinations []Destination
	// Expires is when the call counts as refused.
	Expires time.Time
	// Scopes are the scopes that the person may choose.
	Scopes []Scope
	// Check returns what is wrong with a person's replacement arguments: they must be a JSON
	// object that fits the tool's schema.
	Check func(arguments string) error
}

// A Decision is a person's answer.
type Decision struct {
	Allowed bool
	// Arguments replace the call's arguments if not empty.
	Arguments string
	// Scope is the reach of the approval; empty means [Once]. Destination is the id of what a lasting
	// one covers; empty means the call's own.
	Scope       Scope
	Destination string
	// By is the owner of what the person has who decided, and ByName their name, if the call is another
	// person's or needs approvers.
	By, ByName string
}

// Config configures a [Handler].
type Config struct {
	Caller Caller
	// Parallel is how many calls of one answer run at once; 0 means 4.
	Parallel int
	Logger   *slog.Logger
}

// A Handler executes tool calls. It is safe for concurrent use; each turn has a [Turn].
type Handler struct {
	caller   Caller
	parallel int
	log      *slog.Logger
	inputs   *inputs
}

// New returns a handler, or an error if there is no caller or a bound is negative.
func New(cfg Config) (*Handler, error) {
	if cfg.Caller == nil {
		return nil, errors.New("tool handler: caller is required")
	}
	if cfg.Parallel < 0 {
		return nil, errors.New("tool handler: parallel must not be negative")
	}
	h := &Handler{
		caller:   cfg.Caller,
		parallel: cfg.Parallel,
		log:      cfg.Logger,
		inputs:   newInputs(),
	}
	if h.parallel == 0 {
		h.parallel = defaultParallel
	}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	return h, nil
}

// callTimeout returns the time limit of one call of the tool.
func callTimeout(rules schemas.ToolRules) time.Duration {
	d := rules.Timeout
	if d <= 0 {
		d = defaultCallTimeout
	}
	return min(d, maxCallTimeout)
}
