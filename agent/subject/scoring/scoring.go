// Package scoring judges labelled messages with a guardrail and reports its accuracy.
package scoring

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"molar/agent/subject"
)

// A Report is the accuracy of a guard on labelled messages.
type Report struct {
	N        int     `json:"n"`
	Accuracy float64 `json:"accuracy"`
	MacroF1  float64 `json:"macro_f1"`
	// The recalls are the shares of correctly judged messages of each label.
	InDomainRecall  float64 `json:"in_domain_recall"`
	OffDomainRecall float64 `json:"off_domain_recall"`
	// Sure is about the decisions of code alone.
	Sure             Sureness  `json:"sure"`
	LanguageAccuracy float64   `json:"language_accuracy"`
	Confusion        Confusion `json:"confusion"`
	Slices           Slices    `json:"slices"`
	Wrong            []Wrong   `json:"wrong"`
}

// Sureness is how much code decided without a judge, and how well. Low and High are
// the ends of the 95 % Wilson interval of the precision.
type Sureness struct {
	Share     float64 `json:"share"`
	Precision float64 `json:"precision"`
	N         int     `json:"n"`
	Wrong     int     `json:"wrong"`
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
}

// Confusion counts messages by label and verdict.
type Confusion struct {
	InPassed   int `json:"in_passed"`
	InRefused  int `json:"in_refused"`
	OutPassed  int `json:"out_passed"`
	OutRefused int `json:"out_refused"`
}

// A Slice is one kind or language of the messages.
type Slice struct {
	N        int     `json:"n"`
	Accuracy float64 `json:"accuracy"`
	right    int
}

// Slices are the slices of a report, by name.
type Slices map[string]Slice

// add counts a message in the slices that it belongs to.
func (all Slices) add(right bool, names ...string) {
	for _, name := range names {
		if name == "" {
			continue
		}
		s := all[name]
		if s.N++; right {
			s.right++
		}
		s.Accuracy = share(s.right, s.N)
		all[name] = s
	}
}

// Names returns the names of the slices, the largest first.
func (all Slices) Names() []string {
	return slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(all[b].N, all[a].N), cmp.Compare(a, b))
	})
}

// Wrong is a message that was judged wrongly. Line counts the messages from one.
type Wrong struct {
	Line int `json:"line"`
	subject.Example
	Pass   bool    `json:"pass"`
	Sure   bool    `json:"sure"`
	By     string  `json:"by"`
	Score  float64 `json:"score"`
	Reason string  `json:"reason"`
}

// Evaluate judges every example and returns a report. A follow-up is judged after an exchange on the
// topic in its own language. With a nil judge code decides everything. Evaluate stops early when ctx
// ends.
func Evaluate(ctx context.Context, g *subject.Guard, examples []subject.Example, judge subject.Judge) (Report, error) {
	r := Report{Slices: Slices{}, Wrong: []Wrong{}}
	languages, told := 0, 0
	for i, e := range examples {
		if err := ctx.Err(); err != nil {
			return Report{}, err
		}
		v := evaluate(ctx, g, e, judge)
		ok := v.Pass == e.InDomain
		r.Confusion.add(e.InDomain, v.Pass)
		r.Sure.add(v, ok)
		r.Slices.add(ok, slices.Compact([]string{e.Kind, e.Lang})...)
		if e.Lang != "" {
			told++
			if lang := languageOf(e); lang == e.Lang || lang == subject.Other && e.Lang != subject.Vietnamese && e.Lang != subject.English {
				languages++
			}
		}
		if !ok {
			r.Wrong = append(r.Wrong, Wrong{Line: i + 1, Example: e, Pass: v.Pass, Sure: v.Sure, By: v.By, Score: round(v.Score), Reason: v.Reason})
		}
	}
	r.N, r.LanguageAccuracy = len(examples), share(languages, told)
	r.sum()
	return r, nil
}

func evaluate(ctx context.Context, g *subject.Guard, e subject.Example, judge subject.Judge) subject.Verdict {
	return g.Decide(ctx, subject.Question{Text: e.Text, Lang: languageOf(e), Cold: true, Last: Last(g, e)}, judge)
}

// Last returns the exchange that an example follows: the last one of its history, or a general one
// for a follow-up without; nil for any other message.
func Last(g *subject.Guard, e subject.Example) *subject.Exchange {
	switch n := len(e.History); {
	case n > 0:
		return &e.History[n-1]
	case e.Follows():
		return sampleExchange(g, languageOf(e))
	}
	return nil
}

// languageOf returns the message's language as code detects it. For a follow-up, whose conversation
// is in its own language, the label breaks ties.
func languageOf(e subject.Example) string {
	previous := ""
	if e.Follows() {
		previous = e.Lang
	}
	lang, _ := subject.Detect(e.Text, previous)
	return lang
}

// sampleExchange returns an exchange on the topic, for messages that follow one: a question for the
// topic's description, and the description.
func sampleExchange(g *subject.Guard, lang string) *subject.Exchange {
	question := "What is this about?"
	if lang == subject.Vietnamese {
		question = "Chủ đề này gồm những gì?"
	}
	return &subject.Exchange{Question: question, Answer: g.Topic().Voice(lang).Description}
}

func (c *Confusion) add(in, pass bool) {
	switch {
	case in && pass:
		c.InPassed++
	case in:
		c.InRefused++
	case pass:
		c.OutPassed++
	default:
		c.OutRefused++
	}
}

func (s *Sureness) add(v subject.Verdict, right bool) {
	if v.By != "code" || !v.Sure {
		return
	}
	s.N++
	if !right {
		s.Wrong++
	}
}

func (r *Report) sum() {
	c := r.Confusion
	r.Accuracy = share(c.InPassed+c.OutRefused, r.N)
	r.InDomainRecall = share(c.InPassed, c.InPassed+c.InRefused)
	r.OffDomainRecall = share(c.OutRefused, c.OutRefused+c.OutPassed)
	r.MacroF1 = (f1(c.InPassed, c.OutPassed, c.InRefused) + f1(c.OutRefused, c.InRefused, c.OutPassed)) / 2
	s := &r.Sure
	s.Share, s.Precision = share(s.N, r.N), share(s.N-s.Wrong, s.N)
	s.Low, s.High = Wilson(s.N-s.Wrong, s.N)
}

// f1 returns the F1 score of a label, from its true positives, false positives and false negatives.
func f1(hit, extra, missed int) float64 { return share(2*hit, 2*hit+extra+missed) }

func share(part, whole int) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// Wilson returns the ends of the 95 % interval of a share.
func Wilson(part, whole int) (low, high float64) {
	if whole == 0 {
		return 0, 1
	}
	const z = 1.959964
	n, p := float64(whole), share(part, whole)
	middle, reach := p+z*z/(2*n), z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	scale := 1 + z*z/n
	return max(0, (middle-reach)/scale), min(1, (middle+reach)/scale)
}

func round(score float64) float64 { return math.Round(score*100) / 100 }
