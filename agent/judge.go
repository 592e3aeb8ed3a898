package agent

import (
	"cmp"
	"context"
	"iter"
	"strings"
	"sync"
	"time"

	"molar/agent/answer"
	"molar/agent/subject"
	"molar/providers"
)

// A Judge decides for all topics of a host. It is safe for concurrent use.
type Judge struct {
	guards map[string]*subject.Guard
	// emergencies by topic, each built at its first use.
	emergencies map[string]func() *subject.Detector
	answered    sync.Map // when each small model answered last
	now         func() time.Time
}

// NewJudge returns the judge of the guards' topics, by name.
func NewJudge(guards map[string]*subject.Guard, now func() time.Time) *Judge {
	detectors := make(map[string]func() *subject.Detector)
	for name, guard := range guards {
		detectors[name] = sync.OnceValue(func() *subject.Detector { return subject.NewDetector(guard.Topic()) })
	}
	return &Judge{guards: guards, emergencies: detectors, now: now}
}

// A First is code's judgement of a question alone.
type First struct {
	Verdict subject.Verdict
	// Kinds are the emergencies that the question describes.
	Kinds []string
	// MayAdd is set when the question describes a sign that together with what was said before may
	// be an emergency.
	MayAdd bool
}

// Refuses reports whether the question surely does not belong to the topic, whatever was said
// before.
func (f First) Refuses() bool {
	return f.Verdict.Sure && !f.Verdict.Pass && len(f.Kinds) == 0 && !f.MayAdd
}

// Look reads a question alone. Without a topic everything passes.
func (j *Judge) Look(topic, text string) First {
	guard := j.guards[topic]
	if guard == nil {
		return First{Verdict: subject.Verdict{Pass: true, Sure: true}}
	}
	verdict := guard.Quick(text)
	return First{Verdict: verdict, Kinds: j.find(topic, text, nil, verdict), MayAdd: j.emergencies[topic]().MayAdd(text)}
}

// kinds returns the emergencies that a question describes, alone or together with the questions before it.
func (j *Judge) kinds(topic, text string, earlier []string, first First) []string {
	if len(first.Kinds) > 0 || len(earlier) == 0 {
		return first.Kinds
	}
	return j.find(topic, text, earlier, first.Verdict)
}

// find returns the emergencies that a question describes; where code's verdict is a refusal, only
// the clear ones.
func (j *Judge) find(topic, text string, earlier []string, first subject.Verdict) []string {
	detector := j.emergencies[topic]()
	if !first.Pass {
		return detector.FindClear(text, earlier...)
	}
	return detector.Find(text, earlier...)
}

// A Case is a question under a topic.
type Case struct {
	Topic    string
	First    First
	Question subject.Question
	// Earlier are the last questions before it, the newest last.
	Earlier []string
	// Route has the judge's model, Stream calls it.
	Route  providers.Route
	Stream func(context.Context, providers.Request) iter.Seq2[providers.Chunk, error]
	Out    *answer.Speaker
	// Group holds the goroutines of the turn, which waits for them at its end.
	Group *sync.WaitGroup
}

// Decide returns the gate of a case, and the emergencies that the question describes, alone or as a
// follow-up: those always pass. Where code is not sure, a model is asked concurrently; offline, a
// follow-up to an emergency counts as one.
func (j *Judge) Decide(ctx context.Context, c Case) (*Gate, []string) {
	kinds, first := j.kinds(c.Topic, c.Question.Text, c.Earlier, c.First), c.First.Verdict
	var earlier []string // in the last exchange
	if len(kinds) == 0 {
		earlier = j.EarlierEmergencies(c.Topic, c.Question.Last, c.Question.Text)
	}
	followsUp := first.Needs.FollowsUp() || !first.Sure && first.Needs != subject.AboutTalk
	if first.Pass && !first.Needs.FollowsUp() && subject.Deciding(j.guards[c.Topic].Topic(), earlier).Ends {
		followsUp = false // it is a question of the topic, and the notice would be the whole answer
	}
	if followsUp && c.Route.Offline {
		kinds = append(kinds, earlier...) // no model can judge what they mean for this question
	}
	switch {
	case len(kinds) > 0:
		return decided(subject.Verdict{
			Pass: true, Sure: true, By: "emergency", Score: first.Score, Needs: first.Needs,
			Reason: "it describes an emergency: " + strings.Join(kinds, ", "),
		}, c.Out), kinds
	case first.Sure:
		return decided(first, c.Out), nil
	case len(earlier) > 0: // after an emergency nobody is refused on a guess
		return decided(subject.Verdict{
			Pass: true, Sure: true, By: "emergency", Score: first.Score, Needs: first.Needs, Reason: "it follows an emergency",
		}, c.Out), nil
	}
	if v := j.guards[c.Topic].ByCode(c.Question.Text, c.Question.Last); v.Sure { // as a follow-up, or as the first question
		return decided(v, c.Out), nil
	}
	c.Question.Cold = j.cold(c.Route)
	return &Gate{out: c.Out, verdict: begin(c.Group, func() (subject.Verdict, error) {
		model, refused := stopsAtBudget(j.model(c))
		verdict := j.guards[c.Topic].Decide(ctx, c.Question, model)
		return verdict, cmp.Or(ctx.Err(), refused())
	})}, nil
}

// EarlierEmergencies returns the emergencies of the last exchange that the next message may refer
// to: the ones whose notice its answer begins with, else the ones that its question describes. It
// returns nil without an exchange.
func (j *Judge) EarlierEmergencies(topic string, last *subject.Exchange, next string) []string {
	if last == nil {
		return nil
	}
	detector := j.emergencies[topic]()
	_, kinds := subject.Leading(j.guards[topic].Topic(), last.Answer)
	if len(kinds) == 0 {
		kinds = detector.Find(last.Question)
	}
	return detector.CorrectKinds(kinds, next)
}

// HasStrayed asks the small model whether a part of the answer left the subject. Without a model it
// reports false.
func (j *Judge) HasStrayed(ctx context.Context, c Case, part string) (bool, error) {
	model := j.model(c)
	if model == nil {
		return false, nil
	}
	return j.guards[c.Topic].HasStrayed(ctx, c.Question, part, model)
}

// model returns the small model of a case; nil offline.
func (j *Judge) model(c Case) subject.Judge {
	if c.Route.Offline {
		return nil
	}
	return func(ctx context.Context, ask subject.Ask) (string, error) {
		text, err := readText(c.Stream(ctx, request(c.Route.SmallModel, ask)))
		if err == nil {
			j.heardFrom(c.Route)
		}
		return text, err
	}
}
