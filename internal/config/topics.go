package config

import (
	"regexp"
	"slices"
	"strings"

	"molar/internal/text"
)

// A Topic is a subject to which assistants can be limited. Of the built-in topic, only the fixed
// texts, the emergency number and the policy can be set.
type Topic struct {
	Description Texts         `yaml:"description" jsonschema_description:"A sentence on what belongs to the topic, for the model that judges messages."`
	Examples    TopicExamples `yaml:"examples" jsonschema_description:"Labelled messages that code learns from: about 60 of each label, 20 at least."`
	Phrases     []string      `yaml:"phrases" jsonschema_description:"Phrases that can only belong to the topic. A star at the end matches any ending."`
	Refusal     Texts         `yaml:"refusal" jsonschema_description:"Answer to a message outside the topic; made from the description when left out."`
	Unavailable Texts         `yaml:"unavailable" jsonschema_description:"Answer to a message that cannot be judged at the moment."`
	Labels      TopicLabels   `yaml:"labels" jsonschema_description:"Names and headings in prompts; general ones when left out."`
	// FirstQuestions are suggestions for the beginning of a conversation.
	FirstQuestions TextLists `yaml:"first_questions" jsonschema_description:"Questions to begin with."`
	// EmergencyNumber replaces the number in emergency notices.
	EmergencyNumber string           `yaml:"emergency_number" jsonschema_description:"What to call in an emergency; 115 in Vietnam and the local number elsewhere when left out."`
	Emergencies     []TopicEmergency `yaml:"emergencies" jsonschema_description:"Situations in which a person needs help at once, the most pressing first."`
	// OnFailure is GuardClosed or GuardOpen; empty means GuardClosed.
	OnFailure string `yaml:"on_failure" jsonschema:"enum=closed,enum=open" jsonschema_description:"What happens to a message that could not be judged: closed asks to try again, open lets it pass."`
}

// The policies of a topic for a message that could not be judged.
const (
	GuardClosed = "closed"
	GuardOpen   = "open"
)

// Texts holds a text in both languages.
type Texts struct {
	VI string `yaml:"vi" jsonschema_description:"In Vietnamese."`
	EN string `yaml:"en" jsonschema_description:"In English."`
}

// ByLanguage returns the texts that are set, by language.
func (t Texts) ByLanguage() map[string]string {
	texts := make(map[string]string, 2)
	for lang, text := range map[string]string{"vi": t.VI, "en": t.EN} {
		if strings.TrimSpace(text) != "" {
			texts[lang] = text
		}
	}
	return texts
}

// TopicExamples are labelled messages.
type TopicExamples struct {
	In  []string `yaml:"in" jsonschema_description:"Messages of the topic, in both languages."`
	Out []string `yaml:"out" jsonschema_description:"Messages of other subjects, including related ones."`
}

// TextLists are texts in both languages.
type TextLists struct {
	VI []string `yaml:"vi" jsonschema_description:"In Vietnamese."`
	EN []string `yaml:"en" jsonschema_description:"In English."`
}

// TopicLabels are the names and headings in prompts.
type TopicLabels struct {
	Person    Texts `yaml:"person" jsonschema_description:"Role of the person, such as Gardener."`
	Assistant Texts `yaml:"assistant" jsonschema_description:"Role of the assistant."`
	Question  Texts `yaml:"question" jsonschema_description:"Heading of the question."`
	Summary   Texts `yaml:"summary" jsonschema_description:"Heading of the summary of the conversation."`
	Search    Texts `yaml:"search" jsonschema_description:"Heading of the search results."`
}

// A TopicEmergency is an emergency that code recognises by phrases, before it calls a model.
type TopicEmergency struct {
	Kind    string   `yaml:"kind" jsonschema_description:"Name of the kind, for logs, traces and clients."`
	Phrases []string `yaml:"phrases" jsonschema_description:"What people say: a|b is either word, * up to four words. A word with diacritics also matches the word without them."`
	Unless  []string `yaml:"unless" jsonschema_description:"Phrases that give it another sense in the same sentence."`
	Notice  Texts    `yaml:"notice" jsonschema_description:"What to do first. The number to call precedes it in the answer."`
	// Passage and OnlyNotice determine what follows the notice.
	Passage    string `yaml:"passage" jsonschema_description:"The passage that follows the notice, by its heading as in addresses; it is in a knowledge folder of the assistant's search list. When left out, nothing is searched."`
	OnlyNotice bool   `yaml:"only_notice" jsonschema_description:"The notice is the whole answer: nothing is searched, and no model is asked."`
}

// TopicNames returns the names of all topics: the built-in one and those of the config.
func (cfg *Config) TopicNames() []string {
	names := []string{TopicDental}
	for _, name := range cfg.Topics.Names() {
		if name != TopicDental {
			names = append(names, name)
		}
	}
	return names
}

// topics checks the topics of the config.
func (c *checker) topics() {
	name := regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)
	for _, e := range c.cfg.Topics {
		key := join("topics", e.Name)
		if !name.MatchString(e.Name) {
			c.fault(key, "want a name of small letters, digits, '.', '_' and '-', at most 64")
		}
		if e.Value.OnFailure != "" {
			c.enum(key+".on_failure", e.Value.OnFailure, []string{GuardClosed, GuardOpen})
		}
		if e.Name == TopicDental {
			c.builtInTopic(key, e.Value)
			continue
		}
		c.ownTopic(key, e.Value)
	}
	c.unique("topics", c.cfg.Topics.Names())
}

func (c *checker) builtInTopic(key string, t Topic) {
	if t.Description != (Texts{}) || t.Labels != (TopicLabels{}) || len(t.Examples.In)+len(t.Examples.Out)+len(t.Phrases)+len(t.Emergencies) > 0 {
		c.fault(key, "%q is built in: only refusal, unavailable, first_questions, emergency_number and on_failure can be set; choose another name for a topic of your own", TopicDental)
	}
}

// maxQuote is the length of the longest quote of a topic's text in a fault, in characters.
const maxQuote = 40

func (c *checker) ownTopic(key string, t Topic) {
	if len(t.Description.ByLanguage()) < 2 {
		c.fault(key+".description", "want a sentence on what belongs to the topic in both languages, vi and en")
	}
	if len(t.Phrases) == 0 && (len(t.Examples.In) == 0 || len(t.Examples.Out) == 0) {
		c.fault(key, "want examples of both labels, about 60 of each, or phrases that can only belong to the topic")
	}
	for name, texts := range map[string][]string{"examples.in": t.Examples.In, "examples.out": t.Examples.Out, "phrases": t.Phrases} {
		for i, text := range texts {
			if strings.TrimSpace(text) == "" {
				c.fault(index(key+"."+name, i), "want a text")
			}
		}
	}
	c.emergencies(key+".emergencies", t.Emergencies)
	for i, example := range t.Examples.Out {
		if slices.Contains(t.Examples.In, example) {
			c.fault(index(key+".examples.out", i), "%q has both labels", text.Truncate(example, maxQuote))
		}
	}
}

func (c *checker) emergencies(key string, emergencies []TopicEmergency) {
	var kinds []string
	for i, e := range emergencies {
		key := index(key, i)
		if strings.TrimSpace(e.Kind) == "" {
			c.fault(key+".kind", "want a name for the kind of emergency")
		} else if slices.Contains(kinds, e.Kind) {
			c.fault(key+".kind", "%q is listed twice: put its phrases together", text.Truncate(e.Kind, maxQuote))
		}
		kinds = append(kinds, e.Kind)
		if len(e.Phrases) == 0 || slices.ContainsFunc(append(slices.Clone(e.Phrases), e.Unless...), func(p string) bool { return strings.Trim(p, " *|=") == "" }) {
			c.fault(key+".phrases", "want phrases that people say, each with a word")
		}
		if len(e.Notice.ByLanguage()) < 2 {
			c.fault(key+".notice", "want what to do first in both languages, vi and en")
		}
		if e.OnlyNotice && e.Passage != "" {
			c.fault(key+".passage", "never follows, because only_notice ends the answer with the notice: remove one of them")
		}
	}
}
