package wire

import (
	"cmp"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"molar/providers"
)

// Lessons are what the refusals of a service have taught: the parameters that a model does not take, known
// as long as this process lives, and the tools that the service rejects, left out for a day. A fault of
// one call teaches nothing. They are safe for concurrent use.
type Lessons struct {
	Tools *Tools

	mu     sync.Mutex
	models map[string]map[string]int // refusals by model and parameter
}

// NewLessons returns the lessons of a service whose tools these are.
func NewLessons(tools *Tools) *Lessons { return &Lessons{Tools: tools} }

// maxModels bounds the models to remember.
const maxModels = 256

// A Parameter is a part of a request that models may reject.
type Parameter struct {
	// Name is the parameter's name on the wire, or what notes call it.
	Name string
	// Forms is how many other forms of it a request may have, its absence included; 0 means 1.
	Forms int
	// About reports whether a refusal is about the parameter. Nil means that the refusal names it and
	// says that it is not supported.
	About func(Refusal) bool
	// Drop takes the parameter out of the request, or renames it, and reports whether it was there.
	// Nil means that it is there, and that its form is chosen where the request is built.
	Drop func() bool
	// Note is why the request is sent again; empty means that the model does not take the parameter.
	Note string
}

// Media returns the files of tool results as a parameter, which has that many other forms.
func Media(forms int) Parameter {
	return Parameter{Name: ParamMedia, Forms: forms, About: Refusal.RefusesMedia}
}

// Clear returns the [Parameter.Drop] of a field: it sets it to zero.
func Clear[T any](field *T) func() bool {
	return func() bool {
		there := !reflect.ValueOf(field).Elem().IsZero()
		*field = *new(T)
		return there
	}
}

// ParamMedia names the files of tool results as a parameter.
const ParamMedia = "files of results"

// A Refusal is a service's answer that a request is wrong.
type Refusal struct {
	Status int
	// Code and Param are the service's words for the fault and the place of it; they may be empty.
	Code, Param, Message string
}

// Refused returns how often a model has refused a parameter, each time in another form.
func (l *Lessons) Refused(model, parameter string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.models[model][parameter]
}

// Learn reads the refusal of a request that had the parameters and tools. If it is about one of them, later
// requests have it in another form or not at all, and the error asks for a retry; learnt is the
// parameter's name, if it is about one.
func (l *Lessons) Learn(e *providers.Error, r Refusal, sent []Parameter, set ToolSet) (learnt string) {
	for _, p := range sent {
		if p.isIn(r) && (p.Drop == nil || p.Drop()) && l.learn(e.Model, p) {
			e.Again, e.Changed = cmp.Or(p.Note, "the model does not take "+p.Name+" so, asked again otherwise"), true
			return p.Name
		}
	}
	set.doubt(e, r.Message+" "+r.Param)
	return ""
}

// Drop takes the parameters out of a request that its model is known to reject.
func (l *Lessons) Drop(model string, all []Parameter) {
	for _, p := range all {
		if p.Drop != nil && l.Refused(model, p.Name) > 0 {
			p.Drop()
		}
	}
}

// learn records a refusal, and reports whether another form of the parameter is left.
func (l *Lessons) learn(model string, p Parameter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.models[model][p.Name] >= max(p.Forms, 1) {
		return false
	}
	if l.models == nil || len(l.models) >= maxModels {
		l.models = map[string]map[string]int{}
	}
	if l.models[model] == nil {
		l.models[model] = map[string]int{}
	}
	l.models[model][p.Name]++
	return true
}

// isIn reports whether a refusal is about the parameter.
func (p Parameter) isIn(r Refusal) bool {
	if p.About != nil {
		return p.About(r)
	}
	return r.RefusesParameter() && r.Names(p.Name)
}

// IsOfRequest reports whether the status says that the request is wrong.
func (r Refusal) IsOfRequest() bool {
	return r.Status == http.StatusBadRequest || r.Status == http.StatusUnprocessableEntity
}

// Names reports whether the refusal names a parameter, or the object that it belongs to. The text must
// quote it if it is an English word.
func (r Refusal) Names(parameter string) bool {
	if r.Param != "" {
		return r.Param == parameter || strings.HasPrefix(parameter, r.Param+".")
	}
	if strings.ContainsAny(parameter, "_.") || strings.ToLower(parameter) != parameter {
		return strings.Contains(strings.ToLower(r.Message), strings.ToLower(parameter))
	}
	return slices.ContainsFunc([]string{"'", `"`, "`"}, func(quote string) bool {
		return strings.Contains(r.Message, quote+parameter+quote)
	})
}

// Says reports whether the message has one of the signs, which are in lower case.
func (r Refusal) Says(signs ...string) bool {
	message := strings.ToLower(r.Message)
	return slices.ContainsFunc(signs, func(sign string) bool { return strings.Contains(message, sign) })
}

// RefusesParameter reports whether the refusal says that something in the request is not supported.
// Some parameters are for verified organisations only.
func (r Refusal) RefusesParameter() bool {
	r.Message = r.Code + " " + r.Message
	return r.IsOfRequest() && r.Says(
		"unsupported", "not support", "unrecognized", "unknown", "unavailable", "extra inputs", "not permitted",
		"not allowed", "not enabled", "cannot be disabled", "only works in thinking mode", "must be verified",
	)
}

// RefusesMedia reports whether the refusal is about images or other files.
func (r Refusal) RefusesMedia() bool {
	return r.Status >= 400 && r.Says(
		"image", "vision", "audio", "media", "mime type", "multimodal", "multi-modal", "modalit", "inline_data", "inlinedata",
		"function_response.parts", "mmproj", "roles must alternate", "content type", "expected `text`", "content part",
	)
}
