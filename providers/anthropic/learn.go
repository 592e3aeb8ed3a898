package anthropic

import (
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"molar/providers/wire"
)

// The names of what a model may refuse.
const (
	paramThinking    = "thinking"
	paramThinkingOff = "thinking: disabled"
	paramBinding     = "thoughts of a changed prompt"
	paramEffort      = "effort"
	paramDisplay     = "thinking.display"
	paramFormat      = "output_config.format"
	paramTemperature = "temperature"
	paramTopP        = "top_p"
	paramChoice      = "tool_choice"
	paramCache       = "cache_control"
	paramStop        = "stop_sequences"
	// paramMedia names the files of tool results as a parameter.
	paramMedia = "files of results"
)

// A parameter is an optional field of the body.
type parameter struct {
	name string
	// signs are the words by which a refusal names it.
	signs []string
	// forms is how many times another form of it may be tried.
	forms int
	// drop removes the field and reports whether it was set.
	drop func(b *body) bool
}

// parameters returns the optional fields, in the order in which they are dropped: a message that names
// a field often mentions thinking too.
func parameters() []parameter {
	return []parameter{
		{paramTemperature, []string{"temperature"}, 1, func(b *body) bool { set := b.Temperature != nil; b.Temperature = nil; return set }},
		{paramTopP, []string{"top_p"}, 1, func(b *body) bool { set := b.TopP != nil; b.TopP = nil; return set }},
		{paramChoice, []string{"tool_choice", "forced tool use", "forces tool use"}, 1, (*body).dropChoice},
		{paramFormat, []string{"output_config.format", "output_format", "structured output"}, 1, (*body).dropFormat},
		{paramDisplay, []string{".display"}, 1, func(b *body) bool {
			set := b.Thinking != nil && b.Thinking.Display != ""
			if set {
				b.Thinking.Display = ""
			}
			return set
		}},
		{paramCache, []string{"cache_control"}, 1, func(*body) bool { return true }},
		{paramStop, []string{"stop_sequences"}, 1, func(b *body) bool { set := len(b.StopSequences) > 0; b.StopSequences = nil; return set }},
		// A refusal of one form of thinking may name the others, and effort with them.
		{paramThinkingOff, []string{"thinking", "disabled"}, formsOfNotThinking, (*body).thinksNot},
		{paramThinking, []string{"thinking"}, formsOfThinking, func(b *body) bool { return b.Thinking != nil && !b.thinksNot() }},
		{paramEffort, []string{"effort", "output_config:"}, 1, (*body).dropEffort},
	}
}

func (b *body) dropChoice() bool {
	set := b.ToolChoice != nil
	if set && b.ToolChoice.Type == "none" && len(b.history.called()) == 0 {
		b.Tools = nil
	}
	b.ToolChoice = nil
	return set
}

func (b *body) dropFormat() bool {
	set := b.OutputConfig != nil && b.OutputConfig.Format != nil
	if set {
		b.OutputConfig.Format = nil
		b.tidy()
	}
	return set
}

func (b *body) dropEffort() bool {
	set := b.OutputConfig != nil && b.OutputConfig.Effort != ""
	if set {
		b.OutputConfig.Effort = ""
		b.tidy()
	}
	return set
}

func (b *body) tidy() {
	if *b.OutputConfig == (outputConfig{}) {
		b.OutputConfig = nil
	}
}

// dropRefused removes from the body what its model is known to reject. The forms of thinking and the
// marks of the cache are chosen elsewhere.
func (p *Provider) dropRefused(b *body) {
	for _, parameter := range parameters() {
		if parameter.forms == 1 && p.quirks.Refused(b.Model, parameter.name) > 0 {
			parameter.drop(b)
		}
	}
}

// learn reads a refusal. If it names a parameter of the body, learn drops or changes it from now
// on and returns a note of that.
func (p *Provider) learn(b *body, status int, f fault) string {
	said := strings.ToLower(f.message)
	switch {
	case b.history.shown && !b.history.own && wire.RefusesMedia(said) && p.quirks.Learn(b.Model, paramMedia, 1):
		return without(paramMedia)
	case status != http.StatusBadRequest && status != http.StatusUnprocessableEntity:
		return ""
	case p.learnMost(b, said):
		return "the model takes no more tokens for an answer, asked again with fewer"
	case b.mayBind() && strings.Contains(said, "prefix_mismatch_behavior") && p.quirks.Learn(b.Model, paramBinding, 1):
		return "the service refuses thoughts of a changed prompt, asked again so that it drops them"
	case !refuses(said):
		return ""
	}
	for _, parameter := range parameters() {
		if parameter.named(said) && parameter.drop(b) && p.quirks.Learn(b.Model, parameter.name, parameter.forms) {
			return without(parameter.name)
		}
	}
	return ""
}

// named reports whether a refusal names the parameter. Refusals of messages and tools begin with their
// place, and may hold any word; of the parameters they are about the marks alone. That of an answer's schema
// is no refusal of all schemas.
func (p parameter) named(said string) bool {
	inContent := strings.HasPrefix(said, "messages.") || strings.HasPrefix(said, "tools.")
	if inContent && p.name != paramCache || p.name == paramFormat && strings.Contains(said, "format.schema") {
		return false
	}
	for _, sign := range p.signs {
		if strings.Contains(said, sign) {
			return true
		}
	}
	return false
}

func without(parameter string) string {
	return "the model does not take " + parameter + ", asked again without it"
}

// refuses reports whether a message rejects a parameter.
func refuses(said string) bool {
	if wire.RefusesParameter(said) {
		return true
	}
	for _, sign := range []string{"deprecated", "may only be set", "may not be enabled", "cannot both", "expected tags", "input should be", "not compatible", "isn't compatible", "incompatible"} {
		if strings.Contains(said, sign) {
			return true
		}
	}
	return false
}

// learnMost reads how long an answer of the model may be.
func (p *Provider) learnMost(b *body, said string) bool {
	match := regexp.MustCompile(`max_tokens: (\d+) > (\d+)`).FindStringSubmatch(said)
	if match == nil {
		return false
	}
	most, err := strconv.Atoi(match[2])
	if err != nil || most <= 0 || most >= b.MaxTokens {
		return false
	}
	p.sizes.limit(b.Model, most)
	return true
}

// mayBind reports whether a request holds thoughts and may say what becomes of them.
func (b *body) mayBind() bool { return !b.history.mute && !b.thinksNot() }

// eased is what a request does without, since the service refused it in the try before. It is not
// remembered: the fault lies in the one prompt.
type eased struct {
	thoughts bool // the thoughts of earlier rounds
	format   bool // the schema of the answer
	most     int  // tokens of the answer, if not 0
}

// An easedError is the refusal of a request that is tried again without something.
type easedError struct {
	error
	eased eased
}

// Unwrap returns the refusal.
func (e easedError) Unwrap() error { return e.error }

func easedBefore(after error) eased {
	e, _ := errors.AsType[easedError](after)
	return e.eased
}

// ease returns what the next try does without, and why; nothing if the refusal is about none of it.
func (b *body) ease(said string) (next eased, why string) {
	said = strings.ToLower(said)
	next = b.eased
	room := roomIn(said)
	switch {
	case !b.history.mute && strings.Contains(said, "thinking") && (strings.Contains(said, "signature") || strings.Contains(said, "expected `thinking`") || strings.Contains(said, "blocks")):
		next.thoughts = true
		return next, "the service refuses the thoughts of earlier rounds, asked again without them"
	case b.OutputConfig != nil && b.OutputConfig.Format != nil && strings.Contains(said, "schema") && !strings.Contains(said, "input_schema"):
		next.format = true
		return next, "the service refuses the schema of the answer, asked again without it"
	case room >= leastRoom && room < b.MaxTokens:
		next.most = room
		return next, "prompt and answer are longer than the window, asked again with a shorter answer"
	}
	return next, ""
}

// leastRoom is the shortest answer that is worth another try, in tokens.
const leastRoom = 1024

// roomIn reads from a refusal how many tokens the prompt leaves for an answer, 0 if it does not say:
// "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000".
func roomIn(said string) int {
	prompt, window := sumIn(said)
	return max(window-prompt, 0)
}

func sumIn(said string) (prompt, window int) {
	match := regexp.MustCompile(`(\d+) \+ \d+ > (\d+)`).FindStringSubmatch(said)
	if match == nil {
		return 0, 0
	}
	prompt, _ = strconv.Atoi(match[1])
	window, _ = strconv.Atoi(match[2])
	return prompt, window
}
