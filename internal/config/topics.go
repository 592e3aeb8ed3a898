package config

import (
	"regexp"
	"slices"
	"strings"

	"molar/internal/text"
	"molar/schemas"
	"molar/topics"
)

// A Topic is a subject to which assistants can be limited: a pack, which the other keys may adjust,
// or what the keys say.
type Topic struct {
	// Pack is a folder; empty for a built-in pack, and for a topic that stands in the file.
	Pack string `yaml:"pack" jsonschema_description:"Folder with the topic, relative to the file's folder; the other keys replace its texts."`
	// Trust nil means true.
	Trust  *bool  `yaml:"trust" jsonschema_description:"false for a pack that somebody else wrote: it needs sha256, its instructions are left out, and what its guide says counts as text that was read (default true)."`
	SHA256 string `yaml:"sha256" jsonschema:"pattern=^[0-9a-f]{64}$" jsonschema_description:"Sum of the pack, which molar config check prints; with another one nothing starts."`

	Description Texts         `yaml:"description" jsonschema_description:"A sentence on what belongs to the topic, by language, for the model that judges messages; one language is enough, and the first is used for all others."`
	Not         Texts         `yaml:"not" jsonschema_description:"What seems to belong to the topic and does not, for the same model."`
	Examples    TopicExamples `yaml:"examples" jsonschema_description:"Labelled messages that code learns from: about 60 of each label, 20 at least."`
	Phrases     []string      `yaml:"phrases" jsonschema_description:"Phrases that can only belong to the topic. A star at the end matches any ending."`
	Refusal     Texts         `yaml:"refusal" jsonschema_description:"Answer to a message outside the topic; made from the description when left out."`
	Unavailable Texts         `yaml:"unavailable" jsonschema_description:"Answer to a message that cannot be judged at the moment."`
	Labels      TopicLabels   `yaml:"labels" jsonschema_description:"Names and headings in prompts; general ones when left out."`
	// FirstQuestions are suggestions for the beginning of a conversation.
	FirstQuestions TextLists `yaml:"first_questions" jsonschema_description:"Questions to begin with, by language."`
	// EmergencyNumber replaces the number in emergency notices.
	EmergencyNumber string           `yaml:"emergency_number" jsonschema_description:"What to call in an emergency; 115 in Vietnam and the local number elsewhere when left out."`
	CrisisLine      string           `yaml:"crisis_line" jsonschema_description:"Whom to call about thoughts of suicide, for notices that name {crisis}."`
	Emergencies     []TopicEmergency `yaml:"emergencies" jsonschema_description:"Situations in which a person needs help at once, the most pressing first."`
	// OnFailure is GuardClosed or GuardOpen; empty means GuardClosed.
	OnFailure string `yaml:"on_failure" jsonschema:"enum=closed,enum=open" jsonschema_description:"What happens to a message that could not be judged: closed asks to try again, open lets it pass."`
}

// Trusted reports whether the operator answers for the topic's texts.
func (t Topic) Trusted() bool { return t.Trust == nil || *t.Trust }

// The policies of a topic for a message that could not be judged.
const (
	GuardClosed = "closed"
	GuardOpen   = "open"
)

// Texts holds a text by language, such as vi or de, in the order of the file: the first is used for
// all languages without one.
type Texts = Map[string]

// TextLists are lists of texts by language.
type TextLists = Map[[]string]

// TopicExamples are labelled messages.
type TopicExamples struct {
	In  []string `yaml:"in" jsonschema_description:"Messages of the topic, in all languages."`
	Out []string `yaml:"out" jsonschema_description:"Messages of other subjects, including related ones."`
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

// TopicNames returns the names of all topics: the built-in ones and those of the config.
func (cfg *Config) TopicNames() []string {
	names := topics.Names()
	for _, name := range cfg.Topics.Names() {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// TopicsInUse returns the topics that a host opens: those of its assistants, those of the file, and
// those whose guide an assistant names. Nobody else's model is offered the guide of a built-in one.
func (cfg *Config) TopicsInUse() []string {
	return slices.DeleteFunc(cfg.TopicNames(), func(name string) bool {
		if _, own := cfg.Topics.Get(name); own {
			return false
		}
		return !slices.ContainsFunc(cfg.Assistants, func(e Entry[schemas.Assistant]) bool {
			names := slices.Concat([]string{e.Value.Topic}, e.Value.Search, e.Value.Tools)
			tool := GuideTool(name)
			return slices.Contains(names, name) || slices.Contains(names, tool) || slices.Contains(names, schemas.ToolServer+"__"+tool)
		})
	})
}

// GuideTool returns the name of the tool that searches the guide of a topic.
func GuideTool(topic string) string {
	return strings.NewReplacer("-", "_", ".", "_").Replace(topic) + "_guide_search"
}

// guideTools returns the names of the guides of the topics that may have one: packs.
func (cfg *Config) guideTools() []string {
	var tools []string
	for _, name := range cfg.TopicNames() {
		if t, own := cfg.Topics.Get(name); !own || t.Pack != "" || isBuiltIn(name) {
			tools = append(tools, GuideTool(name))
		}
	}
	return tools
}

// isBuiltIn reports whether a pack of that name comes with the program.
func isBuiltIn(name string) bool { return slices.Contains(topics.Names(), name) }

// TopicName reports whether a topic may have the name.
func TopicName(name string) bool {
	return regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`).MatchString(name)
}

// topics checks the topics of the config.
func (c *checker) topics() {
	for _, e := range c.cfg.Topics {
		key := join("topics", e.Name)
		if !TopicName(e.Name) {
			c.fault(key, "want a name of small letters, digits, '.', '_' and '-', at most 64")
		}
		if e.Value.OnFailure != "" {
			c.enum(key+".on_failure", e.Value.OnFailure, []string{GuardClosed, GuardOpen})
		}
		c.topicTexts(key, e.Value)
		c.pinned(key, e.Value)
		if e.Value.Pack != "" || isBuiltIn(e.Name) {
			c.packedTopic(key, e.Name, e.Value)
			continue
		}
		c.ownTopic(key, e.Value)
	}
	c.unique("topics", c.cfg.Topics.Names())
	tools := c.cfg.guideTools()
	for i, tool := range tools {
		if slices.Contains(tools[:i], tool) {
			c.fault("topics", "two topics would have the guide %s: rename one", tool)
		}
	}
}

// packedTopic checks the keys beside a pack, which adjust it.
func (c *checker) packedTopic(key, name string, t Topic) {
	if len(t.Examples.In)+len(t.Examples.Out)+len(t.Phrases)+len(t.Emergencies) == 0 {
		return
	}
	if t.Pack != "" {
		c.fault(key, "examples, phrases and emergencies stand in the pack: write them there")
		return
	}
	c.fault(key, "%q is built in, and examples, phrases and emergencies stand in its pack: take these keys out, or choose another name for a topic of your own", name)
}

// pinned checks the keys of a pack from elsewhere.
func (c *checker) pinned(key string, t Topic) {
	if t.Pack == "" && (t.Trust != nil || t.SHA256 != "") {
		c.fault(key, "trust and sha256 apply only with pack")
	}
	if t.SHA256 != "" && !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(t.SHA256) {
		c.fault(key+".sha256", "want 64 hexadecimal digits; molar config check prints those of the pack")
	}
}

// topicTexts checks the languages of the texts.
func (c *checker) topicTexts(key string, t Topic) {
	l := t.Labels
	for name, texts := range map[string]Texts{
		"description": t.Description, "not": t.Not, "refusal": t.Refusal, "unavailable": t.Unavailable, "labels.person": l.Person,
		"labels.assistant": l.Assistant, "labels.question": l.Question, "labels.summary": l.Summary, "labels.search": l.Search,
	} {
		c.texts(join(key, name), texts)
	}
	c.languages(key+".first_questions", t.FirstQuestions.Names())
	for i, e := range t.Emergencies {
		c.languages(index(key+".emergencies", i)+".notice", e.Notice.Names())
	}
}

// languages checks the codes of languages.
func (c *checker) languages(key string, codes []string) {
	for _, code := range codes {
		if !regexp.MustCompile(`^[a-z]{2,3}(-[a-z]{2,4})?$`).MatchString(code) {
			c.fault(join(key, code), "want the code of a language, such as vi, en or de")
		}
	}
	c.unique(key, codes)
}

// maxQuote is the length of the longest quote of a topic's text in a fault, in characters.
const maxQuote = 40

func (c *checker) ownTopic(key string, t Topic) {
	if len(t.Description) == 0 {
		c.fault(key+".description", "want a sentence on what belongs to the topic, in one language at least: {en: ...}")
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
	c.emergencies(key+".emergencies", t)
	for i, example := range t.Examples.Out {
		if slices.Contains(t.Examples.In, example) {
			c.fault(index(key+".examples.out", i), "%q has both labels", text.Truncate(example, maxQuote))
		}
	}
}

func (c *checker) emergencies(key string, t Topic) {
	var kinds []string
	for i, e := range t.Emergencies {
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
		for _, lang := range t.Description.Names() {
			if text, _ := e.Notice.Get(lang); strings.TrimSpace(text) == "" {
				c.fault(key+".notice", "want what to do first in each language of the description: %s is missing", lang)
			}
		}
		if e.OnlyNotice && e.Passage != "" {
			c.fault(key+".passage", "never follows, because only_notice ends the answer with the notice: remove one of them")
		}
	}
}
