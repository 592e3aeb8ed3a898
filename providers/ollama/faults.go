package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ollama/ollama/api"

	"molar/providers"
)

const (
	// maxErrorBody is how much of an error's body is read, maxMessage how much of
	// its text is shown.
	maxErrorBody = 64 << 10
	maxMessage   = 500
	// busyWait is what a busy server without Retry-After is given.
	busyWait = time.Second
)

// The causes of a cancelled call that are ours.
var (
	errNoOutput = errors.New("no output in time")
	errStalled  = errors.New("the stream stalled")
)

// fail makes a [*providers.Error].
func (p *Provider) fail(kind providers.Kind, model string, err error) *providers.Error {
	return &providers.Error{Kind: kind, Provider: name, Model: model, Err: err}
}

// transportError explains a request that got no answer, or a stream that broke.
func (p *Provider) transportError(ctx context.Context, model string, err error) *providers.Error {
	if cause := context.Cause(ctx); cause != nil {
		return p.cancelled(model, cause)
	}
	// *url.Error quotes the whole URL.
	if urlErr, ok := errors.AsType[*url.Error](err); ok {
		err = urlErr.Err
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return p.fail(providers.KindUnavailable, model,
			fmt.Errorf("nobody listens at %s: start Ollama or set OLLAMA_BASE_URL: %w", p.shown, syscall.ECONNREFUSED))
	}
	if netErr, ok := errors.AsType[net.Error](err); ok && netErr.Timeout() {
		return p.fail(providers.KindTimeout, model, fmt.Errorf("no answer from %s: %w", p.shown, err))
	}
	return p.fail(providers.KindUnavailable, model, fmt.Errorf("no answer from %s: %w", p.shown, err))
}

// cancelled explains a call whose context ended.
func (p *Provider) cancelled(model string, cause error) *providers.Error {
	switch {
	case errors.Is(cause, errNoOutput):
		return p.fail(providers.KindTimeout, model, fmt.Errorf("%w: nothing for %v; is the model too large for this machine?", cause, p.firstByte))
	case errors.Is(cause, context.DeadlineExceeded):
		return p.fail(providers.KindTimeout, model, fmt.Errorf("no answer in time from %s: %w", p.shown, cause))
	}
	return p.fail(providers.KindIncomplete, model, cause)
}

// apiError explains an error of the api client.
func (p *Provider) apiError(ctx context.Context, model string, err error) *providers.Error {
	if status, ok := errors.AsType[api.StatusError](err); ok {
		return p.statusError(model, status.StatusCode, status.ErrorMessage, nil)
	}
	if auth, ok := errors.AsType[api.AuthorizationError](err); ok {
		return p.statusError(model, auth.StatusCode, "", nil)
	}
	if _, ok := errors.AsType[*url.Error](err); ok || ctx.Err() != nil {
		return p.transportError(ctx, model, err)
	}
	return p.fail(providers.KindProtocol, model, fmt.Errorf("%s does not answer like Ollama: %w", p.shown, err))
}

// answerError reads an answer whose status is not 200.
func (p *Provider) answerError(model string, resp *http.Response) *providers.Error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	return p.statusError(model, resp.StatusCode, errorText(body), resp.Header)
}

// errorText finds the message in an error's body: {"error": text} or an object
// with a message. It is empty for anything else.
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
	e := p.fail(kind, model, errors.New(text))
	e.Status = status
	if kind == providers.KindQuota || status == http.StatusServiceUnavailable {
		e.RetryAfter = retryAfter(header)
		if e.RetryAfter == 0 && status == http.StatusServiceUnavailable {
			e.RetryAfter = busyWait
		}
	}
	return e
}

func (p *Provider) classify(model string, status int, message string) (providers.Kind, string) {
	said := clip(message)
	if said == "" {
		said = "status " + strconv.Itoa(status) + " without an explanation"
	}
	switch {
	case isOverflow(message):
		return providers.KindContextLength, said + ": the conversation is too long for this model; start a new one or shorten it"
	case strings.Contains(message, refusesTools):
		return providers.KindInvalid, said + ": " + noTools
	case status == http.StatusNotFound && !strings.Contains(message, "not found"),
		status == http.StatusNotFound && strings.Contains(message, "page not found"):
		return providers.KindUnavailable, "no Ollama at " + p.shown + " (status 404): check OLLAMA_BASE_URL"
	case status == http.StatusNotFound:
		return providers.KindModelNotFound, said + ": run: ollama pull " + model
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return providers.KindAuth, "the server refused the host's credentials: " + said
	case status == http.StatusTooManyRequests:
		return providers.KindQuota, said
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout:
		return providers.KindTimeout, said
	case status >= 500:
		return providers.KindUnavailable, said
	case status >= 400:
		return providers.KindInvalid, said
	}
	return providers.KindProtocol, "unexpected " + said
}

// refusesTools is what the server says of a model without tool support.
const refusesTools = "does not support tools"

// isToolRefusal says whether the model was offered tools and takes none.
func isToolRefusal(err error) bool {
	return providers.KindOf(err) == providers.KindInvalid && strings.Contains(err.Error(), refusesTools)
}

// noTools is said of a model that takes no tools.
const noTools = "this model does not take tools: choose one that does, such as " + DefaultModel +
	" (ollama pull " + DefaultModel + "), or turn the assistant's tools off"

// streamError maps an error line, which comes after a status of 200.
func (p *Provider) streamError(model, message string) *providers.Error {
	kind := providers.KindUnavailable
	if isOverflow(message) {
		kind = providers.KindContextLength
	}
	if message = clip(message); message == "" {
		message = "the server reported an error without a text"
	}
	return p.fail(kind, model, errors.New(message))
}

// isOverflow says whether a message means that the prompt is too long.
func isOverflow(message string) bool {
	return strings.Contains(message, "exceeds the context length") ||
		strings.Contains(message, "exceeds the available context size") ||
		strings.Contains(message, "exceeds maximum context length") ||
		strings.Contains(message, "input length exceeds")
}

// isParserFault says whether a message means that the server could not read the
// call that the model wrote.
func isParserFault(message string) bool {
	return strings.Contains(message, "tool call") || strings.Contains(message, "invalid character") ||
		strings.Contains(message, "unexpected end of JSON")
}

// retryAfter reads the header, which holds seconds; 0 when there is none.
func retryAfter(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil && seconds > 0 {
		return min(time.Duration(seconds), 24*3600) * time.Second
	}
	return 0
}

// clip bounds a foreign message.
func clip(s string) string {
	s = strings.ToValidUTF8(strings.TrimSpace(s), "�")
	if len(s) <= maxMessage {
		return s
	}
	return strings.ToValidUTF8(s[:maxMessage], "") + "…"
}
