package guardrail

const (
	// straySure is the score from which on, downwards, an answer has left the subject.
	straySure = -1.25
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
	r.marker = marker{}
	alone, _ := g.quick(r)
	return alone.Score, !alone.Pass && (alone.Sure || alone.Score <= straySure), !alone.Pass && alone.Sure
}
