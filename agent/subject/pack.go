package subject

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// The files of a pack: a folder that holds a topic. Each text is optional, but for the description
// in one language.
const (
	// TopicFile has the sections "languages" (the first is the fallback), "names" and "abroad".
	TopicFile = "topic.txt"
	// EmergencyFile has the kinds and signs of emergencies.
	EmergencyFile = "emergencies.txt"
	// MessagesTable and EmergenciesTable are learned from the lines of the pack.
	MessagesTable, EmergenciesTable = "learned/messages", "learned/emergencies"
	// GuideFolder has documents to search, LinesFolder what is learned from, HeldFolder what is only
	// measured by.
	GuideFolder, LinesFolder, HeldFolder = "guide", "lines", "held"
)

// ReadPack reads a topic from a pack. The texts of a language are in a file of its name, such as
// en.txt.
func ReadPack(pack fs.FS, name string) (Topic, error) {
	t := Topic{Name: name, Voices: make(map[string]Voice)}
	files := make(map[string]string)
	read := func(names ...string) error {
		for _, file := range names {
			data, err := fs.ReadFile(pack, file)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("topic %q: %w", name, err)
			}
			files[file] = string(data)
		}
		return nil
	}
	if err := read(TopicFile, EmergencyFile, MessagesTable, EmergenciesTable); err != nil {
		return t, err
	}
	for _, s := range Sections(files[TopicFile]) {
		switch s.Name {
		case "languages":
			t.Languages = s.List()
		case "names":
			t.Phrases.Names = s.List()
		case "abroad":
			t.Phrases.Abroad = s.List()
		}
	}
	for _, lang := range t.Languages {
		if err := read(lang + ".txt"); err != nil {
			return t, err
		}
		t.Voices[lang] = readVoice(files[lang+".txt"])
	}
	if len(t.Languages) == 0 {
		return t, fmt.Errorf("topic %q: %s names no languages: write a section \"# languages\" with codes such as en, the first is the fallback", name, TopicFile)
	}
	t.Emergencies = readEmergencies(files[EmergencyFile])
	t.Weights, t.Emergencies.Weights = files[MessagesTable], files[EmergenciesTable]
	t.Version = sumOf(files)
	return t, nil
}

// sumOf returns a SHA-256 over files by name.
func sumOf(files map[string]string) string {
	all := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		_, _ = fmt.Fprintf(all, "%s %d\n%s", name, len(files[name]), files[name])
	}
	return fmt.Sprintf("%x", all.Sum(nil))
}

func readVoice(text string) Voice {
	v := Voice{Notices: make(map[string]string)}
	to := map[string]*string{
		"description": &v.Description, "system": &v.System, "refusal": &v.Refusal, "unavailable": &v.Unavailable,
		"label person": &v.Labels.Person, "label assistant": &v.Labels.Assistant, "label summary": &v.Labels.Summary,
		"label earlier": &v.Labels.Earlier, "label question": &v.Labels.Question, "label search": &v.Labels.Search,
		"label prepared": &v.Labels.Prepared, "label notice": &v.Labels.Notice,
	}
	for _, s := range Sections(text) {
		kind, isNotice := strings.CutPrefix(s.Name, "notice ")
		switch {
		case isNotice:
			v.Notices[kind] = s.Text
		case s.Name == "first questions":
			v.FirstQuestions = s.Lines
		case to[s.Name] != nil:
			*to[s.Name] = s.Text
		}
	}
	return v
}
