package host

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"

	"molar/agent/subject"
	"molar/agent/subject/learn"
	"molar/internal/config"
	"molar/mcpservers/knowledge"
	memoryserver "molar/mcpservers/memory"
	"molar/schemas"
	"molar/topics"
)

// Topics are the opened topics of a config: those that [config.Config.TopicsInUse] names.
type Topics struct{ all []topic }

// A topic is what a pack or the config says, adjusted by the config.
type topic struct {
	subject.Topic
	set config.Topic
	// files are the pack; nil for a topic that stands in the config. A pack on disk is copied, so
	// that a change counts at the next start.
	files fs.FS
	// folder is the place of a pack on disk, and sum its sum.
	folder, sum string
	card        card
}

// OpenTopics opens the topics of a config. Its error joins the faults of all.
func OpenTopics(cfg *config.Config) (*Topics, error) {
	var opened Topics
	var faults []error
	for _, name := range cfg.TopicsInUse() {
		t, err := openTopic(cfg, name)
		opened.all, faults = append(opened.all, t), append(faults, err)
	}
	return &opened, errors.Join(faults...)
}

// guards builds the guardrails of the assistants' topics.
func (o *Topics) guards(cfg *config.Config, log *slog.Logger) (map[string]*subject.Guard, error) {
	guards := make(map[string]*subject.Guard)
	for _, t := range o.all {
		if !slices.ContainsFunc(cfg.Assistants, func(e config.Entry[schemas.Assistant]) bool { return e.Value.Topic == t.Name }) {
			continue
		}
		guard, err := t.guard(log)
		if err != nil {
			return nil, err
		}
		guards[t.Name] = guard
	}
	return guards, nil
}

// OpenGuard builds the guardrail of one topic.
func OpenGuard(cfg *config.Config, name string, log *slog.Logger) (*subject.Guard, error) {
	t, err := openTopic(cfg, name)
	if err != nil {
		return nil, err
	}
	return t.guard(log)
}

func (t topic) guard(log *slog.Logger) (*subject.Guard, error) {
	if in, out := t.Labels(); min(in, out) < subject.FewestExamples && len(t.Examples) > 0 {
		log.Warn("a topic has too few examples to learn from: its questions go to the small model",
			"topic", t.Name, "in", in, "out", out, "least", subject.FewestExamples, "wanted", subject.WantedExamples)
	}
	return subject.NewGuard(subject.GuardConfig{
		Topic: t.Topic, OnFailure: t.set.OnFailure, Logger: log,
		Learn: func() (string, error) { return learn.Guard(t.Topic, topics.General()) },
	})
}

// openTopic opens one topic. Of a pack whose sum is not the one of the config it returns what it
// read, beside the error.
func openTopic(cfg *config.Config, name string) (t topic, err error) {
	set, own := cfg.Topics.Get(name)
	t.set = set
	pack, packed := topics.Open(name)
	switch {
	case set.Pack != "":
		err = t.readFolder(name)
	case packed:
		t.files, t.card = pack, readCard(pack, subject.CardFile)
		t.Topic, err = subject.ReadPack(pack, name)
	case own:
		t.Topic = ownTopic(name, set)
	default:
		return t, fmt.Errorf("there is no topic %q; there are: %s", name, strings.Join(cfg.TopicNames(), ", "))
	}
	t.Name = name
	if t.Weights != "" {
		if _, bad := subject.DecodeClassifier(t.Weights); bad != nil {
			err = errors.Join(err, fmt.Errorf("topic %q: %s: %w: molar topic train %s", name, subject.MessagesTable, bad, name))
		}
	}
	return t, errors.Join(err, adjust(&t.Topic, set))
}

// readFolder reads a pack on disk. What somebody else wrote gives no instructions: its system text,
// the words around a prompt and its prompt are left out.
func (t *topic) readFolder(name string) error {
	t.folder = t.set.Pack
	root, err := os.OpenRoot(t.folder)
	if err != nil {
		return fmt.Errorf("topic %q: open its pack: %w: name a folder that molar topic new wrote, or write one", name, err)
	}
	defer root.Close()
	if t.files, t.sum, err = subject.Copied(root.FS()); err != nil {
		if _, all := subject.ReadPack(root.FS(), name); all != nil {
			return all
		}
		return fmt.Errorf("topic %q: %w", name, err)
	}
	t.card = readCard(root.FS(), subject.CardFile)
	if t.Topic, err = subject.ReadPack(t.files, name); err != nil {
		return err
	}
	if !t.set.Trusted() {
		t.Consult = subject.Consult{}
		for lang, voice := range t.Voices {
			voice.System, voice.Labels = "", subject.Labels{}
			t.Voices[lang] = voice
		}
	}
	return t.checkSum()
}

// checkSum compares the pack with the sum of the config. A pack from elsewhere needs one.
func (t *topic) checkSum() error {
	switch {
	case t.set.SHA256 == t.sum, t.set.SHA256 == "" && t.set.Trusted():
		return nil
	case t.set.SHA256 == "":
		return fmt.Errorf("topic %q: somebody else wrote the pack in %s: read its emergency texts first, which molar config check prints, then write beside pack: sha256: %s", t.Name, t.folder, t.sum)
	}
	return fmt.Errorf("topic %q: the pack in %s was changed, as it has another sum than sha256 says: read its emergency texts first, which molar config check prints, then write: sha256: %s", t.Name, t.folder, t.sum)
}

// ownTopic returns a topic of the file. Its version is derived from its content.
func ownTopic(name string, set config.Topic) subject.Topic {
	t := subject.Topic{
		Name:      name,
		Version:   fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%#v", set))),
		Languages: set.Description.Names(),
		Voices:    make(map[string]subject.Voice),
		Phrases:   subject.Phrases{Names: set.Phrases},
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

// adjust replaces texts of a topic by those of the file. A text in a language that the topic does
// not have is a fault, as it would never be shown.
func adjust(t *subject.Topic, set config.Topic) error {
	t.Emergencies.Number = cmp.Or(set.EmergencyNumber, t.Emergencies.Number)
	t.Emergencies.CrisisLine = cmp.Or(set.CrisisLine, t.Emergencies.CrisisLine)
	for _, lang := range t.Languages {
		t.Voices[lang] = voice(t.Voices[lang], set, lang)
	}
	l := set.Labels
	languages := set.FirstQuestions.Names()
	for _, texts := range []config.Texts{set.Description, set.Not, set.Refusal, set.Unavailable, l.Person, l.Assistant, l.Question, l.Summary, l.Search} {
		languages = append(languages, texts.Names()...)
	}
	for _, lang := range languages {
		if len(t.Languages) > 0 && !slices.Contains(t.Languages, lang) { // else it could not be read
			return fmt.Errorf("topics.%s: it has no texts in the language %s: it has those in %s; describe it in %[2]s too, or take that text out", t.Name, lang, strings.Join(t.Languages, ", "))
		}
	}
	return nil
}

// voice returns a topic's texts in a language, overridden by those of the file.
func voice(v subject.Voice, set config.Topic, lang string) subject.Voice {
	replace := func(text *string, texts config.Texts) {
		if own, _ := texts.Get(lang); own != "" {
			*text = own
		}
	}
	replace(&v.Description, set.Description)
	replace(&v.Not, set.Not)
	replace(&v.Refusal, set.Refusal)
	replace(&v.Unavailable, set.Unavailable)
	replace(&v.Labels.Person, set.Labels.Person)
	replace(&v.Labels.Assistant, set.Labels.Assistant)
	replace(&v.Labels.Question, set.Labels.Question)
	replace(&v.Labels.Summary, set.Labels.Summary)
	replace(&v.Labels.Search, set.Labels.Search)
	if questions, _ := set.FirstQuestions.Get(lang); len(questions) > 0 {
		v.FirstQuestions = questions
	}
	for _, e := range set.Emergencies {
		if v.Notices == nil {
			v.Notices = make(map[string]string)
		}
		v.Notices[e.Kind], _ = e.Notice.Get(lang)
	}
	return v
}

// guides opens the guides of the packs.
func (o *Topics) guides(log *slog.Logger) ([]*knowledge.Folder, error) {
	var guides []*knowledge.Folder
	for _, t := range o.all {
		if t.files == nil {
			continue
		}
		if _, err := fs.Stat(t.files, subject.GuideFolder); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		files, err := fs.Sub(t.files, subject.GuideFolder)
		if err != nil {
			return nil, err
		}
		about := "Search the guide on " + t.Voice(subject.English).Description
		if !t.set.Trusted() {
			about = fmt.Sprintf("Search the guide of the topic %q, which somebody else wrote.", t.Name)
		}
		guide, err := knowledge.Open(knowledge.Config{
			Name: config.GuideTool(t.Name), About: about, Files: files, Path: "the guide of the topic " + t.Name, Foreign: !t.set.Trusted(), Fixed: true, Logger: log,
		})
		if err != nil {
			closeFolders(guides)
			return nil, err
		}
		guides = append(guides, guide)
	}
	return guides, nil
}

// consults returns the prompts of the packs.
func (o *Topics) consults() []memoryserver.Consult {
	var all []memoryserver.Consult
	for _, t := range o.all {
		if len(t.Consult.Texts) > 0 {
			all = append(all, memoryserver.Consult{
				Name: t.Name + "-consult", Description: t.Consult.Description, Languages: t.Languages, Texts: t.Consult.Texts,
			})
		}
	}
	return all
}
