package subject

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// The files of a pack: a folder that holds a topic. Each text is optional, but for the description
// in each language of the topic.
const (
	// TopicFile has the sections "languages" (the first is the fallback), "names" and "abroad", and those of
	// what an answer may only take from sources.
	TopicFile = "topic.txt"
	// EmergencyFile has the kinds and signs of emergencies, the number to call and a crisis line.
	EmergencyFile = "emergencies.txt"
	// ConsultFile has a prompt that clients may choose: a description, and a text by language.
	ConsultFile = "consult.txt"
	// AssistantsFile has assistants for the topic, in the form of the config file. Only those of a
	// pack that comes with the program are read.
	AssistantsFile = "assistants.yaml"
	// CardFile has what was measured.
	CardFile = "card.json"
	// MessagesTable is learned from the lines of the pack, and so is EmergenciesTable.
	MessagesTable = "learned/messages"
	// EmergenciesTable finds messages of people in need.
	EmergenciesTable = "learned/emergencies"
	// GuideFolder has documents to search.
	GuideFolder = "guide"
	// LinesFolder has what is learned from.
	LinesFolder = "lines"
	// HeldFolder has what is only measured by.
	HeldFolder = "held"
)

// The sizes of the largest texts of a pack.
const (
	maxSection = 16 << 10 // a text for people or models, in bytes
	maxEntry   = 4 << 10  // a phrase, a sign or a question, in bytes
	maxEntries = 20_000   // phrases and lines of a file
)

// ReadPack reads a topic from a pack. The texts of a language are in a file of its name, such as
// en.txt. The error joins all faults, each with its file and what to do.
func ReadPack(pack fs.FS, name string) (Topic, error) {
	r := &packReader{pack: pack, files: make(map[string]string)}
	t := r.topic(name)
	for i, fault := range r.faults { // each is a line of its own
		r.faults[i] = fmt.Errorf("topic %q: %w", name, fault)
	}
	return t, errors.Join(r.faults...)
}

// A packReader reads a pack and collects its faults.
type packReader struct {
	pack   fs.FS
	files  map[string]string // what was read, by name
	faults []error
}

func (r *packReader) fault(file, format string, args ...any) {
	r.faults = append(r.faults, fmt.Errorf("%s: %w", file, fmt.Errorf(format, args...)))
}

func (r *packReader) topic(name string) Topic {
	t := Topic{Name: name, Voices: make(map[string]Voice)}
	files, faults := packFiles(r.pack)
	if r.faults = faults; len(faults) > 0 {
		if !slices.ContainsFunc(files, func(f packFile) bool { return f.name == TopicFile }) {
			return t // it is no pack, or could not be listed: nothing else of it is worth telling
		}
	}
	for _, f := range files {
		if !strings.HasPrefix(f.name, GuideFolder+"/") {
			data, err := readAtMost(r.pack, f)
			if err != nil {
				r.faults = append(r.faults, err)
			}
			r.files[f.name] = string(data)
		}
	}
	sourced := make(map[string]Section)
	names := []string{"languages", "names", "abroad", onlyFromSources, "doses", "units", "number words", "log-ins"}
	for _, s := range r.sections(TopicFile, sectionNames{names: names}) {
		switch s.Name {
		case "languages":
			t.Languages = s.List()
		case "names":
			t.Phrases.Names = r.entries(TopicFile, s.Name, s.List())
		case "abroad":
			t.Phrases.Abroad = r.entries(TopicFile, s.Name, s.List())
		default:
			sourced[s.Name] = s
		}
	}
	t.Sourced = r.sourced(sourced)
	t.Languages = r.languages(t.Languages)
	t.Emergencies = r.emergencies()
	for _, lang := range t.Languages {
		t.Voices[lang] = r.voice(lang, t.Emergencies)
	}
	t.Consult = r.consult(t.Languages)
	r.strays(t.Languages)
	t.Weights, t.Emergencies.Weights = r.files[MessagesTable], r.files[EmergenciesTable]
	t.Version = sumOf(r.files)
	return t
}

// languages checks the codes of the languages.
func (r *packReader) languages(codes []string) []string {
	for i, code := range codes {
		switch {
		case !LanguageCode(code):
			r.fault(TopicFile, `%q is no language: write codes such as en or pt-br below "# languages"`, clip(code, maxQuoted))
		case slices.Contains(codes[:i], code):
			r.fault(TopicFile, "the language %s stands twice: take one out", code)
		}
	}
	if len(codes) == 0 {
		r.fault(TopicFile, `it names no languages: write a section "# languages" with codes such as en, the first is the fallback`)
	}
	return slices.DeleteFunc(codes, func(code string) bool { return !LanguageCode(code) })
}

// LanguageCode reports whether a text has the form of a language's code, such as en or pt-br.
func LanguageCode(code string) bool {
	return regexp.MustCompile(`^[a-z]{2,3}(-[a-z]{2,4})?$`).MatchString(code)
}

// strays reports text files that belong to no language.
func (r *packReader) strays(languages []string) {
	known := []string{TopicFile, EmergencyFile, ConsultFile}
	for _, lang := range languages {
		known = append(known, lang+".txt")
	}
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		lang, isText := strings.CutSuffix(name, ".txt")
		switch {
		case !isText || slices.Contains(known, name):
		case LanguageCode(lang):
			r.fault(name, `the topic has no language %s: add it to "# languages" in %s, or take the file out`, lang, TopicFile)
		default:
			r.fault(name, "there is no such file in a pack%s: rename it, or take it out", didYouMean(name, known))
		}
	}
}

// maxQuoted bounds what a fault quotes of a pack, in runes.
const maxQuoted = 60

// sectionNames are the names of the sections of a file. A section of a kind has the kind and a name of its
// own, such as "notice fall".
type sectionNames struct{ names, kinds []string }

// sections returns the sections of a file whose names are known.
func (r *packReader) sections(file string, known sectionNames) []Section {
	content := r.files[file]
	if !utf8.ValidString(content) {
		r.fault(file, "is no UTF-8 text: save it as UTF-8")
		return nil
	}
	var all []Section
	seen := make(map[string]bool)
	for _, s := range Sections(content) {
		kind, own, _ := strings.Cut(s.Name, " ")
		choices := append(slices.Clone(known.names), known.kinds...)
		switch {
		case !slices.Contains(known.names, s.Name) && (own == "" || !slices.Contains(known.kinds, kind)):
			r.fault(file, `there is no section "# %s"%s: there are %s`, clip(s.Name, maxQuoted), cmp.Or(didYouMean(s.Name, choices), didYouMean(kind, choices)), strings.Join(choices, ", "))
			continue
		case seen[s.Name]:
			r.fault(file, `the section "# %s" stands twice: put the two together`, clip(s.Name, maxQuoted))
			continue
		}
		seen[s.Name] = true
		all = append(all, s)
	}
	return all
}

// entries checks the phrases or lines of a section.
func (r *packReader) entries(file, section string, entries []string) []string {
	if len(entries) > maxEntries {
		r.fault(file, `"# %s" has %d entries, at most %d are read: take some out`, section, len(entries), maxEntries)
	}
	for _, e := range entries {
		if len(e) > maxEntry {
			r.fault(file, `"# %s": %q has %d bytes, at most %d are read: shorten it`, section, clip(e, maxQuoted), len(e), maxEntry)
		}
	}
	return entries
}

// text checks a text for people or models.
func (r *packReader) text(file string, s Section) string {
	if len(s.Text) > maxSection {
		r.fault(file, `"# %s" has %d bytes, at most %d are read: shorten it`, s.Name, len(s.Text), maxSection)
	}
	return s.Text
}

// voice reads the texts of a language.
func (r *packReader) voice(lang string, e Emergencies) Voice {
	file := lang + ".txt"
	v := Voice{Notices: make(map[string]string)}
	if _, there := r.files[file]; !there {
		r.fault(file, `it is missing: write it with a section "# description", or take %s out of "# languages" in %s`, lang, TopicFile)
		return v
	}
	to := v.sections()
	names := []string{"first questions"}
	for name := range to {
		names = append(names, name)
	}
	slices.Sort(names)
	var crises []string // the kinds whose notices name a crisis line
	for _, s := range r.sections(file, sectionNames{names, []string{"notice"}}) {
		kind, isNotice := strings.CutPrefix(s.Name, "notice ")
		switch {
		case s.Name == "first questions":
			v.FirstQuestions = r.entries(file, s.Name, s.Lines)
		case !isNotice:
			*to[s.Name] = r.text(file, s)
		default:
			if _, there := e.Kind(kind); !there {
				r.fault(file, "there is no kind of emergency %q in %s%s: describe it there, or take its notice out", clip(kind, maxQuoted), EmergencyFile, didYouMean(kind, e.names()))
			}
			if v.Notices[kind] = r.text(file, s); strings.Contains(s.Text, crisis) {
				crises = append(crises, kind)
			}
		}
	}
	if v.Description == "" {
		r.fault(file, `there is no description: say below "# description", in a sentence, what belongs to the topic`)
	}
	if len(crises) > 0 && v.CrisisLine == "" && e.CrisisLine == "" {
		r.fault(file, `the notice of %q names %s: say below "# crisis line" whom to call, in words that fit everywhere, or write a number below "# crisis line" in %s`, crises[0], crisis, EmergencyFile)
	}
	for _, k := range e.Kinds {
		if v.Notices[k.Name] == "" && (k.Alone || k.Ends) {
			r.fault(file, `the kind of emergency %q has no text: say below "# notice %[1]s" what to do first`, k.Name)
		}
	}
	return v
}

// sections returns the fields of the voice by the sections that hold them.
func (v *Voice) sections() map[string]*string {
	return map[string]*string{
		"description": &v.Description, "not": &v.Not, "system": &v.System, "refusal": &v.Refusal, "unavailable": &v.Unavailable, "call": &v.Call, "crisis line": &v.CrisisLine,
		"label person": &v.Labels.Person, "label assistant": &v.Labels.Assistant, "label summary": &v.Labels.Summary,
		"label earlier": &v.Labels.Earlier, "label question": &v.Labels.Question, "label search": &v.Labels.Search,
		"label prepared": &v.Labels.Prepared, "label notice": &v.Labels.Notice,
	}
}

// consult reads the prompt that clients may choose.
func (r *packReader) consult(languages []string) Consult {
	c := Consult{Texts: make(map[string]string)}
	for _, s := range r.sections(ConsultFile, sectionNames{names: append([]string{"description"}, languages...)}) {
		if s.Name == "description" {
			c.Description = r.text(ConsultFile, s)
			continue
		}
		c.Texts[s.Name] = r.text(ConsultFile, s)
	}
	if _, there := r.files[ConsultFile]; there && (c.Description == "" || len(c.Texts) < len(languages)) {
		r.fault(ConsultFile, `want a section "# description" and one for each language: %s`, strings.Join(languages, ", "))
	}
	return c
}
