package gemini

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"google.golang.org/genai"

	"molar/providers"
	"molar/providers/wire"
)

// A fault is an error of the service, or of ours, in the form that the SDK reads.
type fault struct {
	Code    int      `json:"code,omitempty"`
	Message string   `json:"message,omitempty"`
	Status  string   `json:"status,omitempty"`
	Details []detail `json:"details,omitempty"`
}

type detail struct {
	Type   string `json:"@type,omitempty"`
	Reason string `json:"reason,omitempty"`
	Delay  string `json:"retryDelay,omitempty"`

	Violations []struct {
		Quota string `json:"quotaId,omitempty"`
	} `json:"violations,omitempty"`
}

// ours starts the status of a fault that the service did not report; the kind follows.
const ours = "molar: "

// retryInfo is the type of a detail with the wait that the service asks for.
const retryInfo = "type.googleapis.com/google.rpc.RetryInfo"

// UnmarshalJSON never fails, see [readFault].
func (f *fault) UnmarshalJSON(data []byte) error {
	*f = *readFault(data)
	return nil
}

// readFault reads an error in the forms that the service and gateways give it: an object,
// a list with one, a string, or a text that is not JSON.
func readFault(data []byte) *fault {
	var list []json.RawMessage
	if json.Unmarshal(data, &list) == nil && len(list) > 0 {
		data = list[0]
	}
	var outer struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(data, &outer) == nil && len(outer.Error) > 0 {
		data = outer.Error
	}
	type form fault // without UnmarshalJSON
	var f form
	if json.Unmarshal(data, &f) != nil {
		f = form{}
		if json.Unmarshal(data, &f.Message) != nil {
			f.Message = string(data)
		}
	}
	return (*fault)(&f)
}

// answered adds what the answer's head says.
func (f *fault) answered(resp *http.Response) *fault {
	f.Code = resp.StatusCode
	if wait := wire.RetryAfter(resp.Header); wait > 0 {
		f.Details = append(f.Details, detail{Type: retryInfo, Delay: wait.String()})
	}
	return f
}

// failed returns the error of a call that the SDK ended with err. No text of the SDK is shown, since
// it quotes requests and answers.
func (c *call) failed(ctx context.Context, err error) error {
	f := reported(err)
	if f == nil {
		if _, unanswered := errors.AsType[*url.Error](err); unanswered {
			return c.p.faults.Transport(ctx, c.q.model, err)
		}
		return c.end(ctx, c.p.unreadable(c.q.model))
	}
	if kind, own := strings.CutPrefix(f.Status, ours); own {
		return c.end(ctx, c.fail(providers.Kind(kind), f.Message))
	}
	e := c.p.refusal(c.q, f)
	return wire.Suggest(ctx, e, baseName(e.Model), c.p.Models)
}

// reported returns the fault that the SDK read, or nil if err is another error.
func reported(err error) *fault {
	e, ok := errors.AsType[genai.APIError](err)
	if !ok {
		return nil
	}
	data, err := json.Marshal(e)
	if err != nil {
		return &fault{Code: e.Code, Message: e.Message}
	}
	return readFault(data)
}

// unreadable returns the error of an event that is not of the wire.
func (p *Provider) unreadable(model string) *providers.Error {
	return p.faults.Fail(providers.KindProtocol, model,
		errors.New("an event of the stream cannot be read; check that "+p.setting+".base_url is the Gemini API"))
}

// refusal returns the error of a refused request, from which the provider learns.
func (p *Provider) refusal(q *query, f *fault) *providers.Error {
	e := p.statusError(q.model, f)
	p.lessons.Learn(e, wire.Refusal{Status: f.Code, Message: f.Message}, q.parameters(), q.set)
	return e
}

// statusError maps a reported error.
func (p *Provider) statusError(model string, f *fault) *providers.Error {
	kind, text := p.classify(f)
	e := p.faults.Fail(kind, model, errors.New(text))
	e.Status, e.RetryAfter = f.Code, wire.RetryIn(f.Message)
	for _, d := range f.Details {
		if d.Reason == "API_KEY_INVALID" {
			e.Kind = providers.KindAuth
		}
		wait, err := time.ParseDuration(d.Delay)
		if err == nil && d.Type == retryInfo {
			e.RetryAfter = max(e.RetryAfter, wait)
		}
		for _, v := range d.Violations {
			e.Final = e.Final || strings.Contains(v.Quota, "PerDay")
		}
	}
	return e
}

func (p *Provider) classify(f *fault) (providers.Kind, string) {
	reason, kind := p.faults.Said(f.Code, f.Message), wire.KindOf(f.Code, f.Message)
	switch {
	case kind == providers.KindContextLength:
		return kind, reason
	case kind == providers.KindAuth, strings.Contains(f.Message, "API key not valid"):
		return providers.KindAuth, "the API key was refused, check " + p.keyFrom + ": " + reason
	case f.Code == http.StatusNotFound && f.Status != "NOT_FOUND":
		return providers.KindUnavailable, "no Gemini API at this address (status 404): check " + p.setting + ".base_url"
	case f.Code == 0:
		return providers.KindUnavailable, reason
	case kind == providers.KindProtocol:
		return kind, p.faults.Redirects(f.Code)
	case kind == "":
		return providers.KindProtocol, "unexpected " + reason
	}
	return kind, reason
}
