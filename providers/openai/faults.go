package openai

import (
	"bytes"
	"context"
	"crypto/tls"
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

	"molar/providers"
)

// maxErrorBody is how much of an error's body is read.
const maxErrorBody = 64 << 10

// The causes of a cancelled call that are ours.
var (
	errNoOutput = errors.New("no output in time")
	errStalled  = errors.New("the stream stalled")
)

// fail makes a [*providers.Error].
func (p *Provider) fail(kind providers.Kind, model string, err error) *providers.Error {
	return &providers.Error{Kind: kind, Provider: name, Model: model, Err: err}
}

// transportError explains a request that got no answer.
func (p *Provider) transportError(ctx context.Context, model string, err error) *providers.Error {
	if own, ok := errors.AsType[*providers.Error](err); ok {
		return own
	}
	if cause := context.Cause(ctx); cause != nil {
		return p.cancelled(model, cause)
	}
	if netErr, ok := errors.AsType[net.Error](err); ok && netErr.Timeout() {
		return p.fail(providers.KindTimeout, model, errors.New("no answer from the service: the connection timed out"))
	}
	return p.fail(providers.KindUnavailable, model, fmt.Errorf("no answer from the service: %w", p.plain(err)))
}

// plain replaces an error of the network by one without addresses.
func (p *Provider) plain(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		if errno == syscall.ECONNREFUSED {
			return fmt.Errorf("%w: start the server or check llm.openai.base_url", errno)
		}
		return errno
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return errors.New("its host name is not known: check llm.openai.base_url")
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return errors.New("its certificate is not trusted: check llm.openai.base_url and ca_file")
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return errors.New("it does not speak TLS: check whether llm.openai.base_url starts with http:// or https://")
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return io.ErrUnexpectedEOF
	}
	if errors.Is(err, io.EOF) {
		return errors.New("it closed the connection")
	}
	if urlErr, ok := errors.AsType[*url.Error](err); ok {
		err = urlErr.Err
	}
	return errors.New(p.scrub.clean(err.Error()))
}

// cancelled explains a call whose context ended.
func (p *Provider) cancelled(model string, cause error) *providers.Error {
	switch {
	case errors.Is(cause, errNoOutput):
		return p.fail(providers.KindTimeout, model, fmt.Errorf("%w: nothing for %v", cause, p.firstByte))
	case errors.Is(cause, errStalled):
		return p.fail(providers.KindTimeout, model, fmt.Errorf("%w: nothing more for %v", cause, p.idle))
	case errors.Is(cause, context.DeadlineExceeded):
		return p.fail(providers.KindTimeout, model, fmt.Errorf("no answer in time: %w", cause))
	}
	return p.fail(providers.KindIncomplete, model, cause)
}

// A fault is what a server says of an error.
type fault struct {
	message string
	code    string // its code and type
	param   string
}

// isError says whether the error field of a frame reports one.
func isError(raw json.RawMessage) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", `""`, "false", "{}":
		return false
	}
	return true
}

// readFault finds the message of an error in the forms that servers use: OpenAI's
// object, a string in its place, a list of such answers, a bare object, the detail
// of Python frameworks, and plain text.
func readFault(data []byte) fault {
	if !json.Valid(data) && !bytes.HasPrefix(bytes.TrimSpace(data), []byte("<")) {
		return fault{message: string(bytes.TrimSpace(data))}
	}
	var list []json.RawMessage
	if json.Unmarshal(data, &list) == nil && len(list) > 0 {
		data = list[0]
	}
	type object struct {
		Message text `json:"message"`
		Type    text `json:"type"`
		Code    text `json:"code"`
		Param   text `json:"param"`
		Detail  text `json:"detail"`
	}
	var outer struct {
		Error json.RawMessage `json:"error"`
		object
	}
	_ = json.Unmarshal(data, &outer) // what is not there stays empty
	inner := outer.object
	if isError(outer.Error) {
		inner = object{}
		if outer.Error[0] == '{' {
			_ = json.Unmarshal(outer.Error, &inner)
		} else {
			_ = json.Unmarshal(outer.Error, &inner.Message)
			inner.Code, inner.Type = outer.Code, outer.Type
		}
	}
	if inner.Message == "" {
		inner.Message = inner.Detail
	}
	return fault{
		message: strings.TrimSpace(string(inner.Message)),
		code:    strings.TrimSpace(string(inner.Code) + " " + string(inner.Type)),
		param:   string(inner.Param),
	}
}

// streamError maps an error that came with status 200.
func (p *Provider) streamError(model string, data []byte) *providers.Error {
	f := readFault(data)
	status := 0
	if code, _, _ := strings.Cut(f.code, " "); len(code) == 3 {
		status, _ = strconv.Atoi(code)
	}
	said := p.scrub.clean(f.message)
	if said == "" {
		said = "the server reported an error without a text"
	}
	kind := f.kind(status)
	if kind == "" {
		kind = providers.KindUnavailable
	}
	return p.fail(kind, model, errors.New(said+advice(kind)))
}

// kind maps an error to a kind: by its code, then its text, then the status,
// which may be 0. It is empty when nothing tells.
func (f fault) kind(status int) providers.Kind {
	has := func(codes ...string) bool {
		for _, code := range codes {
			if strings.Contains(f.code, code) {
				return true
			}
		}
		return false
	}
	switch {
	case has("context_length_exceeded", "exceed_context_size"), status != http.StatusTooManyRequests && isOverflow(f.message):
		return providers.KindContextLength
	case has("model_not_found"):
		return providers.KindModelNotFound
	case status == http.StatusUnauthorized, status == http.StatusForbidden, has("invalid_api_key", "authentication_error", "permission_error"):
		return providers.KindAuth
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status == http.StatusPaymentRequired,
		has("rate_limit", "insufficient_quota"):
		return providers.KindQuota
	case status == http.StatusNotFound:
		return providers.KindModelNotFound
	case status >= 500:
		return providers.KindUnavailable
	case status >= 400, has("invalid_request"):
		return providers.KindInvalid
	case status >= 300:
		return providers.KindProtocol
	}
	return ""
}

// isOverflow says whether a message means that the prompt is too long.
func isOverflow(message string) bool {
	message = strings.ToLower(message)
	for _, sign := range []string{
		"maximum context length", "maximum model length", "available context size", "context length of only",
		"exceeds the context", "exceeds the model's context", "context window", "prompt is too long",
	} {
		if strings.Contains(message, sign) {
			return true
		}
	}
	return false
}

// advice says what a person can do about a kind of fault.
func advice(kind providers.Kind) string {
	switch kind {
	case providers.KindContextLength:
		return ": the conversation is too long for this model; start a new one or shorten it"
	case providers.KindModelNotFound:
		return ": check llm.openai.model and llm.openai.base_url"
	case providers.KindAuth:
		return ": check OPENAI_API_KEY"
	}
	return ""
}
