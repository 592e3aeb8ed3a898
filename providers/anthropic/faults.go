package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"molar/providers"
	"molar/providers/wire"
)

// refusal reads an answer with a failure status, and learns from it.
func (c *call) refusal(ctx context.Context, b *body, resp *http.Response) error {
	err, f := c.p.readRefusal(b.Model, resp)
	refusal := wire.Refusal{Status: resp.StatusCode, Message: f.message}
	next, why, set := b.eased, "", c.answer.Set
	if resp.StatusCode == http.StatusBadRequest {
		next, why = b.ease(f.message)
	}
	if why != "" {
		set = nil // it is about none of the tools
	}
	switch {
	case c.p.learn(err, b, refusal, set):
		err.Err = easedError{err.Err, b.eased}
		return err
	case why != "":
		err.Again, err.Changed = why, true
		err.Err = easedError{err.Err, next}
		return err
	}
	return wire.Suggest(ctx, err, err.Model, c.p.Models)
}

// readRefusal reads an answer with a failure status.
func (p *Provider) readRefusal(model string, resp *http.Response) (*providers.Error, fault) {
	data, _ := io.ReadAll(io.LimitReader(resp.Body, wire.MaxErrorBody))
	f := readFault(data)
	said := f.said(resp.StatusCode)
	if said.Kind == providers.KindModelNotFound && f.code == "" && (!json.Valid(data) || f.message == "Not Found") {
		said.Missing = "no Messages API at this address (status 404): check " + p.setting + ".base_url"
	}
	return f.sized(p.faults.Refused(model, resp, said)), f
}

// said returns the fault in the form that all adapters have; status may be 0.
func (f fault) said(status int) wire.Fault {
	return wire.Fault{Kind: f.kind(status), Message: f.message, UsedUp: f.usedUp()}
}

// sized sets the window that the fault names.
func (f fault) sized(err *providers.Error) *providers.Error {
	if _, window := sumIn(f.message); err.Kind == providers.KindContextLength && (window > 0 || f.code == codeTooLarge) {
		err.Window = window // other numbers in the message are none
	}
	return err
}

// A fault is a server's error.
type fault struct {
	message string
	code    string // its type
}

// The types of errors, see https://platform.claude.com/docs/en/api/errors.
const (
	codeInvalid    = "invalid_request_error"
	codeAuth       = "authentication_error"
	codeBilling    = "billing_error"
	codePermission = "permission_error"
	codeNotFound   = "not_found_error"
	codeTooLarge   = "request_too_large"
	codeLimit      = "rate_limit_error"
	codeTimeout    = "timeout_error"
	codeAPI        = "api_error"
	codeOverloaded = "overloaded_error"
)

// statuses returns the statuses of errors by type, for those inside a stream, whose status was sent
// before.
func statuses() map[string]int {
	return map[string]int{
		codeInvalid: 400, codeAuth: 401, codeBilling: 402, codePermission: 403, codeNotFound: 404, codeTooLarge: 413,
		codeLimit: 429, codeAPI: 500, codeTimeout: 504, codeOverloaded: 529,
	}
}

// usedUp reports whether the account is out of money, which no wait fixes.
func (f fault) usedUp() bool {
	return f.code == codeBilling || strings.Contains(strings.ToLower(f.message), "credit balance is too low")
}

// kind maps an error to a kind: by its type, then its text and the status, which may be 0. It is
// empty if nothing matches.
func (f fault) kind(status int) providers.Kind {
	said := strings.ToLower(f.message)
	switch {
	case f.usedUp():
		return providers.KindQuota
	case f.code == codeTooLarge, status != http.StatusTooManyRequests && strings.Contains(said, "exceed context limit"):
		return providers.KindContextLength
	}
	if byType := statuses()[f.code]; byType > 0 && status == 0 {
		status = byType
	}
	return wire.KindOf(status, f.message)
}

// readFault reads an error in the forms that servers use: Anthropic's object, a string in its place, a
// bare object, the detail of Python frameworks, and plain text.
func readFault(data []byte) fault {
	if !json.Valid(data) && !strings.HasPrefix(strings.TrimSpace(string(data)), "<") {
		return fault{message: strings.TrimSpace(string(data))}
	}
	type object struct {
		Type    string `json:"type"`
		Message string `json:"message"`
		Detail  string `json:"detail"`
	}
	var outer struct {
		Error json.RawMessage `json:"error"`
		object
	}
	_ = json.Unmarshal(data, &outer) // missing fields stay empty
	inner := outer.object
	if len(outer.Error) > 0 && outer.Error[0] == '{' {
		inner = object{}
		_ = json.Unmarshal(outer.Error, &inner)
	} else if len(outer.Error) > 0 {
		_ = json.Unmarshal(outer.Error, &inner.Message)
	}
	if inner.Type == "error" {
		inner.Type = ""
	}
	return fault{message: strings.TrimSpace(cmp.Or(inner.Message, inner.Detail)), code: inner.Type}
}

// streamError maps an error with status 200. Its type tells the status that it would have had, so that
// it is tried again where that makes sense.
func (c *call) streamError(data []byte) error {
	f := readFault(data)
	err := f.sized(c.p.faults.Reported(c.req.Model, f.said(0)))
	err.Status = statuses()[f.code]
	err.RetryAfter = wire.RetryIn(f.message)
	return err
}
