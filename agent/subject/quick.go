package subject

const (
	// admit is the score above which code guesses that a message is on topic: to refuse a person is
	// the worse mistake.
	admit = 0
	// talkAdmit is that score for a message about the talk, after an exchange on the topic: it
	// names nothing of the topic.
	talkAdmit = -2.5
	// untaughtAdmit is that score for a follow-up if the topic's lines hold none: those that leave a
	// subject are learned for every topic.
	untaughtAdmit = -1.0
	// softDoubt and hardDoubt are subtracted from the score for a sign of injection. The words of
	// an order cost little: as many people quote one in an on-topic question as give one.
	softDoubt, hardDoubt = 0.3, 100
	// orderDoubt is subtracted for such words in a message that names nothing of the topic.
	orderDoubt = 2
	// lean is added to the score of a follow-up after an exchange on the topic; half of it is
	// subtracted alone, if it names nothing of the topic.
	lean = 1.0
)

// byCode decides a message as far as code can, as following the last exchange if there is one. A
// possible follow-up is never refused without reading that exchange.
func (g *Guard) byCode(r reading, last *Exchange) Verdict {
	v := g.alone(r)
	if last == nil || len(r.words) == 0 || v.Sure && (v.Pass || !r.needs.FollowsUp()) {
		return v
	}
	return g.behind(r, last, v)
}

// alone decides a message as the first of a conversation.
func (g *Guard) alone(r reading) Verdict {
	v := Verdict{By: "code", Needs: r.needs}
	switch {
	case len(r.words) == 0:
		v.Pass, v.Sure, v.Reason = true, !hasLetters(r.text), "no words to judge"
		v.Needs = AboutTalk
		return v
	case r.marker.name == "" && greets(r.words):
		v.Pass, v.Sure = true, true
		v.Needs, v.Reason = AboutTalk, "greeting, thanks or help"
		return v
	}
	s := score(g.model, r, r.burden(nil))
	if r.needs == StandsAlone && !r.named && g.model != nil && s.alone <= 0 && len(r.words) <= longQuestion {
		v.Needs = FollowUp // on topic only within the conversation
	}
	v.Score, v.Pass = s.alone, s.alone > admit
	v.Sure, v.Reason = g.isSure(r, s)
	if r.needs == AboutTalk { // it depends on whether there is a conversation
		v.Sure = false
	}
	return v
}

// behind decides a message that follows an exchange; v is its verdict alone. Code is sure only of a
// message without a new subject: any other may lead anywhere.
func (g *Guard) behind(r reading, last *Exchange, v Verdict) Verdict {
	b := r.burden(last)
	s := score(g.model, r, b)
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
	case !last.Unjudged && b.isLight():
		v.Pass, v.Sure, v.Reason = true, true, "follow-up of the last exchange"
		return v
	}
	switch {
	case r.needs == AboutTalk && s.after > talkAdmit:
		v.Pass = true
	case r.needs.FollowsUp() && !r.other && !r.long && (g.model == nil || !g.model.FollowUps):
		v.Pass = g.model == nil || s.after > untaughtAdmit // follow-ups of the topic were not in the training
	}
	return v
}

// scores are the classifier's scores of a message, above zero in favour of the topic.
type scores struct {
	alone, after float64
	plain        float64 // the lower of both, without the doubt for signs of injection
}

func score(m *Classifier, r reading, b burden) scores {
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
	s := scores{alone: m.Score(fs), after: m.Score(behind(fs, b))}
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
	case r.marker.name != "" && !r.named:
		doubt = orderDoubt
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
	case r.other, r.foreign:
		return false, "in a language that code does not know"
	case r.long, r.named && len(r.words) >= storyWords:
		return false, "too long for code to be sure"
	case r.marker.name != "":
		return false, "sign of injection (" + r.marker.name + ")"
	case g.model != nil && s.plain <= float64(g.model.Out):
		return true, "clearly of another subject"
	case g.model == nil && r.named, g.model != nil && g.model.admits(r, s):
		return true, "clearly of the topic"
	}
	return false, "unclear"
}

// admits reports whether a message belongs by its score, which may be lower if it names the topic.
func (c Classifier) admits(r reading, s scores) bool {
	return s.alone >= float64(c.In) || r.named && s.alone >= float64(c.Named)
}

// A Weighing is what code makes of a message, whatever the thresholds of sure decisions are: its
// scores, and which of the thresholds could make it sure.
type Weighing struct {
	// Named is set if the message names the topic.
	Named bool
	// Alone is compared with [Sure.In] and [Sure.Named], After with [Sure.After] and Refuse with [Sure.Out].
	Alone, After, Refuse           float64
	MayAdmit, MayFollow, MayRefuse bool
}

// Weigh weighs a message, as following the last exchange if there is one. Package learn finds the
// thresholds by it.
func (g *Guard) Weigh(message string, last *Exchange) Weighing {
	g.Prepare()
	r := g.read(message)
	s := score(g.model, r, r.burden(nil))
	w := Weighing{Named: r.named, Alone: s.alone, After: score(g.model, r, r.burden(last)).after, Refuse: s.plain}
	if g.model == nil || len(r.words) == 0 || r.marker.name != "" || r.other || r.foreign || r.long || greets(r.words) {
		return w
	}
	w.MayAdmit = r.needs != AboutTalk && (!r.named || len(r.words) < storyWords)
	w.MayRefuse = w.MayAdmit && (last == nil || !r.needs.FollowsUp())
	w.MayFollow = last != nil
	return w
}

// clearlyFollows reports whether a message clearly follows an exchange on the topic, even if code
// may not admit it alone. So a person who says thanks is not told to try again when no judge
// answers.
func (g *Guard) clearlyFollows(r reading, after Verdict) bool {
	return g.model != nil && r.marker.name == "" && !r.other && !r.long && after.Score >= float64(g.model.After)
}
