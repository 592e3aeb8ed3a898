package subject

import "slices"

const (
	// admit is the score above which code guesses that a message is on topic: to refuse a person is
	// the worse mistake.
	admit = 0
	// talkAdmit is that score for a message about the talk, after an exchange on the topic: it
	// names nothing of the topic.
	talkAdmit = -2.5
	// softDoubt and hardDoubt are subtracted from the score for a sign of injection. The words of
	// an order cost little: as many people quote one in an on-topic question as give one.
	softDoubt, hardDoubt = 0.3, 100
	// lean is added to the score of a follow-up after an exchange on the topic; half of it is
	// subtracted alone, if it names nothing of the topic.
	lean = 1.0
)

// byCode decides a message as far as code can, as following the last exchange if there is one. A
// possible follow-up is never refused without reading that exchange.
func (g *Guard) byCode(r reading, last *Exchange) Verdict {
	v, s := g.alone(r)
	if last == nil || len(r.words) == 0 || v.Sure && (v.Pass || !r.needs.FollowsUp()) {
		return v
	}
	return g.behind(r, s, last, v)
}

// alone decides a message as the first of a conversation.
func (g *Guard) alone(r reading) (v Verdict, s scores) {
	v = Verdict{By: "code", Needs: r.needs}
	switch {
	case len(r.words) == 0:
		v.Pass, v.Sure, v.Reason = true, !hasLetters(r.text), "no words to judge"
		v.Needs = AboutTalk
		return v, s
	case r.marker.name == "" && greets(r.words):
		v.Pass, v.Sure = true, true
		v.Needs, v.Reason = AboutTalk, "greeting, thanks or help"
		return v, s
	}
	s = score(g.model, r)
	if r.needs == StandsAlone && !r.named && g.model != nil && s.alone <= 0 && len(r.words) <= longQuestion {
		v.Needs = FollowUp // on topic only within the conversation
	}
	v.Score, v.Pass = s.alone, s.alone > admit
	v.Sure, v.Reason = g.isSure(r, s)
	if r.needs == AboutTalk { // it depends on whether there is a conversation
		v.Sure = false
	}
	return v, s
}

// behind decides a message that follows an exchange; v is its verdict alone. Code is sure only of a
// message without a new subject: any other may lead anywhere.
func (g *Guard) behind(r reading, s scores, last *Exchange, v Verdict) Verdict {
	v.Score, v.Pass, v.Sure = s.after, s.after > admit, false
	v.Reason = "unclear, even after the last exchange"
	if r.marker.name != "" {
		return v
	}
	switch {
	case r.other || r.long:
	case r.talk:
		v.Pass, v.Sure, v.Reason = true, true, "about the conversation itself"
		return v
	case !last.Unjudged && r.isLight(last):
		v.Pass, v.Sure, v.Reason = true, true, "follow-up of the last exchange"
		return v
	}
	switch {
	case r.needs == AboutTalk && s.after > talkAdmit:
		v.Pass = true
	case r.needs.FollowsUp() && !r.other && !r.long && (g.model == nil || !g.model.followUps):
		v.Pass = true // follow-ups were not in the training
	}
	return v
}

// scores are the classifier's scores of a message, above zero in favour of the topic.
type scores struct {
	alone, after float64
	plain        float64 // the lower of both, without the doubt for signs of injection
}

func score(m *model, r reading) scores {
	switch {
	case m == nil && r.named:
		return scores{alone: 1, after: 1, plain: 1}
	case m == nil:
		return scores{alone: -1, after: -1, plain: -1}
	case r.other: // untrained language: the words that name the topic decide
		guess := -1.0
		if r.abroad && r.marker.name == "" {
			guess = 1
		}
		return scores{alone: guess, after: guess, plain: guess}
	}
	fs := alone(r.words)
	s := scores{alone: m.Score(fs), after: m.Score(behind(fs))}
	s.plain = max(s.alone, s.after)
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

// storyWords is the length of a message from which code is not sure that it is about the topic it
// names: the request is one sentence among many.
const storyWords = 28

// isSure reports whether code decides a message alone, and why.
func (g *Guard) isSure(r reading, s scores) (sure bool, reason string) {
	switch {
	case r.other:
		return false, "in a language that code does not know"
	case r.long, r.named && len(r.words) >= storyWords:
		return false, "too long for code to be sure"
	case r.marker.name != "":
		return false, "sign of injection (" + r.marker.name + ")"
	case g.model != nil && s.plain <= float64(g.model.Out):
		return true, "clearly of another subject"
	case g.model == nil && r.named, g.model != nil && g.admits(r) && s.alone >= float64(g.model.In):
		return true, "clearly of the topic"
	}
	return false, "unclear"
}

// admits reports whether code may admit a message alone: it names the topic, or, if the topic lists
// no names, it has a subject word of the topic's examples.
func (g *Guard) admits(r reading) bool {
	if len(g.topic.Phrases.Names) > 0 {
		return r.named
	}
	words, heavy := r.heavy()
	return slices.ContainsFunc(heavy, func(i int) bool { return g.exampled.has(words[i]) })
}

// clearlyFollows reports whether a message clearly follows an exchange on the topic, even if code
// may not admit it alone. So a person who says thanks is not told to try again when no judge
// answers.
func (g *Guard) clearlyFollows(r reading, after Verdict) bool {
	return g.model != nil && r.marker.name == "" && !r.other && !r.long && after.Score >= float64(g.model.After)
}

const (
	// straySure is the score at or below which an answer has left the subject.
	straySure = -0.9
	// strayCertain is the same with hardly any mistakes.
	strayCertain = -1.4
	// asAnswer scales a score of the question classifier for an answer.
	asAnswer = 0.4
	// strayWords is the fewest words that show what an answer is about.
	strayWords = 6
)

// Strays reports whether a part of an answer has left the topic, by the score that it
// returns, and whether code is sure of that. Signs of injection do not count: an answer gives
// no orders.
func (g *Guard) Strays(answer string) (score float64, strayed, sure bool) {
	g.Prepare()
	r := g.read(answer)
	if len(r.words) < strayWords {
		return 0, false, false
	}
	if g.model != nil && g.model.answers.Bits > 0 && !r.other {
		score = g.model.answers.Score(plain(r.words))
		return score, score <= straySure, score <= strayCertain
	}
	r.marker = marker{}
	alone, _ := g.alone(r)
	score = alone.Score * asAnswer
	return score, !alone.Pass && (alone.Sure || score <= straySure), !alone.Pass && alone.Sure
}
