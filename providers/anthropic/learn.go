package anthropic

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	"molar/providers"
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
)

// parameters returns the optional fields of the body, in the order in which they are dropped: a message
// that names a field often mentions thinking too. The form of thinking, the binding and the marks of the
// cache are chosen elsewhere.
func (b *body) parameters() []wire.Parameter {
	is := func(there bool) func() bool { return func() bool { return there } }
	return []wire.Parameter{
		{
			Name: paramBinding, Drop: is(b.mayBind()), Note: "the service refuses thoughts of a changed prompt, asked again so that it drops them",
			About: func(r wire.Refusal) bool { return r.IsOfRequest() && r.Says("prefix_mismatch_behavior") },
		},
		{Name: paramTemperature, About: names(paramTemperature, "temperature"), Drop: wire.Clear(&b.Temperature)},
		{Name: paramTopP, About: names(paramTopP, "top_p"), Drop: wire.Clear(&b.TopP)},
		{Name: paramChoice, About: names(paramChoice, "tool_choice", "forced tool use", "forces tool use"), Drop: b.dropChoice},
		{Name: paramFormat, About: names(paramFormat, "output_config.format", "output_format", "structured output"), Drop: b.dropFormat},
		{Name: paramDisplay, About: names(paramDisplay, ".display"), Drop: func() bool {
			return b.Thinking != nil && wire.Clear(&b.Thinking.Display)()
		}},
		{Name: paramCache, About: names(paramCache, "cache_control")},
		{Name: paramStop, About: names(paramStop, "stop_sequences"), Drop: wire.Clear(&b.StopSequences)},
		// A refusal of one form of thinking may name the others, and effort with them.
		{Name: paramThinkingOff, Forms: formsOfNotThinking, About: names(paramThinkingOff, "thinking", "disabled"), Drop: b.thinksNot},
		{Name: paramThinking, Forms: formsOfThinking, About: names(paramThinking, "thinking"), Drop: is(b.Thinking != nil && !b.thinksNot())},
		{Name: paramEffort, About: names(paramEffort, "effort", "output_config:"), Drop: b.dropEffort},
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

// learn reads a refusal, and reports whether later requests differ.
func (p *Provider) learn(err *providers.Error, b *body, r wire.Refusal, set wire.ToolSet) bool {
	if r.IsOfRequest() && p.learnMost(b, r.Message) {
		err.Again, err.Changed = "the model takes no more tokens for an answer, asked again with fewer", true
		return true
	}
	sent := b.parameters()
	if b.history.shown && !b.history.own {
		sent = append([]wire.Parameter{wire.Media(1)}, sent...)
	}
	return p.lessons.Learn(err, r, sent, set) != ""
}

// names returns whether a refusal names a parameter by one of the signs. Refusals of messages and tools
// begin with their place, and may hold any word; of the parameters they are about the marks alone. That
// of an answer's schema is no refusal of all schemas.
func names(parameter string, signs ...string) func(wire.Refusal) bool {
	return func(r wire.Refusal) bool {
		inContent := strings.HasPrefix(r.Message, "messages.") || strings.HasPrefix(r.Message, "tools.")
		if inContent && parameter != paramCache || parameter == paramFormat && r.Says("format.schema") {
			return false
		}
		return refuses(r) && r.Says(signs...)
	}
}

// refuses reports whether a refusal is about a parameter.
func refuses(r wire.Refusal) bool {
	return r.RefusesParameter() || r.IsOfRequest() && r.Says("deprecated", "may only be set", "may not be enabled", "cannot both", "expected tags",
		"input should be", "not compatible", "isn't compatible", "incompatible")
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

// ease returns what the next try does without, and for the log what it changes; nothing if the refusal is about none
// of it.
func (b *body) ease(said string) (next eased, change string) {
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
