package agent

import (
	"context"
	"fmt"
	"unicode/utf8"

	"molar/agent/language"
	"molar/schemas"
)

// readQuestion is step 1: the last user message and its language.
func (r *run) readQuestion(ctx context.Context) error {
	last := -1
	for i, m := range r.turn.Messages {
		if m.Role == schemas.RoleUser {
			last = i
		}
	}
	if last < 0 {
		return fmt.Errorf("%w: there is no message of role user", ErrInvalid)
	}
	r.question = r.turn.Messages[last]
	r.asked = r.question.Said()
	if r.asked == "" {
		return fmt.Errorf("%w: the last user message has no text", ErrInvalid)
	}
	if !utf8.ValidString(r.asked) {
		return fmt.Errorf("%w: the last user message is not valid UTF-8", ErrInvalid)
	}
	r.step(ctx, "1.2", "Extracted user message", r.asked)
	r.lang, r.langSure = language.Detect(r.asked, "")
	return nil
}

// settleLanguage lets the conversation's language break a tie, once it is known.
func (r *run) settleLanguage() {
	if !r.langSure {
		if last := r.lastExchange(); last != nil {
			previous, _ := language.Detect(last.Question, "")
			r.lang, r.langSure = language.Detect(r.said(), previous)
		}
	}
	r.mark("1.5", "Detected language: "+r.lang, "sure", r.langSure)
	r.trace.t.Language = r.lang
}
