package guardrail

import (
	"math"

	"molar/internal/text"
)

const (
	// admit is the score from which on code guesses that a message is of the topic: to
	// refuse a person is the worse mistake.
	admit = -0.1
	// talkAdmit is that score for a message about the talk, behind an exchange on the topic: it
	// names nothing of it.
	talkAdmit = -2.5
	// greetingWords is the length of the longest message that may be a greeting.
	greetingWords = 14
	// softDoubt and hardDoubt are what a sign of injection takes from the score.
	softDoubt, hardDoubt = 0.5, 100
	// lean is what a message that leans on an exchange of the topic is given behind it, and
	// half of it is what it loses alone when it names nothing of the topic.
	lean = 1.0
)

// quick decides a message as far as code can: alone, and behind an exchange on the topic.
func (g *Guard) quick(r reading) (alone, after Verdict) {
	alone = Verdict{By: "code", Needs: r.needs}
	switch {
	case len(r.words) == 0:
		alone.Pass, alone.Sure, alone.Reason = true, !hasLetters(r.text), "no words to judge"
		alone.SmallTalk, alone.Needs = alone.Sure, AboutTalk
		return alone, alone
	case r.marker.name == "" && g.greets(r):
		alone.Pass, alone.Sure, alone.SmallTalk = true, true, true
		alone.Needs, alone.Reason = AboutTalk, "greeting, thanks or help"
		return alone, alone
	}
	s := score(g.model, r)
	if r.needs == StandsAlone && !r.named && g.model != nil && s.alone <= 0 && len(r.words) <= longQuestion {
		alone.Needs = FollowUp // of the topic only in the conversation
	}
	after = alone
	alone.Score, after.Score = s.alone, s.after
	alone.Pass, after.Pass = s.alone > admit, s.after > admit
	alone.Sure, alone.Reason = g.isSure(r, s)
	after.Sure, after.Reason = g.isSureAfter(r, s)
	if after.Sure || r.needs == AboutTalk && r.marker.name == "" && s.after > talkAdmit {
		after.Pass = true
	}
	if r.needs == AboutTalk { // it depends on whether there is a conversation
		alone.Sure = false
	}
	return alone, after
}

// scores are what the classifier makes of a message, above zero in favour of the topic.
type scores struct {
	alone, after float64
	plain        float64 // the lower of both, whatever sign of injection there is
}

func score(m *model, r reading) scores {
	switch {
	case m == nil && r.named:
		return scores{alone: 1, after: 1, plain: 1}
	case m == nil:
		return scores{alone: -1, after: -1, plain: -1}
	case r.other: // not learned: the words that name the topic decide
		guess := -1.0
		if r.abroad && r.marker.name == "" {
			guess = 1
		}
		return scores{alone: guess, after: guess, plain: guess}
	}
	s := scores{alone: m.Score(alone(r.words, m.known)), after: m.Score(behind(r.words, m.known))}
	s.plain = max(s.alone, s.after)
	if len(r.words) >= storyWords {
		rise := strongest(m, r.words) - storyDoubt
		s.alone, s.after = s.alone+rise, s.after+rise
	}
	if r.needs != StandsAlone && r.marker.name == "" {
		s.after += lean
		if !r.named && len(r.words) <= longQuestion {
			s.alone -= lean / 2
		}
	}
	doubt := 0.0
	switch {
	case r.marker.hard:
		doubt = hardDoubt
	case r.marker.name != "":
		doubt = softDoubt
	}
	s.alone, s.after = s.alone-doubt, s.after-doubt
	return s
}

// A story is a message of so many words. Its score rises with that of the part that says
// most for the topic, by how far it is above what some part of any story has: what a
// person asks for is one sentence among many.
const (
	storyWords = 28
	storyDoubt = 1.3
	partWords  = 10
)

// strongest returns the score of the part of a message that says most for the topic.
func strongest(m *model, words []text.Word) float64 {
	best, from := math.Inf(-1), 0
	for i := 1; i <= len(words); i++ {
		if n := i - from; i == len(words) || n >= partWords && (words[i].Pause != text.NoPause || n >= 2*partWords) {
			best = max(best, m.Score(alone(words[from:i], m.known)))
			from = i
		}
	}
	return best
}

// greets reports a message that is nothing but greetings and what may stand beside them.
func (g *Guard) greets(r reading) bool {
	return len(r.words) <= greetingWords && text.Cover(r.words, g.hello, g.hello, g.fill)
}

// isSure tells whether code decides a message alone, and why.
func (g *Guard) isSure(r reading, s scores) (sure bool, reason string) {
	switch {
	case r.other:
		return false, "in a language that code does not know"
	case r.long, r.named && len(r.words) >= storyWords:
		return false, "too long for code to be sure"
	case r.marker.name != "":
		return false, "sign of injection (" + r.marker.name + ")"
	case g.model != nil && s.plain <= float64(g.model.sureOut):
		return true, "clearly of another subject"
	case g.model == nil && r.named, g.model != nil && g.admits(r) && s.alone >= float64(g.model.sureIn):
		return true, "clearly of the topic"
	}
	return false, "unclear"
}

// admits reports a message that code may admit alone: one that names the topic, where the
// topic lists any names.
func (g *Guard) admits(r reading) bool { return r.named || len(g.topic.Phrases.Names) == 0 }

// isSureAfter tells whether code admits a message behind an exchange, and why.
func (g *Guard) isSureAfter(r reading, s scores) (sure bool, reason string) {
	switch {
	case r.marker.name != "" || r.other || r.long:
		return false, "unclear, even after the last exchange"
	case r.talk:
		return true, "about the conversation itself"
	case r.needs == FollowUp && (g.model == nil || s.after >= float64(g.model.sureAfter)):
		return true, "follow-up of the last exchange"
	}
	return false, "unclear, even after the last exchange"
}
