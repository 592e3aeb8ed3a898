package gemini

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"molar/providers"
	"molar/providers/wire"
)

// A fault is the service's error.
type fault struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Status  string `json:"status"`
	Details []struct {
		Type   string `json:"@type"`
		Reason string `json:"reason"`
		Delay  string `json:"retryDelay"`

		Violations []struct {
			Quota string `json:"quotaId"`
		} `json:"violations"`
	} `json:"details"`
}

// readFault reads an error in the forms that the service and gateways give it: an object,
// a list with one, a string, or a text that is not JSON.
func readFault(data []byte) fault {
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
	var f fault
	if json.Unmarshal(data, &f) == nil {
		return f
	}
	if json.Unmarshal(data, &f.Message) == nil {
		return f
	}
	return fault{Message: string(data)}
}

// refusal returns the error of an answer with a failure status.
func (p *Provider) refusal(q *query, resp *http.Response) *providers.Error {
	data, _ := io.ReadAll(io.LimitReader(resp.Body, wire.MaxErrorBody))
	f := readFault(data)
	f.Code = resp.StatusCode
	e := p.statusError(q.model, f)
	e.RetryAfter = max(e.RetryAfter, wire.RetryAfter(resp.Header))
	if parameter := p.learn(q, e, f.Message); parameter != "" {
		e.Again, e.Changed = "the model does not take "+parameter+" so, asked again otherwise", true
		return e
	}
	if p.learnMedia(q, e, f.Message) {
		e.Again, e.Changed = "the model does not take files of results so, asked again otherwise", true
		return e
	}
	p.tools.Doubt(q.set, e, f.Message, p.faults.Clean(f.Message))
	return e
}

// streamError returns the error in an answer with status 200.
func (p *Provider) streamError(model string, data []byte) *providers.Error {
	return p.statusError(model, readFault(data))
}

// statusError maps a reported error.
func (p *Provider) statusError(model string, f fault) *providers.Error {
	kind, text := p.classify(f)
	e := p.faults.Fail(kind, model, errors.New(text))
	e.Status, e.RetryAfter = f.Code, wire.RetryIn(f.Message)
	for _, d := range f.Details {
		if d.Reason == "API_KEY_INVALID" {
			e.Kind = providers.KindAuth
		}
		wait, err := time.ParseDuration(d.Delay)
		if err == nil && wait > 0 && strings.HasSuffix(d.Type, "google.rpc.RetryInfo") {
			e.RetryAfter = wait
		}
		for _, v := range d.Violations {
			e.Final = e.Final || strings.Contains(v.Quota, "PerDay")
		}
	}
	return e
}

func (p *Provider) classify(f fault) (providers.Kind, string) {
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
