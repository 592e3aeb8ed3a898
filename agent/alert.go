package agent

import (
	"context"
	"strings"
	"sync"

	"molar/agent/emergency"
)

// emergenciesOf gives the detectors of the topics, each built at its first use.
func emergenciesOf(assistants []Assistant) map[string]func() *emergency.Detector {
	detectors := make(map[string]func() *emergency.Detector)
	for _, as := range assistants {
		if as.Topic != "" && detectors[as.Topic] == nil {
			detectors[as.Topic] = sync.OnceValue(func() *emergency.Detector { return emergency.For(as.Topic) })
		}
	}
	return detectors
}

// alert tells a person in an emergency what to do now. It stands right behind the
// guardrail, before anything that can fail or take long, and its text is the first of
// the answer. A question without signs of an emergency waits for nothing here.
func (r *run) alert(ctx context.Context) error {
	kinds, err := r.emergencies(ctx)
	if err != nil || len(kinds) == 0 {
		return err
	}
	if err := r.admit(ctx); err != nil {
		return err
	}
	return r.notify(kinds, "")
}

// alertRefused shows the notice in front of a refusal: someone who cannot breathe must
// read it even where the question belongs to another subject.
func (r *run) alertRefused(ctx context.Context) error {
	r.closed = true // nothing of a refused turn is saved
	if r.notice != "" {
		return nil // it was shown already
	}
	kinds, err := r.emergencies(ctx)
	if err != nil || len(kinds) == 0 {
		return err
	}
	return r.notify(kinds, "\n\n")
}

// emergencies finds what the question describes, if need be with the question before.
func (r *run) emergencies(ctx context.Context) ([]emergency.Kind, error) {
	detector := r.a.emergencies[r.assistant.Topic]
	if detector == nil || detector() == nil {
		return nil, nil
	}
	kinds := detector().Find(r.asked, "")
	if len(kinds) > 0 && r.langSure {
		return kinds, nil
	}
	if err := r.settleMemory(ctx); err != nil {
		return nil, err
	}
	if last := r.lastExchange(); len(kinds) == 0 && last != nil {
		kinds = detector().Find(r.asked, last.Question)
	}
	return kinds, nil
}

// notify says the notice. A client that wants JSON gets it as a warning, which leaves
// its answer whole.
func (r *run) notify(kinds []emergency.Kind, after string) error {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	r.mark("2.2", "Emergency notice", "kinds", strings.Join(names, ", "))
	text := emergency.Notice(kinds, r.lang)
	if r.turn.JSON {
		return r.warn(text)
	}
	r.notice, r.apart = text, true
	return r.say(text + after)
}
