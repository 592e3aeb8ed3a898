package guardrail

const (
	// straySure is the score from which on, downwards, an answer has left the subject.
	straySure = -0.9
	// strayCertain is the score of one that hardly ever has not.
	strayCertain = -1.4
	// asAnswer is what a score of the classifier of questions is worth for an answer.
	asAnswer = 0.4
	// strayWords is the least that tells what an answer is about.
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
	alone, _ := g.quick(r)
	score = alone.Score * asAnswer
	return score, !alone.Pass && (alone.Sure || score <= straySure), !alone.Pass && alone.Sure
}
