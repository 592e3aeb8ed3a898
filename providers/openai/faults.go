package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"molar/providers"
	"molar/providers/wire"
)

// refusal reads an answer with a failure status. It learns a wire or a parameter that the model
// rejects, and emits a call that the service rejected.
func (c *call) refusal(ctx context.Context, resp *http.Response) error {
	err, f, missing := c.p.readRefusal(c.sent.model, resp)
	switch {
	case f.refusesCall():
		return c.refusedCall(err, f)
	case f.withholds():
		return c.withheld(f)
	}
	if again := c.p.elsewhere(c.sent, resp.StatusCode, f, missing); again != "" {
		err.Again, err.Changed = again, true
		return err
	}
	stale, set := c.sent.thoughts && f.refusesThoughts(), c.answer.Set
	if stale {
		set = nil // it is about none of the tools
	}
	if c.sent.learn(err, f.refusal(resp.StatusCode), set, c.p.log) {
		return err
	}
	if stale {
		err.Again, err.Err = "the service cannot read earlier thoughts, asked again without them", staleThoughtsError{err.Err}
		return err
	}
	return wire.Suggest(ctx, err, err.Model, c.p.Models)
}

// A staleThoughtsError is the refusal of reasoning that the service cannot read, such as that of
// another account. The retry leaves it out.
type staleThoughtsError struct{ error }

// Unwrap returns the refusal.
func (e staleThoughtsError) Unwrap() error { return e.error }

// refusesThoughts reports whether a service rejected reasoning that was sent back.
func (f fault) refusesThoughts() bool {
	message := strings.ToLower(f.message)
	return strings.Contains(f.code, "invalid_encrypted_content") || strings.Contains(message, "encrypted content") ||
		strings.Contains(message, "of type 'reasoning'") || strings.Contains(message, "item with id 'rs_")
}

// A refusedCallError is the refusal of a model's call that could not be read.
type refusedCallError struct{ error }

// Unwrap returns the refusal.
func (e refusedCallError) Unwrap() error { return e.error }

// refusesCall reports whether a service rejected its model's call because it does not fit the
// tool's schema or the call format. Groq does so.
func (f fault) refusesCall() bool { return strings.Contains(f.code, "tool_use_failed") }

// refusedCall emits the calls that a service rejected, as the model wrote them, so that they get
// an answer with their faults, as with other services. If they cannot be read, the request is
// worth one retry.
func (c *call) refusedCall(err *providers.Error, f fault) error {
	calls := wire.ReadPrinted(f.generation, c.answer.Set)
	if len(calls) == 0 || c.answer.Forbid {
		_, before := errors.AsType[refusedCallError](c.req.After)
		err.Err = refusedCallError{err.Err}
		if !before && c.answer.Calls == 0 {
			err.Reask = c.answer.Texts
			err.Again = "the service refused the model's tool call, asked again: " + c.p.faults.Clean(f.message)
		}
		return err
	}
	if err := c.answer.Emit(providers.Chunk{Note: "the service refused the model's tool call, which is taken as it was written: " + c.p.faults.Clean(f.message)}); err != nil {
		return err
	}
	for _, f := range calls {
		if err := c.answer.Call(f, nil); err != nil {
			return err
		}
	}
	return c.answer.Emit(providers.Chunk{Usage: c.usage, Finish: providers.FinishToolCalls})
}

// withholds reports whether the content filter refused the prompt or the answer, which Azure reports as
// an error.
func (f fault) withholds() bool { return strings.Contains(f.code, reasonFiltered) }

// withheld ends an answer that the content filter refused.
func (c *call) withheld(f fault) error {
	if err := c.answer.Emit(providers.Chunk{Note: "the service's content filter: " + c.p.faults.Clean(f.message)}); err != nil {
		return err
	}
	c.reason = reasonFiltered
	return c.reader.finish()
}

// readRefusal reads an answer with a failure status. missing is set if nothing is at the address.
func (p *Provider) readRefusal(model string, resp *http.Response) (err *providers.Error, f fault, missing bool) {
	data, _ := io.ReadAll(io.LimitReader(resp.Body, wire.MaxErrorBody))
	f = readFault(data)
	said := f.said(resp.StatusCode)
	if missing = said.Kind == providers.KindModelNotFound && isWrongURL(f, data); missing {
		said.Missing = "no OpenAI API at this address (status 404): check " + p.setting + ".base_url, which usually ends in /v1"
	}
	return p.faults.Refused(model, resp, said), f, missing
}

// said returns the fault in the form that all adapters have; status may be 0.
func (f fault) said(status int) wire.Fault {
	return wire.Fault{Kind: f.kind(status), Message: f.message, UsedUp: f.usedUp()}
}

// isWrongURL reports whether a refusal means a wrong URL, not an unknown model.
func isWrongURL(f fault, body []byte) bool {
	return len(body) > 0 && !json.Valid(body) || f.message == "Not Found" || f.message == "File Not Found"
}

// A fault is a server's error.
type fault struct {
	message string
	code    string // its code and type
	param   string
	// generation is the model's rejected output.
	generation string
}

// refusal returns the fault of a refused request.
func (f fault) refusal(status int) wire.Refusal {
	return wire.Refusal{Status: status, Code: f.code, Param: f.param, Message: f.message}
}

// usedUp reports whether the account's quota is exhausted, which no wait fixes.
func (f fault) usedUp() bool {
	code := strings.ToLower(f.code)
	return strings.Contains(code, "quota") || strings.Contains(code, "billing")
}

// isError reports whether the error field of a frame reports one.
func isError(raw json.RawMessage) bool {
	switch string(bytes.TrimSpace(raw)) {
	case "", "null", `""`, "false", "{}":
		return false
	}
	return true
}

// readFault reads an error in the forms that servers use: OpenAI's object, a string in its place,
// a list of such answers, a bare object, the detail of Python frameworks, and plain text. If a
// gateway gives no message, it returns that of the service behind it.
func readFault(data []byte) fault {
	if !json.Valid(data) && !bytes.HasPrefix(bytes.TrimSpace(data), []byte("<")) {
		return fault{message: string(bytes.TrimSpace(data))}
	}
	var list []json.RawMessage
	if json.Unmarshal(data, &list) == nil && len(list) > 0 {
		data = list[0]
	}
	type object struct {
		Message anyText `json:"message"`
		Type    anyText `json:"type"`
		Code    anyText `json:"code"`
		Param   anyText `json:"param"`
		Detail  anyText `json:"detail"`

		Generation anyText `json:"failed_generation"`
		Metadata   struct {
			Raw anyText `json:"raw"`
		} `json:"metadata"`
	}
	var outer struct {
		Error json.RawMessage `json:"error"`
		object
	}
	_ = json.Unmarshal(data, &outer) // missing fields stay empty
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
	if raw := string(inner.Metadata.Raw); raw != "" && strings.EqualFold(string(inner.Message), "Provider returned error") {
		inner.Message += anyText(": " + cmp.Or(readFault([]byte(raw)).message, raw))
	}
	return fault{
		message:    strings.TrimSpace(string(inner.Message)),
		code:       strings.TrimSpace(string(inner.Code) + " " + string(inner.Type)),
		param:      string(inner.Param),
		generation: string(inner.Generation),
	}
}

// streamError maps an error with status 200.
func (c *call) streamError(data []byte) error {
	f := readFault(data)
	if f.refusesCall() {
		return c.refusedCall(c.p.streamError(c.req.Model, f), f)
	}
	return c.reported(f)
}

// reported ends an answer with the service's fault.
func (c *call) reported(f fault) error {
	if f.withholds() {
		return c.withheld(f)
	}
	return c.p.streamError(c.req.Model, f)
}

func (p *Provider) streamError(model string, f fault) *providers.Error {
	status := 0
	if code, _, _ := strings.Cut(f.code, " "); len(code) == 3 {
		status, _ = strconv.Atoi(code)
	}
	return p.faults.Reported(model, f.said(status))
}

// kind maps an error to a kind: by its code, then its text and the status, which may be 0. It is
// empty if nothing matches.
func (f fault) kind(status int) providers.Kind {
	has := func(codes ...string) bool {
		for _, code := range codes {
			if strings.Contains(f.code, code) {
				return true
			}
		}
		return false
	}
	message, wrong := strings.ToLower(f.message), status == http.StatusBadRequest
	switch kind := wire.KindOf(status, f.message); {
	case kind == providers.KindContextLength, has("context_length_exceeded", "exceed_context_size", "too_many_prompt_tokens"),
		wrong && strings.Contains(message, "token limit reached"): // OpenRouter
		return providers.KindContextLength
	case has("model_not_found"):
		return providers.KindModelNotFound
	case has("invalid_api_key", "authentication_error", "permission_error"),
		wrong && strings.Contains(message, "incorrect api key"): // xAI
		return providers.KindAuth
	case has("rate_limit", "insufficient_quota"), status == http.StatusRequestTimeout:
		return providers.KindQuota
	case kind != "":
		return kind
	case has("invalid_request", "invalid_prompt", "invalid_image", "image_"):
		return providers.KindInvalid
	}
	return ""
}
