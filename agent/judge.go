package agent

import (
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

// NewJudge returns the judge of the topics that the guards keep, by their names.
func NewJudge(guards map[string]*subject.Guard, now func() time.Time) *Judge {
	detectors := make(map[string]func() *subject.Detector)
	for name, guard := range guards {
		detectors[name] = sync.OnceValue(func() *subject.Detector { return subject.NewDetector(guard.Topic()) })
	}
	return &Judge{guards: guards, emergencies: detectors, now: now}
}

// A First is what code sees of a question alone.
type First struct {
	Verdict subject.Verdict
	// Kinds are the emergencies that the question describes.
	Kinds []string
}

// Refuses reports whether the question surely does not belong to the topic.
func (f First) Refuses() bool { return f.Verdict.Sure && !f.Verdict.Pass && len(f.Kinds) == 0 }

// Look reads a question alone. Without a topic everything passes.
func (j *Judge) Look(topic, text string) First {
	guard := j.guards[topic]
	if guard == nil {
		return First{Verdict: subject.Verdict{Pass: true, Sure: true}}
	}
	verdict := guard.Quick(text)
	return First{Verdict: verdict, Kinds: j.find(topic, text, "", verdict)}
}

// find returns the emergencies that a question describes, whose verdict by code is known.
func (j *Judge) find(topic, text, before string, first subject.Verdict) []string {
	detector := j.emergencies[topic]()
	if !first.Pass {
		return detector.FindClear(text, before)
	}
	return detector.Find(text, before)
}

// A Case is a question under a topic.
type Case struct {
	Topic    string
	First    First
	Question subject.Question
	// Route has the model that is asked, Stream asks it.
	Route  providers.Route
	Stream func(context.Context, providers.Request) iter.Seq2[providers.Chunk, error]
	Out    *answer.Speaker
	// Group is waited for at the end of the turn.
	Group *sync.WaitGroup
}

// Decide returns the gate of a case, and the emergencies that the question describes, alone
// or as a follow-up: those always pass. Where code is not sure, a model is asked beside the
// turn; offline, what leans on an emergency that was just told is about it too.
func (j *Judge) Decide(ctx context.Context, c Case) (*Gate, []string) {
	kinds, first := c.First.Kinds, c.First.Verdict
	if last := c.Question.Last; len(kinds) == 0 && last != nil {
		kinds = j.find(c.Topic, c.Question.Text, last.Question, first)
	}
	var told []string // in the last exchange
	if len(kinds) == 0 {
		told = j.Told(c.Topic, c.Question.Last, c.Question.Text)
	}
	leans := first.Needs.FollowsUp() || !first.Sure && first.Needs != subject.AboutTalk
	if first.Pass && !first.Needs.FollowsUp() && subject.Deciding(j.guards[c.Topic].Topic(), told).Ends {
		leans = false // it asks of the topic by itself, and the notice would be the whole answer
	}
	if leans && c.Route.Offline {
		kinds = append(kinds, told...) // no model is there to say what they mean for this question
	}
	switch {
	case len(kinds) > 0:
		return Decided(subject.Verdict{
			Pass: true, Sure: true, By: "emergency", Score: first.Score, Needs: first.Needs,
			Reason: "it describes an emergency: " + strings.Join(kinds, ", "),
		}, c.Out), kinds
	case first.Sure:
		return Decided(first, c.Out), nil
	case len(told) > 0: // nobody who has just told of an emergency is turned away on a guess
		return Decided(subject.Verdict{
			Pass: true, Sure: true, By: "emergency", Score: first.Score, Needs: first.Needs, Reason: "it follows an emergency",
		}, c.Out), nil
	}
	if v := j.guards[c.Topic].ByCode(c.Question.Text, c.Question.Last); v.Sure { // as it goes on, or begins, the conversation
		return Decided(v, c.Out), nil
	}
	c.Question.Cold = j.cold(c.Route)
	return &Gate{out: c.Out, verdict: Begin(c.Group, func() (subject.Verdict, error) {
		return j.guards[c.Topic].Decide(ctx, c.Question, j.model(c)), ctx.Err()
	})}, nil
}

// Told returns the emergencies that the last exchange was about, as the next message shows them to be
// meant: those that its answer begins with, else those that its question describes; none without an
// exchange.
func (j *Judge) Told(topic string, last *subject.Exchange, next string) []string {
	if last == nil {
		return nil
	}
	detector := j.emergencies[topic]()
	_, kinds := subject.Leading(j.guards[topic].Topic(), last.Answer)
	if len(kinds) == 0 {
		kinds = detector.Find(last.Question, "")
	}
	return detector.Meant(kinds, next)
}

// HasStrayed asks the small model about a part of the answer to a case's question, and reports whether
// it says that the part left the subject. Without a model it never has.
func (j *Judge) HasStrayed(ctx context.Context, c Case, part string) (bool, error) {
	model := j.model(c)
	if model == nil {
		return false, nil
	}
	return j.guards[c.Topic].HasStrayed(ctx, c.Question, part, model)
}

// model is the small model of a case, nil where there is none.
func (j *Judge) model(c Case) subject.Judge {
	if c.Route.Offline {
		return nil
	}
	return func(ctx context.Context, ask subject.Ask) (string, error) {
		text, err := heard(c.Stream(ctx, request(c.Route.SmallModel, ask)))
		if err == nil {
			j.answered.Store(c.Route.SmallModel, j.now())
		}
		return text, err
	}
}
