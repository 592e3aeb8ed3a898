package providers

import (
	"errors"
	"fmt"
	"time"
)

// A Kind is a class of provider failure that a caller acts on.
type Kind string

// The kinds of failure.
const (
	// KindInvalid: the request can never succeed as it is (HTTP 400).
	KindInvalid Kind = "invalid_request"
	// KindContextLength: the prompt does not fit the model's context window.
	KindContextLength Kind = "context_length_exceeded"
	// KindModelNotFound: the model does not exist or is not pulled.
	KindModelNotFound Kind = "model_not_found"
	// KindAuth: the host's credentials were refused.
	KindAuth Kind = "auth"
	// KindQuota: rate or quota limit; RetryAfter may be set.
	KindQuota Kind = "quota"
	// KindUnavailable: the service is down, overloaded or not reachable.
	KindUnavailable Kind = "unavailable"
	// KindTimeout: no output in time.
	KindTimeout Kind = "timeout"
	// KindIncomplete: the stream broke off before its end.
	KindIncomplete Kind = "incomplete"
	// KindBudget: a budget for models is used up; RetryAfter says until when. No provider can help.
	KindBudget Kind = "budget"
	// KindProtocol: the service sent something that cannot be read.
	KindProtocol Kind = "protocol"
)

// An Error is a failed model call. Its text names what to do and holds no secret.
type Error struct {
	Kind     Kind
	Provider string
	Model    string
	// Status is the HTTP status, or zero if there was no HTTP answer.
	Status     int
	RetryAfter time.Duration
	// Again, if not empty, is why an immediate retry is likely to succeed. Changed is set if the
	// provider has learnt from the failure, so that its next request will differ: it may be retried
	// as often as it changes.
	Again   string
	Changed bool
	// Reask is set with Again if the retry may follow text of this call, which then is commentary:
	// the model began something after it that cannot be used.
	Reask bool
	// Window is the model's context window in tokens, if a KindContextLength names it; else 0.
	Window int
	// Final is set if the service reports that a retry cannot succeed.
	Final bool
	Err   error
}

// Error returns a text with the provider, the model and the cause.
func (e *Error) Error() string {
	if e.Kind == KindBudget && e.Err != nil { // it is about no provider
		return e.Err.Error()
	}
	where := e.Provider
	if e.Model != "" {
		where += " model " + e.Model
	}
	if e.Err == nil {
		return fmt.Sprintf("%s: %s", where, e.Kind)
	}
	return fmt.Sprintf("%s: %v", where, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the first [*Error] in err's chain, or "".
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}
