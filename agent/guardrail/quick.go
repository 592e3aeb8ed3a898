package guardrail

import "fmt"

// A tier says what a phrase speaks for.
type tier int

const (
	tierNone tier = iota
	tierAdmit
	tierRelated
	tierWeak
	tierAdjacent
	tierForeign
	tierTask
	tiers
)

// favours reports whether phrases of the tier speak for the topic.
func (t tier) favours() bool { return t >= tierAdmit && t <= tierWeak }

// weight is what one phrase of a tier adds to the score. Two weak words, or one
// related phrase, outweigh the doubt that every message starts with.
func (t tier) weight() float64 {
	switch t {
	case tierAdmit:
		return 3
	case tierRelated:
		return 1.5
	case tierWeak:
		return 0.6
	case tierAdjacent:
		return -1.2
	case tierForeign:
		return -2.6
	case tierTask:
		return -4
	}
	return 0
}

const (
	doubt       = -0.7 // the score of a message without any known phrase
	markerScore = -6   // an order to the machinery outweighs what else is said
	surePass    = 2.2
	sureLength  = 300 // characters; longer messages hold more than one request
	followWords = 10
	sureFollow  = 1 // and from here on code is sure of it
	plainWords  = 30
	leastFollow = -1.5 // a message that leans on the last exchange may score so low
	helloWords  = 14
)

// quick decides a message alone as far as code can. after is whether it would pass
// behind an exchange on the topic.
func (g *Guard) quick(r reading) (v Verdict, after Verdict) {
	v = Verdict{By: "code"}
	alone, behind := g.score(r)
	v.Score, v.Pass = alone, alone > 0
	after = Verdict{By: "code", Score: behind, Pass: behind > 0}
	switch {
	case r.marker != "":
		v.Pass, v.Reason = false, "sign of injection ("+r.marker+")"
		after = v
	case len(r.words) == 0:
		v.Reason = "no words to judge"
		v.Pass, v.Sure = true, !hasLetters(r.text)
		v.SmallTalk = v.Sure
		after = v
	case g.isGreeting(r.words):
		v.Pass, v.Sure, v.SmallTalk, v.Reason = true, true, true, "greeting, thanks or help"
		after = v
	case r.cut || r.long || r.isStory():
		v.Reason = "too long for code to be sure"
		after.Reason = v.Reason
	case r.other:
		v.Reason = "in a language that code does not know"
		after.Reason, after.Pass = v.Reason, after.Pass || !r.alien && g.follows(r, behind)
	default:
		v.Sure, v.Reason = g.isSure(r, alone, behind)
		after.Sure, after.Reason = g.isSureAfter(r, behind)
		after.Pass = after.Pass || after.Sure || g.follows(r, behind)
	}
	return v, after
}

// score weighs a message alone and behind an exchange: by the classifier, else by the
// sum of the phrases.
func (g *Guard) score(r reading) (alone, after float64) {
	if g.weights == nil {
		return r.sum(), r.sum()
	}
	a, b := r.features(g.weights.holds)
	alone, after = g.weights.score(a), g.weights.score(b)
	// What no assistant of the topic does stays outside however much of the topic stands
	// beside it.
	if r.other {
		return scoreAbroad(r, alone), scoreAbroad(r, after)
	}
	if r.isStory() {
		return g.story(r, alone), g.story(r, after)
	}
	if r.hits[tierTask] > 0 || r.turns && r.against() > 0 && !r.mostlyOurs() || g.smuggles(r) {
		return min(alone, doubt), min(after, doubt)
	}
	return alone, after
}

// scoreAbroad guesses for a language that the classifier has not learned.
func scoreAbroad(r reading, score float64) float64 {
	if r.abroad && r.hits[tierTask] == 0 {
		return -doubt
	}
	return min(score, doubt)
}

// isSure tells whether code decides a message alone, and why.
func (g *Guard) isSure(r reading, alone, after float64) (sure bool, reason string) {
	seen := fmt.Sprintf("phrases for the topic %d, against %d", r.inFavour(), r.against()+r.hits[tierAdjacent])
	if g.weights == nil {
		switch {
		case alone >= surePass && r.against() == 0:
			return true, fmt.Sprintf("phrases of the topic (%d)", r.inFavour())
		case r.against() > 0 && r.inFavour() == 0:
			return true, "phrases of another subject"
		}
		return false, "unclear: " + seen
	}
	w := g.weights
	switch {
	case alone >= float64(w.sureIn) && r.plainly() && g.named(r):
		return true, "clearly of the topic: " + seen
	case max(alone, after) <= float64(w.sureOut)*r.doubtful() && r.speaks():
		return true, "clearly of another subject: " + seen
	}
	return false, "unclear: " + seen
}

// named reports a phrase that can only belong to the topic, where the topic lists any.
func (g *Guard) named(r reading) bool {
	return r.hits[tierAdmit] > 0 || len(g.topic.Admit) == 0
}

// plainly reports a single short request with nothing against it.
func (r reading) plainly() bool {
	return r.against() == 0 && r.hits[tierAdjacent] == 0 && !r.turns && len(r.words) <= plainWords
}

// isSureAfter tells whether code admits a message behind an exchange, and why.
func (g *Guard) isSureAfter(r reading, score float64) (sure bool, reason string) {
	const reasonFollows = "follow-up of the last exchange"
	if g.follows(r, score) {
		return g.weights == nil || score >= sureFollow, reasonFollows
	}
	if w := g.weights; w != nil && score >= float64(w.sureAfter) && r.plainly() {
		return true, reasonFollows
	}
	return false, "unclear, even after the last exchange"
}

// isGreeting reports whether the whole message is greetings and fillers.
func (g *Guard) isGreeting(words []word) bool {
	if len(words) > helloWords {
		return false
	}
	greeted := false
	for i := 0; i < len(words); {
		if p := g.hello.longest(words[i:]); p != nil {
			greeted = true
			i += len(p.words)
			continue
		}
		p := g.fill.longest(words[i:])
		if p == nil {
			return false
		}
		i += len(p.words)
	}
	return greeted
}

// follows reports whether a message leans on the exchange before it beyond doubt:
// short, with nothing of another subject in it, and either a few words only or with a
// word that points back. What the classifier speaks against is left to it.
func (g *Guard) follows(r reading, score float64) bool {
	if r.marker != "" || r.against() > 0 || r.hits[tierAdjacent] > 0 || len(r.words) > followWords || r.cut {
		return false
	}
	if g.weights != nil && r.classes != 0 && score < 0 { // "and the traffic?"
		return false
	}
	if r.leans && r.content <= 1 {
		return true
	}
	if g.weights != nil && score < leastFollow {
		return false
	}
	return len(r.words) <= 2 || r.leans
}

// doubtful is by how much code has to be surer before it refuses a message that names
// the topic, or that is too short to speak of anything.
func (r reading) doubtful() float64 {
	switch {
	case r.inFavour() > 0:
		return 1.5
	case r.against() == 0 && len(r.words) <= 3:
		return 2
	}
	return 1
}

// speaks reports a message that says something of its own, and does not merely lean on
// the one before it.
func (r reading) speaks() bool { return r.content > 1 || r.against() > 0 }
