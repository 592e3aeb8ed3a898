package openai

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// An API is a wire of the service.
type API string

// The wires. APIAuto is Responses for OpenAI itself and Chat Completions for all other servers, until
// a model turns out to need the other one.
const (
	APIAuto      API = "auto"
	APIChat      API = "chat"
	APIResponses API = "responses"
)

// maxModels bounds the models whose wire is remembered.
const maxModels = 256

// apis chooses the wire for each model. It is safe for concurrent use.
type apis struct {
	first API
	fixed bool

	mu sync.Mutex
	// chosen are the wires of models other than first; refused are the wires that a model, or the
	// whole server, does not have.
	chosen  map[string]API
	refused map[string]bool
}

// newAPIs returns the choice for a setting; original means OpenAI's own service.
func newAPIs(setting API, original bool) (*apis, error) {
	a := &apis{first: setting, fixed: true, chosen: map[string]API{}, refused: map[string]bool{}}
	switch setting {
	case APIChat, APIResponses:
		return a, nil
	case "", APIAuto:
	default:
		return nil, fmt.Errorf("api %q: use auto, chat or responses", setting)
	}
	a.first, a.fixed = APIChat, false
	if original {
		a.first = APIResponses
	}
	return a, nil
}

// of returns the wire of a model.
func (a *apis) of(model string) API {
	a.mu.Lock()
	defer a.mu.Unlock()
	if api, ok := a.chosen[model]; ok {
		return api
	}
	return a.first
}

// leave changes the wire of a model, and reports whether it could: the setting allows it, and the
// model has not refused the other wire. refused is set if the model does not have this one at all.
func (a *apis) leave(model string, from API, refused bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	other := map[API]API{APIChat: APIResponses, APIResponses: APIChat}[from]
	if a.fixed || a.refused[string(other)+" "+model] {
		return false
	}
	if len(a.chosen)+len(a.refused) >= 2*maxModels {
		a.chosen, a.refused = map[string]API{}, map[string]bool{}
	}
	if refused {
		a.refused[string(from)+" "+model] = true
	}
	a.chosen[model] = other
	return true
}

// elsewhere reads a refusal on one wire. If it means that the model is to be called over the other
// one, and that is possible, the model is from now on, and elsewhere returns a note of that.
func (p *Provider) elsewhere(s *sending, status int, f fault, missing bool) string {
	needs, refused := f.needsOther(s.api, status, missing)
	if !needs && s.api == APIChat && s.offers && besideTools(f.refusal(status)) {
		needs = true // it would take tools there without giving up its thoughts
	}
	if !needs || !p.apis.leave(s.model, s.api, refused) {
		return ""
	}
	other := p.apis.of(s.model)
	p.log.Info("the model is called over another API from now on", "model", s.model, "api", string(other))
	return fmt.Sprintf("the model is not to be called over the %s API, asked again over %s", s.api, other)
}

// needsOther reports whether a refusal on a wire names the other wire, or means that this one does
// not exist for the model. missing is set if nothing is at the address.
func (f fault) needsOther(api API, status int, missing bool) (needs, refused bool) {
	message := strings.ToLower(f.message)
	has := func(signs ...string) bool {
		for _, sign := range signs {
			if strings.Contains(message, sign) {
				return true
			}
		}
		return false
	}
	if api == APIChat {
		// A server without Chat Completions at its address has the wrong address.
		needs = status >= 400 && status < 500 && has("not a chat model", "only supported in v1/responses", "only supported in the responses api",
			"use the responses api", "use the /v1/responses", "use v1/responses", "not in v1/chat/completions", "not supported in the v1/chat/completions")
		return needs, needs
	}
	missing = missing || status == http.StatusMethodNotAllowed || status == http.StatusNotImplemented
	needs = missing || status >= 400 && status < 500 && (has("chat/completions", "chat completions") && has("only supported", "use ", "instead") ||
		has("responses api", "/responses") && has("not supported", "unsupported", "cannot be used", "can not be used", "does not support", "not available", "not compatible"))
	return needs, needs
}
