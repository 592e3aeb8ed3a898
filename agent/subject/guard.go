package subject

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"molar/internal/text"
)

// The policies for a message that could not be judged.
const (
	// Closed refuses, with the text that the check cannot be made now.
	Closed = "closed"
	// Open lets the message pass.
	Open = "open"
)

// The longest waits for a judge's answer: with its model loaded, and while it may still be loading.
const (
	warmWait = 3 * time.Second
	coldWait = 15 * time.Second
)

// GuardConfig configures a [Guard].
type GuardConfig struct {
	Topic Topic
	// OnFailure decides when no judge answers in time or its answer cannot be read:
	// "closed" (default) or "open".
	OnFailure string
	// Timeout bounds one judge's call; zero means 3 s, and 15 s while its model may
	// still be loading.
	Timeout time.Duration
	// Learn returns the weights of a topic that has none, trained from its examples. It is called
	// once, when the guard is prepared, and may be nil. Without weights the names of the topic decide.
	Learn func() (weights string, err error)
	// Logger may be nil. It gets lengths and reasons, never the text.
	Logger *slog.Logger
}

// A Question is a message to be judged.
type Question struct {
	Text string
	// Lang is the language of the message; the judge is asked in it, or in English.
	Lang string
	// AskLanguage makes the judge, if needed, also name the language, as code was not sure of it.
	AskLanguage bool
	// Last is nil at the start of a conversation.
	Last *Exchange
	// Cold is set if the judge's model may still have to be loaded.
	Cold bool
}

// An Ask is one short model call.
type Ask struct {
	System, User string
	// Schema is the JSON Schema that the answer should have, where the provider can
	// promise one. Plain words are understood as well.
	Schema json.RawMessage
}

// A Judge answers an Ask: deterministic, a few tokens, text only. It must give up
// when ctx ends.
type Judge func(ctx context.Context, ask Ask) (string, error)

// A Verdict is the decision whether a message belongs to the topic, and why.
type Verdict struct {
	Pass bool `json:"pass"`
	// Sure is set when the decision is final: code was sure, or a judge answered.
	Sure bool `json:"sure"`
	// By is who decided: "code", "model" or "policy"; in a turn also "emergency".
	By     string `json:"by"`
	Reason string `json:"reason"`
	// Score is code's score of the message, above zero in favour.
	Score float64 `json:"score"`
	// Cached is set when the judge had decided the same before.
	Cached bool `json:"cached,omitempty"`
	// Language is "vi", "en" or "other" if the judge was asked for it and named it.
	Language string `json:"language,omitempty"`
	// Unavailable is set when the check could not be made; the person should try
	// again.
	Unavailable bool `json:"unavailable,omitempty"`
	// Needs is what the message needs of the conversation; a search uses it.
	Needs Needs         `json:"needs,omitempty"`
	Took  time.Duration `json:"-"`
}

// A Guard judges messages against one topic. It is safe for concurrent use.
type Guard struct {
	topic     Topic
	onFailure string
	timeout   time.Duration
	learn     func() (weights string, err error)
	log       *slog.Logger
	verdicts  cache
	claims    *claims // nil if the topic asks for no sources

	// The fields below are built at the first question, as that takes some milliseconds.
	prepared sync.Once

	names, orders *text.Phrases
	abroad        abroad
	said          vocabulary  // the words of the topic's texts
	model         *Classifier // nil: the names of the topic alone decide
}

// NewGuard builds the guard of a topic. It reports an incomplete topic, an unknown policy
// or a negative timeout.
func NewGuard(c GuardConfig) (*Guard, error) {
	if err := c.Topic.Check(); err != nil {
		return nil, err
	}
	g := &Guard{topic: c.Topic, onFailure: c.OnFailure, timeout: c.Timeout, learn: c.Learn, log: c.Logger, claims: newClaims(c.Topic.Sourced), verdicts: cache{byKey: make(map[cacheKey]Verdict)}}
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
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	if c.Topic.Weights != "" {
		model, err := DecodeClassifier(c.Topic.Weights)
		if err != nil {
			return nil, fmt.Errorf("topic %q: %w", c.Topic.Name, err)
		}
		g.model = &model
	}
	return g, nil
}

// Prepare does the first question's work in advance: it reads the word lists and, for a topic with
// its own examples, has the classifier trained. Further calls do nothing.
func (g *Guard) Prepare() {
	g.prepared.Do(func() {
		g.names = text.NewStrictPhrases(g.topic.Phrases.Names)
		var orders []string
		for _, s := range sections("markers.txt") {
			orders = append(orders, s.Lines...)
		}
		g.orders, g.abroad = text.NewPhrases(orders), newAbroad(g.topic.Phrases.Abroad)
		g.said = g.readTexts()
		if g.Learns() {
			g.model = g.learned()
		}
	})
}

// Learns reports whether Prepare has a classifier trained from examples.
func (g *Guard) Learns() bool { return g.learn != nil && g.topic.Learns() }

// learned returns the classifier that was trained now, nil if that failed: the names of the topic
// and the judge then decide.
func (g *Guard) learned() *Classifier {
	weights, err := g.learn()
	if err == nil {
		var model Classifier
		if model, err = DecodeClassifier(weights); err == nil {
			return &model
		}
	}
	g.log.Error("a topic could not be learned from its examples: its names and the judge decide", "topic", g.topic.Name, "error", err)
	return nil
}

// Topic returns the guard's topic.
func (g *Guard) Topic() Topic { return g.topic }

// Quick decides a message by code, from the message alone, without the conversation. Unless the
// verdict is Sure, Pass is only the likelier guess.
func (g *Guard) Quick(text string) Verdict {
	start := time.Now()
	g.Prepare()
	r := g.read(text)
	v := g.alone(r)
	if v.Sure && !v.Pass && r.needs.FollowsUp() {
		v.Sure, v.Reason = false, "of another subject, unless it goes on with what was said"
	}
	v.Took = time.Since(start)
	return v
}

// ByCode decides a message by code, as following the last exchange. Unless the verdict is Sure,
// Pass is only the likelier guess.
func (g *Guard) ByCode(text string, last *Exchange) Verdict {
	g.Prepare()
	return g.byCode(g.read(text), last)
}

// Needs returns what a message needs of the conversation. A first message that names a thing of the
// topic is not AboutTalk, unless that is certain: see [NeedsOf].
func (g *Guard) Needs(text string, begins bool) Needs {
	g.Prepare()
	r := g.read(text)
	v := g.alone(r)
	if begins && v.Needs == AboutTalk && r.named && !r.talk && !greets(r.words) {
		return StandsAlone
	}
	return v.Needs
}

// Decide judges a message: by code when it is sure, alone or as a follow-up of the last exchange,
// else by the judge. Without a judge the likelier guess of code decides.
func (g *Guard) Decide(ctx context.Context, q Question, judge Judge) Verdict {
	start := time.Now()
	v := g.decide(ctx, q, judge)
	v.Took = time.Since(start)
	g.log.DebugContext(ctx, "guardrail verdict", "pass", v.Pass, "sure", v.Sure, "by", v.By,
		"reason", v.Reason, "score", v.Score, "length", len(q.Text), "took", v.Took)
	return v
}

func (g *Guard) decide(ctx context.Context, q Question, judge Judge) Verdict {
	g.Prepare()
	r := g.read(q.Text)
	v := g.byCode(r, q.Last)
	switch {
	case v.Sure:
		return v
	case judge == nil:
		v.Reason = "better guess without a judge; " + v.Reason
		return v
	}
	needs := v.Needs
	key := cacheKeyOf(g.topic.Version, strings.ToLower(r.text), q.Last)
	if known, ok := g.verdicts.get(key); ok && (known.Language != "" || !q.AskLanguage) {
		known.Cached, known.Needs, known.Reason = true, needs, "the judge decided the same before"
		return known
	}
	fits := q.Last != nil && g.clearlyFollows(r, v)
	v = g.ask(ctx, r, q, judge, v.Score)
	v.Needs = needs
	if v.Unavailable && fits {
		v.Pass, v.Unavailable, v.Reason = true, false, v.Reason+", but it fits the exchange before it"
	}
	if v.By == "model" {
		g.verdicts.put(key, v)
	}
	return v
}

// Refusal returns the friendly text for a message outside the topic.
func (g *Guard) Refusal(lang string) string { return g.topic.Voice(lang).Refusal }

// Unavailable returns the text for a message that could not be judged now.
func (g *Guard) Unavailable(lang string) string { return g.topic.Voice(lang).Unavailable }

// Refused reports whether an answer ends in one of the topic's own refusals, so that its question
// did not pass.
func (g *Guard) Refused(answer string) bool {
	return slices.ContainsFunc(append([]string{Vietnamese, English}, g.topic.Languages...), func(lang string) bool {
		refusal := strings.TrimSpace(g.Refusal(lang))
		return refusal != "" && strings.HasSuffix(strings.TrimSpace(answer), refusal)
	})
}
