package openai

import (
	"net/http"
	"strings"

	"molar/providers"
	"molar/providers/wire"
	"molar/schemas"
)

// A parameter is an optional field of a request that a model may reject.
type parameter struct {
	name string
	// forms is how many other forms it has, one of which may be to leave it out.
	forms int
	// said are words of messages, in lower case, that mean it without its name.
	said string
}

// paramMedia names the files of tool results as a parameter.
const paramMedia = "files of results"

// toolNone forbids calls, as a tool_choice.
const toolNone = "none"

// effortOff returns the efforts for the least thinking: models accept different ones. "" omits the
// field.
func effortOff() []string { return []string{"none", "minimal", "low", ""} }

// effort returns the effort for a request, "" for none; parameter is its name on the wire. Without a
// setting it only switches thinking off for a model that is known to think, in the passes of the small
// model; off reports whether thinking is switched off.
func (p *Provider) effort(req providers.Request, explicit bool, parameter string) (effort string, off bool) {
	if req.Thinking == "" || !explicit && !p.thinkers.Known(req.Model) {
		return "", false
	}
	refused := p.quirks.Refused(req.Model, parameter)
	if req.Thinking != schemas.ThinkingOff {
		if refused > 0 {
			return "", false
		}
		return string(req.Thinking), false
	}
	if forms := effortOff(); refused < len(forms) {
		effort = forms[refused]
	}
	return effort, true
}

// choiceOf returns the tool_choice of a request that offers tools; "" leaves it to the model.
func choiceOf(req providers.Request) string {
	if req.ForbidCalls {
		return toolNone
	}
	return string(req.ToolChoice)
}

// takesSchema reports whether the schema of a request goes to the service.
func (p *Provider) takesSchema(s *sending, req providers.Request) bool {
	return len(req.Schema) > 0 && (!s.offers || p.SchemaBesideTools(req.Model))
}

// dropRefused removes from the request what its model is known to reject.
func (p *Provider) dropRefused(s *sending) {
	for _, parameter := range s.body.parameters() {
		if p.quirks.Refused(s.model, parameter.name) > 0 {
			s.body.drop(parameter.name)
		}
	}
}

// learn reads a refusal. If it names a parameter of the request, learn drops or changes it from now
// on and returns a note of that.
func (p *Provider) learn(s *sending, status int, f fault) string {
	if s.shown && status >= 400 && wire.RefusesMedia(f.message) && p.quirks.Learn(s.model, paramMedia, s.mediaForms) {
		return without(paramMedia)
	}
	if status != http.StatusBadRequest && status != http.StatusUnprocessableEntity || !f.refusesParameter() {
		return ""
	}
	if s.api == APIChat && f.besideTools(s) && p.quirks.Learn(s.model, paramToolEffort, len(effortBesideTools())) {
		p.log.Warn("the model takes tools only when it does not think: requests with tools ask for no reasoning_effort from now on", "model", s.model)
		return "the model takes no " + paramToolEffort + ", asked again so that it does not think"
	}
	for _, parameter := range s.body.parameters() {
		if f.means(parameter) && s.body.drop(parameter.name) && p.quirks.Learn(s.model, parameter.name, parameter.forms) {
			return without(parameter.name)
		}
	}
	return ""
}

func without(parameter string) string {
	return "the model does not take " + parameter + ", asked again without it"
}

// refusesParameter reports whether the fault rejects a parameter. Some are for verified
// organisations only.
func (f fault) refusesParameter() bool {
	return wire.RefusesParameter(f.code+" "+f.message) || strings.Contains(strings.ToLower(f.message), "must be verified")
}

// besideTools reports whether a model that is offered tools rejects thinking with them. It may do
// so without a requested effort, because of its default.
func (f fault) besideTools(s *sending) bool {
	return s.offers && f.names("reasoning_effort") && strings.Contains(strings.ToLower(f.message), "tools")
}

// means reports whether the fault names a parameter, or speaks of it.
func (f fault) means(p parameter) bool {
	return f.names(p.name) || p.said != "" && strings.Contains(strings.ToLower(f.message), p.said)
}

// names reports whether the fault names a parameter, or the object that it belongs to. The text must
// quote it if it is an English word.
func (f fault) names(parameter string) bool {
	if f.param != "" {
		return f.param == parameter || strings.HasPrefix(parameter, f.param+".")
	}
	if strings.Contains(parameter, "_") {
		return strings.Contains(f.message, parameter)
	}
	for _, quote := range []string{"'", `"`, "`"} {
		if strings.Contains(f.message, quote+parameter+quote) {
			return true
		}
	}
	return false
}
