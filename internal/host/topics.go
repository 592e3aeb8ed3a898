package host

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"

	"molar/agent/subject"
	"molar/internal/config"
	"molar/mcpservers/knowledge"
	"molar/topics"
)

// openGuards builds the guardrails of the assistants' topics.
func openGuards(cfg *config.Config, log *slog.Logger) (map[string]*subject.Guard, error) {
	guards := make(map[string]*subject.Guard)
	for _, entry := range cfg.Assistants {
		name := entry.Value.Topic
		if name == "" || guards[name] != nil {
			continue
		}
		guard, err := OpenGuard(cfg, name, log)
		if err != nil {
			return nil, err
		}
		guards[name] = guard
	}
	return guards, nil
}

// OpenGuard builds the guardrail of one topic: the built-in one or one of the file.
func OpenGuard(cfg *config.Config, name string, log *slog.Logger) (*subject.Guard, error) {
	set, own := cfg.Topics.Get(name)
	var t subject.Topic
	pack, packed := topics.Open(name)
	switch {
	case packed:
		var err error
		if t, err = subject.ReadPack(pack, name); err != nil {
			return nil, err
		}
	case own:
		t = ownTopic(name, set)
		if in, out := t.Labels(); min(in, out) < subject.FewestExamples && len(t.Examples) > 0 {
			log.Warn("a topic has too few examples to learn from: its questions go to the small model",
				"topic", name, "in", in, "out", out, "least", subject.FewestExamples, "wanted", subject.WantedExamples)
		}
	default:
		return nil, fmt.Errorf("there is no topic %q; there are: %s", name, strings.Join(cfg.TopicNames(), ", "))
	}
	t.Emergencies.Number = set.EmergencyNumber
	for _, lang := range []string{"vi", "en"} {
		t.Voices[lang] = voice(t.Voices[lang], set, lang)
	}
	return subject.NewGuard(subject.GuardConfig{Topic: t, OnFailure: set.OnFailure, Logger: log})
}

// ownTopic returns a topic of the file. Its version is derived from its content.
func ownTopic(name string, set config.Topic) subject.Topic {
	t := subject.Topic{
		Name:    name,
		Version: fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%#v", set))),
		Voices:  make(map[string]subject.Voice),
		Phrases: subject.Phrases{Names: set.Phrases},
	}
	for _, text := range set.Examples.In {
		t.Examples = append(t.Examples, subject.Example{Text: text, InDomain: true})
	}
	for _, text := range set.Examples.Out {
		t.Examples = append(t.Examples, subject.Example{Text: text})
	}
	var signs []subject.Sign
	for _, e := range set.Emergencies {
		signs = append(signs, subject.Sign{Name: e.Kind, Phrases: e.Phrases, Unless: e.Unless})
	}
	t.Emergencies = subject.Simple(signs)
	for i, e := range set.Emergencies {
		t.Emergencies.Kinds[i].Passage, t.Emergencies.Kinds[i].Ends = e.Passage, e.OnlyNotice
	}
	return t
}

// voice returns a topic's texts in a language, overridden by those of the file.
func voice(v subject.Voice, set config.Topic, lang string) subject.Voice {
	in := func(texts config.Texts) string { return texts.ByLanguage()[lang] }
	v.Description = cmp.Or(in(set.Description), v.Description)
	v.Refusal = cmp.Or(in(set.Refusal), v.Refusal)
	v.Unavailable = cmp.Or(in(set.Unavailable), v.Unavailable)
	l := &v.Labels
	l.Person, l.Assistant = cmp.Or(in(set.Labels.Person), l.Person), cmp.Or(in(set.Labels.Assistant), l.Assistant)
	l.Question, l.Summary = cmp.Or(in(set.Labels.Question), l.Question), cmp.Or(in(set.Labels.Summary), l.Summary)
	l.Search = cmp.Or(in(set.Labels.Search), l.Search)
	if questions := map[string][]string{"vi": set.FirstQuestions.VI, "en": set.FirstQuestions.EN}[lang]; len(questions) > 0 {
		v.FirstQuestions = questions
	}
	for _, e := range set.Emergencies {
		if v.Notices == nil {
			v.Notices = make(map[string]string)
		}
		v.Notices[e.Kind] = in(e.Notice)
	}
	return v
}

// guideTool returns the name of the tool that searches the guide of a topic.
func guideTool(topic string) string {
	return strings.NewReplacer("-", "_", ".", "_").Replace(topic) + "_guide_search"
}

// openGuides opens the guides of the assistants' topics.
func openGuides(cfg *config.Config, log *slog.Logger) ([]*knowledge.Folder, error) {
	var guides []*knowledge.Folder
	for _, topic := range topics.Names() {
		pack, _ := topics.Open(topic)
		files, err := fs.Sub(pack, subject.GuideFolder)
		if err != nil {
			return nil, err
		}
		t, err := subject.ReadPack(pack, topic)
		if err != nil {
			return nil, err
		}
		guide, err := knowledge.Open(knowledge.Config{
			Name: guideTool(topic), About: "Search the guide on " + t.Voice(subject.English).Description, Files: files, Path: "the guide of the topic " + topic, Fixed: true, Logger: log,
		})
		if err != nil {
			closeFolders(guides)
			return nil, err
		}
		guides = append(guides, guide)
	}
	return guides, nil
}
