package agent

import (
	"context"

	"molar/agent/subject"
	"molar/schemas"
)

// Handovers knows which conversations of visitors are handed over to people at the desk.
type Handovers interface {
	// Open returns the hand-over of a conversation that is not closed.
	Open(ctx context.Context, owner, conversation string) (h schemas.Handover, ok bool, err error)
	// Say passes on to the desk what a person wrote.
	Say(ctx context.Context, h schemas.Handover, turnID, text string) error
	// FoundNothing reports whether the newest saved turn of a conversation found nothing.
	FoundNothing(ctx context.Context, owner, conversation string) (bool, error)
}

// Emergency returns what an assistant tells somebody whose message describes an emergency, in the
// language of the message, and false if it describes none. It asks no model. An unknown assistant, and
// one without a topic, knows no emergencies.
func (a *Agent) Emergency(assistant, text string) (notice string, ok bool) {
	as := a.assistants[assistant]
	if as == nil {
		return "", false
	}
	kinds := a.judges.Look(as.Topic, text).Kinds
	if len(kinds) == 0 {
		return "", false
	}
	lang, _ := subject.Detect(text, "")
	return subject.Notice(a.cfg.Guards[as.Topic].Topic(), kinds, lang), true
}
