package gemini

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genai"

	"molar/providers"
)

// maxMessage is how much of a foreign text is shown.
const maxMessage = 500

// The causes of a cancelled call that are ours.
var (
	errNoOutput = errors.New("no output in time")
	errStalled  = errors.New("the stream stalled")
)

func (p *Provider) fail(kind providers.Kind, model string, err error) *providers.Error {
	return &providers.Error{Kind: kind, Provider: name, Model: model, Err: err}
}

// callError explains an error of the SDK. Only the service's own message is passed
// on: the SDK's texts quote addresses, bodies and whole events.
func (p *Provider) callError(ctx context.Context, model string, x *exchange, err error) *providers.Error {
	if cause := context.Cause(ctx); cause != nil {
		return p.cancelled(model, cause)
	}
	if api, ok := errors.AsType[genai.APIError](err); ok {
		e := p.statusError(model, api.Code, api.Status, api.Message)
		if reason(api) == "API_KEY_INVALID" {
			e.Kind = providers.KindAuth
		}
		e.RetryAfter = max(retryInfo(api), retryAfter(x.header))
		return e
	}
	if x.events != nil {
		return p.unreadable(model)
	}
	if urlErr, ok := errors.AsType[*url.Error](err); ok {
		err = urlErr.Err // the outer one quotes the whole URL
	} else {
		return p.fail(providers.KindUnavailable, model, errors.New("no readable answer from "+p.shown))
	}
	if netErr, ok := errors.AsType[net.Error](err); ok && netErr.Timeout() {
		return p.fail(providers.KindTimeout, model, fmt.Errorf("no answer from %s: %w", p.shown, p.plain(err)))
	}
	return p.fail(providers.KindUnavailable, model, fmt.Errorf("no answer from %s: %w", p.shown, p.plain(err)))
}

func (p *Provider) unreadable(model string) *providers.Error {
	return p.fail(providers.KindProtocol, model, errors.New("an event of the stream cannot be read; check that "+p.shown+" is the Gemini API"))
}

// plain gives an error a text without secrets and keeps its chain.
func (p *Provider) plain(err error) error { return plainError{p.clean(err.Error()), err} }

type plainError struct {
	text string
	err  error
}

func (e plainError) Error() string { return e.text }
func (e plainError) Unwrap() error { return e.err }

// cancelled explains a call whose context ended.
func (p *Provider) cancelled(model string, cause error) *providers.Error {
	switch {
	case errors.Is(cause, errNoOutput):
		return p.fail(providers.KindTimeout, model, fmt.Errorf("%w: nothing for %v", cause, p.firstByte))
	case errors.Is(cause, errStalled):
		return p.fail(providers.KindTimeout, model, fmt.Errorf("%w: nothing more for %v", cause, p.idle))
	case errors.Is(cause, context.DeadlineExceeded):
		return p.fail(providers.KindTimeout, model, fmt.Errorf("no answer in time from %s: %w", p.shown, cause))
	}
	return p.fail(providers.KindIncomplete, model, cause)
}

// statusError maps an error that the service reported, before or within a stream.
func (p *Provider) statusError(model string, status int, grpc, message string) *providers.Error {
	kind, text := p.classify(status, grpc, p.clean(message))
	e := p.fail(kind, model, errors.New(text))
	e.Status = status
	return e
}

func (p *Provider) classify(status int, grpc, message string) (providers.Kind, string) {
	said := message
	if said == "" {
		said = "status " + strconv.Itoa(status) + " without an explanation"
	}
	switch {
	case tooLong(message):
		return providers.KindContextLength, said + ": the conversation is too long for this model; start a new one or shorten it"
	case status == http.StatusUnauthorized, status == http.StatusForbidden, strings.Contains(message, "API key not valid"):
		return providers.KindAuth, "the API key was refused, check GEMINI_API_KEY: " + said
	case status == http.StatusNotFound && grpc != "NOT_FOUND":
		return providers.KindUnavailable, "no Gemini API at " + p.shown + " (status 404): check the base URL"
	case status == http.StatusNotFound:
		return providers.KindModelNotFound, said
	case status == http.StatusTooManyRequests:
		return providers.KindQuota, said
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout:
		return providers.KindTimeout, said
	case status >= 500, status == 0:
		return providers.KindUnavailable, said
	case status >= 400:
		return providers.KindInvalid, said
	case status >= 300:
		return providers.KindProtocol, p.shown + " redirects (status " + strconv.Itoa(status) + "), which is not followed: set the base URL to where it leads"
	}
	return providers.KindProtocol, "unexpected " + said
}

// tooLong says whether a message means that the prompt does not fit.
func tooLong(message string) bool {
	m := strings.ToLower(message)
	return strings.Contains(m, "token count") && strings.Contains(m, "exceed") ||
		strings.Contains(m, "exceeds the maximum number of tokens") ||
		strings.Contains(m, "prompt is too long") || strings.Contains(m, "context length")
}

// reason is the machine-readable reason of an error, if it has one.
func reason(e genai.APIError) string {
	for _, d := range e.Details {
		if r, ok := d["reason"].(string); ok {
			return r
		}
	}
	return ""
}

// retryInfo is the wait that an error's details ask for.
func retryInfo(e genai.APIError) time.Duration {
	for _, d := range e.Details {
		kind, _ := d["@type"].(string)
		delay, _ := d["retryDelay"].(string)
		if wait, err := time.ParseDuration(delay); err == nil && wait > 0 && strings.HasSuffix(kind, "google.rpc.RetryInfo") {
			return wait
		}
	}
	return 0
}

// retryAfter reads the header: seconds, or a date.
func retryAfter(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(min(max(seconds, 0), 24*3600)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}

// clean bounds a foreign text and takes the key and the queries of addresses out.
func (p *Provider) clean(s string) string {
	s = strings.ToValidUTF8(strings.TrimSpace(s), "�")
	s = p.queries.ReplaceAllString(s, "$1")
	s = strings.ReplaceAll(s, p.key, "[API key]")
	if len(s) <= maxMessage {
		return s
	}
	return strings.ToValidUTF8(s[:maxMessage], "") + "…"
}
