package openai

import (
	"log/slog"

	"molar/providers"
	"molar/providers/wire"
	"molar/schemas"
)

// toolNone forbids calls, as a tool_choice.
const toolNone = "none"

// effortOff returns the efforts for the least thinking: models accept different ones. "" omits the
// field.
func effortOff() []string { return []string{"none", "minimal", "low", ""} }

// effort returns the effort for a request, "" for none; parameter is its name on the wire. Without a
// setting it only switches thinking off for a model that is known to think, in the passes of the small
// model; off reports whether thinking is switched off.
func (p *Provider) effort(s *sending, req providers.Request, explicit bool, parameter string) (effort string, off bool) {
	if req.Thinking == "" || !explicit && !p.thinkers.Known(req.Model) {
		return "", false
	}
	refused := s.lessons.Refused(req.Model, parameter)
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
	return len(req.Schema) > 0 && (!s.offers || p.SchemaBesideTools(req.Model, req.Schema))
}

// learn reads a refusal, and reports whether later requests differ. Requests that need not be refused
// for what they offer have no tools in the set.
func (s *sending) learn(err *providers.Error, r wire.Refusal, set wire.ToolSet, log *slog.Logger) bool {
	sent := s.body.parameters()
	if s.shown {
		sent = append([]wire.Parameter{wire.Media(s.mediaForms)}, sent...)
	}
	learnt := s.lessons.Learn(err, r, sent, set)
	if learnt == paramToolEffort {
		log.Warn("the model takes tools only when it does not think: requests with tools ask for no reasoning_effort from now on", "model", s.model)
	}
	return learnt != ""
}

// besideTools reports whether a model that is offered tools rejects thinking with them. It may do
// so without a requested effort, because of its default.
func besideTools(r wire.Refusal) bool {
	return r.RefusesParameter() && r.Names("reasoning_effort") && r.Says("tools")
}
