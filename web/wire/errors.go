package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"molar/agent"
	"molar/internal/text"
	"molar/providers"
)

// The types of an OpenAI error object.
const (
	TypeInvalid   = "invalid_request_error"
	typeRateLimit = "rate_limit_error"
	TypeServer    = "server_error"
	// TypePermission is the type for a key that lacks permission.
	TypePermission = "permission_error"
)

// MaxMessage is the maximum size of the text of an error in bytes, so that a long upstream body in
// it is not sent whole.
const MaxMessage = 1000

// An Error is the answer to a failed request: an HTTP status and the fields of an OpenAI error
// object.
type Error struct {
	Status  int
	Kind    string
	Message string
	// Param names the request's invalid field, or is empty.
	Param string
	Code  string
	// RetryAfter is the time after which the client may retry; zero if unknown.
	RetryAfter time.Duration
	// NoRetry tells clients with automatic retries not to retry.
	NoRetry bool
	// Faults lists the faults one by one, for errors that can have several.
	Faults []string
	// Turn is the failed turn, if one had begun.
	Turn *TurnRef
}

// A TurnRef has the ids of a turn and of its conversation.
type TurnRef struct {
	ConversationID string `json:"conversation_id"`
	TurnID         string `json:"turn_id"`
}

// OfTurn returns a copy of the error that names the failed turn.
func (e *Error) OfTurn(t TurnRef) *Error {
	named := *e
	named.Turn = &t
	return &named
}

func (e *Error) Error() string { return e.Message }

// ErrInternal is the error for causes that only the log may contain.
var ErrInternal = &Error{
	Status: http.StatusInternalServerError, Kind: TypeServer, Code: "internal_error",
	Message: "something went wrong inside the server; see its log for the cause",
}

// ErrStore is the error of a failed store.
var ErrStore = &Error{
	Status: http.StatusServiceUnavailable, Kind: TypeServer, Code: "store_unavailable", RetryAfter: time.Second,
	Message: "the store does not answer; ask again in a moment, and see the server's log for why",
}

// Invalid returns a 400 that names the invalid field.
func Invalid(param, format string, args ...any) *Error {
	return &Error{
		Status: http.StatusBadRequest, Kind: TypeInvalid, Code: "invalid_value",
		Param: param, Message: fmt.Sprintf(format, args...),
	}
}

// Unsupported returns a 400 that names a field that is not supported here.
func Unsupported(param, message string) *Error {
	e := Invalid(param, "%s", message)
	e.Code = "unsupported_parameter"
	return e
}

// NotFound returns a 404 for a thing that was requested by its id. what is its kind.
func NotFound(what string) *Error {
	return &Error{
		Status: http.StatusNotFound, Kind: TypeInvalid, Code: what + "_not_found",
		Param: "id", Message: "there is no " + what + " of that id",
	}
}

// failures maps errors that end a turn to answers. The first match counts.
var failures = []struct {
	is   func(error) bool
	want Error
}{
	{kindIs(providers.KindInvalid), Error{Status: 400, Kind: TypeInvalid, Code: "invalid_request"}},
	{kindIs(providers.KindContextLength), Error{Status: 400, Kind: TypeInvalid, Code: "context_length_exceeded", Param: "messages"}},
	{kindIs(providers.KindModelNotFound), Error{Status: 404, Kind: TypeInvalid, Code: "model_not_found", Param: "model"}},
	{kindIs(providers.KindAuth), Error{Status: 502, Kind: TypeServer, Code: "model_auth"}},
	{kindIs(providers.KindBudget), Error{Status: 429, Kind: typeRateLimit, Code: "budget_exceeded"}},
	{kindIs(providers.KindQuota), Error{Status: 429, Kind: typeRateLimit, Code: "model_quota"}},
	{isUnreachable, Error{Status: 503, Kind: TypeServer, Code: "model_unreachable"}},
	{isOverloaded, Error{Status: 503, Kind: TypeServer, Code: "model_overloaded"}},
	{kindIs(providers.KindUnavailable), Error{Status: 502, Kind: TypeServer, Code: "model_failed"}},
	{kindIs(providers.KindTimeout), Error{Status: 504, Kind: TypeServer, Code: "model_timeout"}},
	{kindIs(providers.KindIncomplete), Error{Status: 502, Kind: TypeServer, Code: "model_incomplete"}},
	{kindIs(providers.KindProtocol), Error{Status: 502, Kind: TypeServer, Code: "model_protocol"}},
	{errIs(agent.ErrSchema), Error{Status: 502, Kind: TypeServer, Code: "model_schema_mismatch"}},
	{errIs(agent.ErrNotSaved), Error{Status: 502, Kind: TypeServer, Code: "answer_not_saved", NoRetry: true}},
	{errIs(agent.ErrToolChoice), Error{Status: 400, Kind: TypeInvalid, Code: "invalid_request", Param: "tool_choice"}},
	{errIs(agent.ErrParent), Error{Status: 400, Kind: TypeInvalid, Code: "invalid_request", Param: "molar.parent"}},
	{errIs(agent.ErrWithout), Error{Status: 400, Kind: TypeInvalid, Code: "invalid_request", Param: "molar.without"}},
	{errIs(agent.ErrInvalid), Error{Status: 400, Kind: TypeInvalid, Code: "invalid_request"}},
	{errIs(agent.ErrNotFound), Error{Status: 404, Kind: TypeInvalid, Code: "model_not_found", Param: "model"}},
	{errIs(agent.ErrBusy), Error{Status: 409, Kind: TypeInvalid, Code: "conversation_busy", RetryAfter: time.Second}},
	{errIs(agent.ErrSearch), Error{Status: 503, Kind: TypeServer, Code: "search_unavailable", RetryAfter: time.Second}},
	{errIs(agent.ErrStore), Error{Status: 503, Kind: TypeServer, Code: "store_unavailable", RetryAfter: time.Second}},
	{errIs(agent.ErrUnavailable), Error{Status: 503, Kind: TypeServer, Code: "server_unavailable", RetryAfter: time.Second}},
	{errIs(context.DeadlineExceeded), Error{Status: 504, Kind: TypeServer, Code: "timeout"}},
	{errIs(context.Canceled), Error{Status: 503, Kind: TypeServer, Code: "stopped"}},
}

func kindIs(k providers.Kind) func(error) bool {
	return func(err error) bool { return providers.KindOf(err) == k }
}

// isUnreachable reports whether err is that of a service that is down, or not at its address, as
// opposed to a service that answered with an error.
func isUnreachable(err error) bool {
	e, ok := errors.AsType[*providers.Error](err)
	return ok && e.Kind == providers.KindUnavailable && (e.Status == 0 || e.Status == http.StatusNotFound)
}

// isOverloaded reports whether err is that of an overloaded service. Some services answer with 529.
func isOverloaded(err error) bool {
	const overloaded = 529
	e, ok := errors.AsType[*providers.Error](err)
	return ok && e.Kind == providers.KindUnavailable && (e.Status == http.StatusServiceUnavailable || e.Status == overloaded)
}

func errIs(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

// Failure returns the answer for err. The text of an error of a known kind is sent to the client;
// for any other error it returns [ErrInternal], since its text is for the log only.
func Failure(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	for _, f := range failures {
		if !f.is(err) {
			continue
		}
		e := f.want
		e.Message = err.Error()
		if p, ok := errors.AsType[*providers.Error](err); ok {
			e.RetryAfter = p.RetryAfter
		}
		return &e
	}
	return ErrInternal
}

// AfterTool returns the error for a request whose tools may have had their effect, which must not
// be repeated: it has none of the statuses that clients retry automatically, 408, 409, 429 and 5xx.
func (e *Error) AfterTool() *Error {
	safe := *e
	safe.NoRetry = true
	safe.RetryAfter = 0
	if e.Status == http.StatusRequestTimeout || e.Status == http.StatusConflict ||
		e.Status == http.StatusTooManyRequests || e.Status >= 500 {
		safe.Status = http.StatusFailedDependency
		safe.Message += "; a tool had already run, so ask again only if that may happen twice"
	}
	return &safe
}

// StatusActed is the status of a turn that failed after a tool ran. 424 would fit best, but
// LangChain retries on every status that it does not know. No common client retries on this one.
const StatusActed = http.StatusBadRequest

// AfterTurnTool is like AfterTool, for the failure of a turn: its status is [StatusActed] in place
// of 424.
func (e *Error) AfterTurnTool() *Error {
	safe := e.AfterTool()
	if safe.Status == http.StatusFailedDependency {
		safe.Status = StatusActed
	}
	return safe
}

// An ErrorObject is the body of every failed answer.
type ErrorObject struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
		// Faults is set for errors that can have several, and RetryAfter, in seconds, if it is known when to
		// ask again. They are additions to OpenAI's object.
		Faults     []string `json:"faults,omitempty"`
		RetryAfter int64    `json:"retry_after,omitempty"`
	} `json:"error"`
	// Molar is set if a turn had begun.
	Molar *TurnRef `json:"molar,omitempty"`
}

// Object returns the body of the error. The message of a server's fault includes the request id, by
// which the log can be searched.
func (e *Error) Object(requestID string) ErrorObject {
	var o ErrorObject
	o.Error.Message, o.Error.Type, o.Error.Faults, o.Molar = Clip(e.Message, MaxMessage), e.Kind, e.Faults, e.Turn
	o.Error.RetryAfter = int64((e.RetryAfter + time.Second - 1) / time.Second)
	if (e.Status >= 500 || e.Kind == TypeServer) && requestID != "" {
		o.Error.Message += " (request id " + requestID + ")"
	}
	if e.Param != "" {
		o.Error.Param = &e.Param
	}
	if e.Code != "" {
		o.Error.Code = &e.Code
	}
	return o
}

// Body returns the object as JSON.
func (e *Error) Body(requestID string) []byte {
	b, err := json.Marshal(e.Object(requestID))
	if err != nil {
		panic(err) // strings cannot fail to marshal
	}
	return b
}

// WriteError answers with e. Nothing may have been written before.
func WriteError(w http.ResponseWriter, e *Error) {
	h := w.Header()
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
	if e.NoRetry {
		h.Set("X-Should-Retry", "false")
	}
	WriteBody(w, e.Status, e.Body(RequestID(w)))
}

// Clip shortens s to at most n bytes, at a character boundary, for use in a message.
func Clip(s string, n int) string { return text.Clip(s, n, "…") }
