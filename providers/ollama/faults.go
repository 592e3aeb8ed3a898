package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/ollama/ollama/api"

	"molar/providers"
	"molar/providers/wire"
)

// busyWait is the wait for a busy server without Retry-After.
const busyWait = time.Second

// apiError returns the error of an api client's error.
func (p *Provider) apiError(ctx context.Context, model string, err error) *providers.Error {
	if status, ok := errors.AsType[api.StatusError](err); ok {
		return p.statusError(model, status.StatusCode, status.ErrorMessage, nil)
	}
	if auth, ok := errors.AsType[api.AuthorizationError](err); ok {
		return p.statusError(model, auth.StatusCode, "", nil)
	}
	if _, ok := errors.AsType[*url.Error](err); ok || ctx.Err() != nil {
		return p.faults.Transport(ctx, model, err)
	}
	return p.faults.Fail(providers.KindProtocol, model, errors.New("the server does not answer like Ollama: "+p.faults.Clean(err.Error())))
}

// answerError reads an answer whose status is not 200.
func (p *Provider) answerError(model string, resp *http.Response) *providers.Error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, wire.MaxErrorBody))
	return p.statusError(model, resp.StatusCode, errorText(body), resp.Header)
}

// errorText returns the message in an error's body: {"error": text} or an object with a message.
// It is empty for anything else.
func errorText(body []byte) string {
	var outer struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &outer) != nil || len(outer.Error) == 0 {
		return ""
	}
	var text string
	if json.Unmarshal(outer.Error, &text) == nil {
		return text
	}
	var inner struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(outer.Error, &inner) == nil && inner.Message != "" {
		return inner.Message
	}
	return string(outer.Error)
}

// statusError maps a status and the server's message to a kind.
func (p *Provider) statusError(model string, status int, message string, header http.Header) *providers.Error {
	kind, text := p.classify(model, status, strings.TrimSpace(message))
	e := p.faults.Fail(kind, model, errors.New(text))
	if status == http.StatusInternalServerError && message != "" {
		e.Err = brokenError{message, e.Err}
	}
	e.Status = status
	e.RetryAfter = wire.RetryAfter(header)
	if e.RetryAfter == 0 && status == http.StatusServiceUnavailable {
		e.RetryAfter = busyWait
	}
	return e
}

func (p *Provider) classify(model string, status int, message string) (providers.Kind, string) {
	reason, kind := p.faults.Said(status, message), wire.KindOf(status, message)
	switch {
	case kind == providers.KindContextLength:
		return kind, reason
	case strings.Contains(message, refusesTools):
		return providers.KindInvalid, reason + ": " + noTools
	case status == http.StatusNotFound && (!strings.Contains(message, "not found") || strings.Contains(message, "page not found")):
		return providers.KindUnavailable, "no Ollama at this address (status 404): check " + p.setting
	case kind == providers.KindModelNotFound:
		return kind, reason + ": run: ollama pull " + model
	case kind == providers.KindAuth:
		return kind, "the server refused the host's credentials: " + reason
	case kind == providers.KindProtocol:
		return kind, p.faults.Redirects(status)
	case kind == "":
		return providers.KindProtocol, "unexpected " + reason
	}
	return kind, reason
}

// refusesTools is the server's message for a model without tool support.
const refusesTools = "does not support tools"

// isToolRefusal reports whether tools were offered to a model without tool support.
func isToolRefusal(err error) bool {
	return providers.KindOf(err) == providers.KindInvalid && strings.Contains(err.Error(), refusesTools)
}

// noTools is the error text for a model without tool support.
const noTools = "this model does not take tools: choose one that does, such as " + DefaultModel +
	" (ollama pull " + DefaultModel + "), or turn the assistant's tools off"

// streamError maps an error line, which comes after a status of 200.
func (p *Provider) streamError(model, message string) *providers.Error {
	said := wire.Fault{Message: message}
	if wire.IsOverflow(message) {
		said.Kind = providers.KindContextLength
	}
	e := p.faults.Reported(model, said)
	e.Err = brokenError{message, e.Err}
	return e
}

// A brokenError is the server's error for an answer that it could not finish.
type brokenError struct {
	message string // unchanged
	error
}

// ofCall reports whether the error is about the model's output: it is unless it is about the
// machine, the model itself, or the request. Each of the server's tool-call parsers has its own
// error texts, and they may contain tool names.
func (e brokenError) ofCall() bool {
	elsewhere := regexp.MustCompile(`(?i)\b(memory|cuda|rocm|gpu|vram|runner|load(ing)? model|running the model|failed to load` +
		`|may be incompatible|llm response|server status|slots available|busy|timed out|unauthorized|forbidden|cancell?ed)\b`)
	return !elsewhere.MatchString(e.message) && !wire.IsOverflow(e.message)
}
