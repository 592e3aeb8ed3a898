package agent

import (
	"strings"
	"unicode/utf8"
)

// Numbers of the watch over the subject.
const (
	// strayHold is how many characters of a doubtful answer are read before any is
	// shown.
	strayHold = 200
	// straySure is the score from which on, downwards, an answer has left the subject.
	straySure = -2
)

// A watch holds the beginning of an answer back that may have been talked out of the
// assistant's subject, and looks at it as the guardrail looks at a question.
type watch struct {
	text strings.Builder
	done bool
}

// doubtful says whether the answer has to be looked at: only where a model let a
// question pass that code would have refused, or the model has read text that gave it
// orders. All other answers are shown as they come.
func (r *run) doubtful() bool {
	if r.assistant.Topic == "" {
		return false
	}
	v := r.trace.t.Verdict
	return r.ordered || r.prompted != "" || v != nil && v.By == "model" && v.Score < 0
}

// sayOnSubject says a piece of the model's text.
func (r *run) sayOnSubject(text string) error {
	if r.watch.done || !r.doubtful() {
		return r.say(r.leak.pass(text))
	}
	r.watch.text.WriteString(text)
	if utf8.RuneCountInString(r.watch.text.String()) < strayHold {
		return nil
	}
	return r.endWatch()
}

// endWatch looks at what is held. An answer to another subject is a question refused
// too late: it ends like one.
func (r *run) endWatch() error {
	if r.watch.done {
		return nil
	}
	r.watch.done = true
	text := r.watch.text.String()
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if v := r.a.cfg.Guards[r.assistant.Topic].Quick(text); !v.Pass && (v.Sure || v.Score <= straySure) {
		r.mark("8.1", "The answer left the subject and is withheld", "score", v.Score)
		return errRefused
	}
	return r.say(r.leak.pass(text))
}

// endText says what the filters still hold of the answer.
func (r *run) endText() error {
	if err := r.endWatch(); err != nil {
		return err
	}
	return r.say(r.leak.rest())
}
