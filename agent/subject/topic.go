package subject

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Topic is a subject to keep to. Name, a description in one language and either names, examples or
// Weights are required; everything else has a default, or helps code decide without a model.
type Topic struct {
	// Name identifies the topic in config, logs and traces.
	Name string
	// Version changes whenever the topic's decisions change; it is part of cache keys.
	Version string
	// Languages are the codes of the languages that it has texts in, such as "vi" and "en". The first
	// is the fallback for all others.
	Languages []string
	// Voices are its texts in each language.
	Voices map[string]Voice
	// Phrases are what code recognises.
	Phrases Phrases
	// Examples are labelled messages. With [FewestExamples] of each label or more, a classifier is
	// trained from them when the guard is prepared, by [GuardConfig.Learn].
	Examples []Example
	// Weights is a classifier trained in advance; it replaces Examples.
	Weights string
	// Emergencies are the situations in which a person needs help at once.
	Emergencies Emergencies
	// Sourced says what an answer may only take from a source.
	Sourced Sourced
	// Consult is a prompt about the topic that clients may choose; it may have no text.
	Consult Consult
}

// A Consult is the instruction of a prompt, which a question follows.
type Consult struct {
	// Description says what the prompt is for.
	Description string
	// Texts are the instruction, by language.
	Texts map[string]string
}

// Phrases match whole words in any case, singular and plural alike. A phrase written
// with Vietnamese marks also matches text typed without any, when it has at least
// two syllables. A star at the end of a phrase matches any ending of its last word.
type Phrases struct {
	// Names are words that hardly occur outside the topic. Without a classifier code admits a message
	// by itself only if it has one.
	Names []string
	// Abroad are words that name the topic in languages other than Vietnamese and English: they
	// never decide, but leave the message to the judge.
	Abroad []string
}

// An Example is one labelled message.
type Example struct {
	Text string `json:"text"`
	// Lang is the code of its language; of mixed text, of the one that carries the sentence.
	Lang     string `json:"lang,omitempty"`
	InDomain bool   `json:"in_domain"`
	// Kind names a group of examples, such as "plain" or "typo". A kind that begins with "follow"
	// means a message sent after an exchange on the topic.
	Kind string `json:"kind,omitempty"`
	// History are the exchanges before it, the newest last.
	History []Exchange `json:"history,omitempty"`
}

// An Exchange is a question that passed and its answer.
type Exchange struct {
	Question string `json:"user"`
	Answer   string `json:"assistant"`
	// Unjudged is set when a client sent the exchange and code was not sure that its question
	// belongs to the topic: a follow-up of it is not sure either.
	Unjudged bool `json:"-"`
}

// Follows reports whether the example was sent after an exchange on the topic.
func (e Example) Follows() bool { return strings.HasPrefix(e.Kind, "follow") || len(e.History) > 0 }

// How many examples of each label a topic should have. Below the fewest, no classifier is trained
// and every message that no phrase decides goes to the judge; from about the wanted number on, the
// guess of code is mostly right. So few examples prove nothing: code is sure only of a trained pack.
const (
	FewestExamples = 20
	WantedExamples = 60
)

// Check reports everything that is missing from the topic.
func (t Topic) Check() error {
	var errs []error
	if strings.TrimSpace(t.Name) == "" {
		errs = append(errs, errors.New("topic has no name: give it one"))
	}
	if t.Voice("").Description == "" {
		errs = append(errs, fmt.Errorf("topic %q has no description: say in a sentence what belongs to it", t.Name))
	}
	if len(t.Phrases.Names) == 0 && len(t.Examples) == 0 && t.Weights == "" {
		errs = append(errs, fmt.Errorf("topic %q has neither names nor examples: list some phrases that only belong to it, or about %d examples of each label", t.Name, WantedExamples))
	}
	for _, lang := range slices.Sorted(maps.Keys(t.Voices)) {
		voice := t.Voices[lang]
		for _, kind := range slices.Sorted(maps.Keys(voice.Notices)) {
			if strings.Contains(voice.Notices[kind], crisis) && t.Emergencies.CrisisLine == "" && voice.CrisisLine == "" {
				errs = append(errs, fmt.Errorf("topic %q: the notice of %q in %s names %s, and no crisis line is set: say whom to call, or take it out", t.Name, kind, lang, crisis))
			}
		}
	}
	return errors.Join(append(errs, t.Emergencies.check()...)...)
}

// Texts returns what the topic says to people and models about itself.
func (t Topic) Texts() []string {
	texts := []string{t.Emergencies.Number, t.Emergencies.CrisisLine}
	for _, lang := range slices.Sorted(maps.Keys(t.Voices)) {
		v := t.Voices[lang]
		texts = append(texts, v.Description, v.System, v.Refusal, v.Unavailable, v.CrisisLine, v.Call)
		texts = append(texts, v.FirstQuestions...)
		for _, kind := range slices.Sorted(maps.Keys(v.Notices)) {
			texts = append(texts, v.Notices[kind])
		}
	}
	return texts
}

// Learns reports whether a classifier is trained from the topic's examples: it has no Weights, and
// enough examples of both labels.
func (t Topic) Learns() bool {
	in, out := t.Labels()
	return t.Weights == "" && min(in, out) >= FewestExamples
}

// Labels counts the examples of the topic and those of other subjects.
func (t Topic) Labels() (in, out int) {
	for _, e := range t.Examples {
		if e.InDomain {
			in++
		}
	}
	return in, len(t.Examples) - in
}
