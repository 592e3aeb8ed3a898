package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"molar/agent"
	"molar/providers"
)

// The types of an OpenAI error object.
const (
	typeInvalid   = "invalid_request_error"
	typeRateLimit = "rate_limit_error"
	typeServer    = "server_error"
	// typePermission is that of a request whose key may not do what it asks for.
	typePermission = "permission_error"
)

// maxMessage bounds the text of an error in bytes, so that no upstream body that
// slipped into one is passed on whole.
const maxMessage = 1000

// An apiError is an answer to a request that failed: an HTTP status and an OpenAI
// error object.
type apiError struct {
	status  int
	kind    string
	message string
	// param names the field of the request that is at fault, or is empty.
	param string
	code  string
	// retryAfter is when trying again makes sense; zero when that is not known.
	retryAfter time.Duration
	// noRetry tells clients that retry by themselves to leave it.
	noRetry bool
	// faults lists what is wrong one by one, where there may be several.
	faults []string
}

func (e *apiError) Error() string { return e.message }

var errInternal = &apiError{
	status: http.StatusInternalServerError, kind: typeServer, code: "internal_error",
	message: "something went wrong inside the server; its log says what",
}

// invalid is a 400 that names the field at fault.
func invalid(param, format string, args ...any) *apiError {
	return &apiError{
		status: http.StatusBadRequest, kind: typeInvalid, code: "invalid_value",
		param: param, message: fmt.Sprintf(format, args...),
	}
}

// failures maps the kinds of error that end a turn. The first that matches counts.
var failures = []struct {
	is   func(error) bool
	want apiError
}{
	{kindIs(providers.KindInvalid), apiError{status: 400, kind: typeInvalid, code: "invalid_request"}},
	{kindIs(providers.KindContextLength), apiError{status: 400, kind: typeInvalid, code: "context_length_exceeded", param: "messages"}},
	{kindIs(providers.KindModelNotFound), apiError{status: 404, kind: typeInvalid, code: "model_not_found", param: "model"}},
	{kindIs(providers.KindAuth), apiError{status: 502, kind: typeServer, code: "upstream_auth"}},
	{kindIs(providers.KindQuota), apiError{status: 429, kind: typeRateLimit, code: "rate_limit_exceeded"}},
	{kindIs(providers.KindUnavailable), apiError{status: 503, kind: typeServer, code: "upstream_unavailable"}},
	{kindIs(providers.KindTimeout), apiError{status: 504, kind: typeServer, code: "upstream_timeout"}},
	{kindIs(providers.KindIncomplete), apiError{status: 502, kind: typeServer, code: "upstream_incomplete"}},
	{kindIs(providers.KindProtocol), apiError{status: 502, kind: typeServer, code: "upstream_protocol"}},
	{errIs(agent.ErrNotSaved), apiError{status: 502, kind: typeServer, code: "answer_not_saved", noRetry: true}},
	{errIs(agent.ErrToolChoice), apiError{status: 400, kind: typeInvalid, code: "invalid_request", param: "tool_choice"}},
	{errIs(agent.ErrInvalid), apiError{status: 400, kind: typeInvalid, code: "invalid_request"}},
	{errIs(agent.ErrNotFound), apiError{status: 404, kind: typeInvalid, code: "model_not_found", param: "model"}},
	{errIs(agent.ErrBusy), apiError{status: 409, kind: typeInvalid, code: "conversation_busy", retryAfter: time.Second}},
	{errIs(agent.ErrUnavailable), apiError{status: 503, kind: typeServer, code: "unavailable", retryAfter: time.Second}},
	{errIs(context.DeadlineExceeded), apiError{status: 504, kind: typeServer, code: "timeout"}},
	{errIs(context.Canceled), apiError{status: 503, kind: typeServer, code: "stopped"}},
}

func kindIs(k providers.Kind) func(error) bool {
	return func(err error) bool { return providers.KindOf(err) == k }
}

func errIs(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

// failureOf returns what a client is told about err. The texts of known kinds are
// written for people; any other error is for the log alone.
func failureOf(err error) *apiError {
	if e, ok := errors.AsType[*apiError](err); ok {
		return e
	}
	for _, f := range failures {
		if !f.is(err) {
			continue
		}
		e := f.want
		e.message = err.Error()
		if p, ok := errors.AsType[*providers.Error](err); ok {
			e.retryAfter = p.RetryAfter
		}
		return &e
	}
	return errInternal
}

// afterTool rewrites a failure of a turn whose tools may have had their effect:
// clients repeat a request on 408, 409, 429 and 5xx by themselves, and this one
// must not run twice.
func (e *apiError) afterTool() *apiError {
	safe := *e
	safe.noRetry = true
	safe.retryAfter = 0
	if e.status == http.StatusRequestTimeout || e.status == http.StatusConflict ||
		e.status == http.StatusTooManyRequests || e.status >= 500 {
		safe.status = http.StatusFailedDependency
		safe.message += "; a tool had already run, so ask again only if that may happen twice"
	}
	return &safe
}

// statusActed answers a turn that failed after a tool ran. 424 would say it best, but
// of the common clients LangChain repeats a request on any status that it does not
// know; on this one none does.
const statusActed = http.StatusBadRequest

// afterTurnTool is afterTool for a turn, which clients repeat with everything in it.
func (e *apiError) afterTurnTool() *apiError {
	safe := e.afterTool()
	if safe.status == http.StatusFailedDependency {
		safe.status = statusActed
	}
	return safe
}

// body is the OpenAI error object. Server faults carry the request id, by which
// the log can be searched.
func (e *apiError) body(requestID string) []byte {
	type object struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
		// Faults is our own, beside what OpenAI's object holds.
		Faults []string `json:"faults,omitempty"`
	}
	o := object{Message: clip(e.message, maxMessage), Type: e.kind, Faults: e.faults}
	if (e.status >= 500 || e.kind == typeServer) && requestID != "" {
		o.Message += " (request id " + requestID + ")"
	}
	if e.param != "" {
		o.Param = &e.param
	}
	if e.code != "" {
		o.Code = &e.code
	}
	b, err := json.Marshal(map[string]object{"error": o})
	if err != nil {
		panic(err) // strings cannot fail to marshal
	}
	return b
}

// writeError answers with e; nothing may have been written before.
func writeError(w http.ResponseWriter, e *apiError) {
	h := w.Header()
	if e.retryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.retryAfter.Seconds()))))
	}
	if e.noRetry {
		h.Set("X-Should-Retry", "false")
	}
	writeBody(w, e.status, e.body(requestID(w)))
}

// writeJSON answers with v.
func writeJSON(w http.ResponseWriter, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		writeError(w, errInternal)
		return
	}
	writeBody(w, http.StatusOK, body)
}

func writeBody(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone; there is nobody else to tell
}

// clip cuts s to at most n bytes, at the border of a character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
