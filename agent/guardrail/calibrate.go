package guardrail

import "slices"

// scored is how a held-back example fared.
type scored struct {
	in, follows  bool
	alone, after float64
	// admits, follow and refuses say whether code may be sure of the verdict at all:
	// that it is in, alone; in, behind an exchange; out.
	admits, follow, refuses bool
	// doubt divides a score against the topic; see doubtful.
	doubt float64
}

func (g *Guard) scores(w *weights, held []Example) []scored {
	out := make([]scored, len(held))
	for i, e := range held {
		r := g.read(e.Text)
		alone, after := r.features(w.holds)
		out[i] = scored{
			in: e.InDomain, follows: e.Follows(), alone: w.score(alone), after: w.score(after),
			admits:  r.marker == "" && !r.other && r.plainly() && g.named(r),
			follow:  r.marker == "" && r.plainly(),
			refuses: r.marker == "" && !r.other && r.speaks() && !g.isGreeting(r.words),
			doubt:   r.doubtful(),
		}
	}
	return out
}

// calibrate sets the scores from which on code is sure: beyond the mistakes among the
// held examples, with room to spare. Of every few hundred examples one may be odd.
func (w *weights) calibrate(held []scored) {
	const least, room, oneIn = 2.0, 1.1, 400
	var in, after, out []float64
	for _, s := range held {
		switch {
		case s.in && s.follows && s.refuses:
			out = append(out, -s.after/s.doubt)
		case s.in && s.refuses:
			out = append(out, -max(s.alone, s.after)/s.doubt)
		case s.in:
		default:
			if s.admits {
				in = append(in, s.alone)
			}
			if s.follow {
				after = append(after, s.after)
			}
		}
	}
	beyond := func(mistakes []float64) float32 {
		slices.Sort(mistakes)
		n := len(mistakes) - 1 - len(held)/oneIn
		if n < 0 {
			return least
		}
		return float32(max(least, mistakes[n]*room))
	}
	w.sureIn, w.sureAfter, w.sureOut = beyond(in), beyond(after), -beyond(out)
}
