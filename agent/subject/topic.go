package subject

import (
	"errors"
	"fmt"
	"strings"
)

// A Topic is a subject to keep to. Name, a description in each language and either some
// names or some examples are needed; everything else has a default, or
// sharpens what code can decide without a model.
type Topic struct {
	// Name identifies the topic in config, logs and traces.
	Name string
	// Version changes whenever the topic decides differently; caches key by it.
	Version string
	// Voices are what it says in each language ("vi", "en").
	Voices map[string]Voice
	// Phrases are what code recognises.
	Phrases Phrases
	// Examples are labelled messages. From [FewestExamples] of each label on, a
	// classifier is trained from them when the guard is prepared.
	Examples []Example
	// Weights is a classifier that was trained before; it stands in for Examples.
	Weights string
	// Emergencies are the situations in which a person needs help at once.
	Emergencies Emergencies
}

// Phrases match whole words in any case, singular and plural alike. A phrase written
// with Vietnamese marks also matches text typed without any, when it has at least
// two syllables. A star at the end of a phrase matches any ending of its last word.
type Phrases struct {
	// Names are what can hardly be said of anything but the topic. Code admits a message
	// by itself only if one stands in it.
	Names []string
	// Abroad are words that name the topic in languages other than Vietnamese and English:
	// they never decide, but the message is left to the judge.
	Abroad []string
}

// An Example is one labelled message.
type Example struct {
	Text string `json:"text"`
	// Lang is "vi", "en" or "other"; of mixed text, the language that carries the sentence.
	Lang     string `json:"lang,omitempty"`
	InDomain bool   `json:"in_domain"`
	// Kind names a slice of the examples, such as "plain" or "typo". A kind that begins
	// with "follow" means a message that was sent after an exchange on the topic.
	Kind string `json:"kind,omitempty"`
	// History are the exchanges before it, the newest last.
	History []TopicExchange `json:"history,omitempty"`
}

// An TopicExchange is a question of the topic and its answer.
type TopicExchange struct {
	User      string `json:"user"`
	Assistant string `json:"assistant"`
}

// Follows reports whether the example was sent after an exchange on the topic.
func (e Example) Follows() bool { return strings.HasPrefix(e.Kind, "follow") || len(e.History) > 0 }

// How many examples of each label a topic should have. Below the fewest, code learns
// nothing from them and every message that no phrase decides goes to the judge; from
// about as many as wanted on, code decides the plain cases alone.
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
	if len(t.Phrases.Names) == 0 && len(t.Examples) == 0 {
		errs = append(errs, fmt.Errorf("topic %q has neither names nor examples: list some phrases that only belong to it, or about %d examples of each label", t.Name, WantedExamples))
	}
	return errors.Join(append(errs, t.Emergencies.check())...)
}

// Learns reports whether a classifier is trained from the topic's examples: there is none
// yet, and enough of both labels.
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
