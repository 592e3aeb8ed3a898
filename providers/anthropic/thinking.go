package anthropic

import (
	"molar/schemas"
)

// thinking sets how a model thinks, see
// https://platform.claude.com/docs/en/build-with-claude/thinking.
type thinking struct {
	Type    string   `json:"type"` // adaptive, enabled or disabled
	Budget  int      `json:"budget_tokens,omitempty"`
	Display string   `json:"display,omitempty"`
	Binding *binding `json:"block_binding,omitempty"`
}

// binding says what becomes of thoughts that no longer belong to what stands before them, see
// https://platform.claude.com/docs/en/build-with-claude/preserved-thinking.
type binding struct {
	Mismatch string `json:"prefix_mismatch_behavior"`
}

// bindingBeta is the header that [binding] needs.
const bindingBeta = "thinking-binding-controls-2026-08-01"

const thinkAdaptive, thinkEnabled, thinkDisabled = "adaptive", "enabled", "disabled"

// The forms of a wish to think, from the newest models to those that cannot.
const (
	formAdaptive = iota
	formBudget
	formsOfThinking
)

// The forms of a wish not to think: models that always think can think less.
const (
	formDisabled = iota
	formLeast
	formsOfNotThinking
)

// budget returns the tokens for thoughts, of the models that take a number.
func budget(wish schemas.Thinking) int {
	switch wish {
	case schemas.ThinkingLow:
		return 2048
	case schemas.ThinkingMedium:
		return 8192
	}
	return 16_384
}

// leastBudget is the smallest budget that the service takes, in tokens.
const leastBudget = 1024

// think sets how much the model thinks; without a wish it does as it does by itself. Models differ in
// the forms that they take, which their refusals tell.
func (p *Provider) think(b *body, wish schemas.Thinking) {
	switch wish {
	case "":
	case schemas.ThinkingOff:
		switch p.lessons.Refused(b.Model, paramThinkingOff) {
		case formDisabled:
			b.Thinking = &thinking{Type: thinkDisabled}
		case formLeast:
			b.output().Effort = string(schemas.ThinkingLow)
		}
	default:
		switch p.lessons.Refused(b.Model, paramThinking) {
		case formAdaptive:
			b.Thinking = &thinking{Type: thinkAdaptive, Display: "summarized"}
			b.output().Effort = string(wish)
		case formBudget:
			// The answer needs some of the tokens too.
			if tokens := min(budget(wish), b.MaxTokens/2); tokens >= leastBudget {
				b.Thinking = &thinking{Type: thinkEnabled, Budget: tokens}
			}
		}
	}
}

// settleThinking adapts the thinking to the history.
func (p *Provider) settleThinking(b *body) {
	switch {
	case b.Thinking != nil && b.Thinking.Type == thinkEnabled && (b.history.thoughtless || b.history.mute && b.history.begun):
		// With a budget, the turn's first message must begin with its thoughts. The service's advice
		// for calls without them is to do without thinking until the turn ends.
		b.Thinking = nil
	case p.lessons.Refused(b.Model, paramBinding) > 0 && !b.history.mute && !b.thinksNot():
		if b.Thinking == nil {
			b.Thinking = &thinking{Type: thinkAdaptive} // as the models that check it do by themselves
		}
		b.Thinking.Binding = &binding{"drop_block"}
	}
	if b.Thinking != nil && b.Thinking.Type != thinkDisabled {
		b.Temperature, b.TopP = nil, nil // a model that thinks takes neither
	}
}

// thinksNot reports whether thinking is switched off.
func (b *body) thinksNot() bool { return b.Thinking != nil && b.Thinking.Type == thinkDisabled }
