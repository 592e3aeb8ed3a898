package guardrail

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// The policies for a message that could not be judged.
const (
	// Closed refuses, saying that the check cannot be made now.
	Closed = "closed"
	// Open lets the message pass.
	Open = "open"
)

// Config says what a Guard keeps to.
type Config struct {
	Topic Topic
	// OnFailure decides when no judge answers in time or its answer cannot be read:
	// "closed" (default) or "open".
	OnFailure string
	// Timeout bounds one judge's call; 3 s when zero.
	Timeout time.Duration
	// Logger may be nil. It gets lengths and reasons, never the text.
	Logger *slog.Logger
}

// An Exchange is the last question that passed and its answer.
type Exchange struct{ Question, Answer string }

// A Judge answers one short model call: deterministic, a few tokens, text only. It
// must give up when ctx ends.
type Judge interface {
	Judge(ctx context.Context, system, user string) (string, error)
}

// A Verdict says whether a message belongs to the topic, and why.
type Verdict struct {
	Pass bool `json:"pass"`
	// Sure is set when nothing better could be asked: code was sure, or a judge
	// answered.
	Sure bool `json:"sure"`
	// By is who decided: "code", "model" or "policy".
	By     string `json:"by"`
	Reason string `json:"reason"`
	// Score is the sum of what code saw, above zero in favour.
	Score float64 `json:"score"`
	// Unavailable is set when the check could not be made; the person should try
	// again.
	Unavailable bool `json:"unavailable,omitempty"`
	// SmallTalk is set for a greeting, thanks or a question about the assistant: it
	// passes, and there is nothing to search for.
	SmallTalk bool          `json:"small_talk,omitempty"`
	Took      time.Duration `json:"-"`
}

// A Guard judges messages against one topic. It is safe for concurrent use.
type Guard struct {
	topic     Topic
	onFailure string
	timeout   time.Duration
	log       *slog.Logger

	phrases, hello, fill, cues *lexicon
	markers                    markers
}

// New builds the guard of a topic. It reports an incomplete topic, an unknown policy
// or a negative timeout.
func New(c Config) (*Guard, error) {
	if err := c.Topic.check(); err != nil {
		return nil, err
	}
	g := &Guard{topic: c.Topic.withTexts(), onFailure: c.OnFailure, timeout: c.Timeout, log: c.Logger}
	switch g.onFailure {
	case "":
		g.onFailure = Closed
	case Closed, Open:
	default:
		return nil, fmt.Errorf("topic %q: on_failure is %q: use %q or %q", c.Topic.Name, c.OnFailure, Closed, Open)
	}
	if g.timeout < 0 {
		return nil, fmt.Errorf("topic %q: timeout is %s: use a positive duration", c.Topic.Name, c.Timeout)
	}
	if g.timeout == 0 {
		g.timeout = 3 * time.Second
	}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	g.compile()
	return g, nil
}

// compile prepares the lexicons. The topic's own phrases come first, so that a
// topic about football is not refused for football.
func (g *Guard) compile() {
	t := g.topic
	g.phrases, g.hello, g.fill, g.cues = newLexicon(false), newLexicon(true), newLexicon(true), newLexicon(true)
	g.phrases.add(tierAdmit, t.Admit...)
	g.phrases.add(tierRelated, t.Related...)
	g.phrases.add(tierForeign, t.Foreign...)
	g.phrases.add(tierTask, t.Tasks...)
	g.phrases.add(tierAdjacent, t.Adjacent...)
	g.phrases.add(tierWeak, t.Weak...)
	g.hello.add(tierNone, list(greetings)...)
	g.fill.add(tierNone, list(fillers)...)
	g.cues.add(tierNone, list(followCues)...)
	g.markers = newMarkers()
}

// Topic returns the topic that the guard keeps to, its texts complete.
func (g *Guard) Topic() Topic { return g.topic }

// Quick decides a message by code, from the message alone. Unless the verdict is
// Sure, Pass is only the better guess.
func (g *Guard) Quick(text string) Verdict {
	start := time.Now()
	v := g.quick(g.read(text))
	v.Took = time.Since(start)
	return v
}

// Decide judges a message: by code when it is sure, as a follow-up of last (nil at
// the start of a conversation), else by the judge. Without a judge the code's better
// guess decides. lang ("vi" or "en") is the language of the judge's prompt.
func (g *Guard) Decide(ctx context.Context, text, lang string, last *Exchange, judge Judge) Verdict {
	start := time.Now()
	v := g.decide(ctx, text, lang, last, judge)
	v.Took = time.Since(start)
	g.log.DebugContext(ctx, "guardrail verdict", "pass", v.Pass, "sure", v.Sure, "by", v.By,
		"reason", v.Reason, "score", v.Score, "length", len(text), "took", v.Took)
	return v
}

func (g *Guard) decide(ctx context.Context, text, lang string, last *Exchange, judge Judge) Verdict {
	r := g.read(text)
	v := g.quick(r)
	switch {
	case v.Sure:
		return v
	case last != nil && g.follows(r):
		v.Pass, v.Sure, v.Reason = true, true, "follow-up of the last exchange"
		return v
	case judge == nil:
		v.Reason = "better guess without a judge; " + v.Reason
		return v
	}
	return g.ask(ctx, r, lang, last, judge, v.Score)
}

// ask lets the judge decide, and the policy when it does not.
func (g *Guard) ask(ctx context.Context, r reading, lang string, last *Exchange, judge Judge, score float64) Verdict {
	ctx, cancel := context.WithTimeout(ctx, g.timeout)
	defer cancel()
	system, user := g.prompt(r.text, lang, last)
	answer, err := judge.Judge(ctx, system, user)
	if err != nil {
		g.log.WarnContext(ctx, "guardrail judge did not answer", "error", err, "policy", g.onFailure)
		return g.byPolicy(failure(err), score)
	}
	pass, ok := parse(answer)
	if !ok {
		g.log.WarnContext(ctx, "guardrail judge's answer cannot be read", "length", len(answer), "policy", g.onFailure)
		return g.byPolicy("the judge answered neither YES nor NO", score)
	}
	return Verdict{Pass: pass, Sure: true, By: "model", Reason: "the judge decided", Score: score}
}

func failure(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "the judge did not answer in time"
	case errors.Is(err, context.Canceled):
		return "the check was cancelled"
	}
	return "the judge cannot be reached"
}

func (g *Guard) byPolicy(reason string, score float64) Verdict {
	if g.onFailure == Open {
		return Verdict{Pass: true, By: "policy", Reason: reason + ": policy is open", Score: score}
	}
	return Verdict{By: "policy", Reason: reason + ": policy is closed", Score: score, Unavailable: true}
}

// Refusal returns the friendly text for a message outside the topic.
func (g *Guard) Refusal(lang string) string { return pick(g.topic.Refusal, lang) }

// Unavailable returns the text for a message that could not be judged now.
func (g *Guard) Unavailable(lang string) string { return pick(g.topic.Unavailable, lang) }
