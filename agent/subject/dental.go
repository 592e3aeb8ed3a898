package subject

import (
	"embed"
	"strings"
)

//go:embed dental/*.txt
var files embed.FS

// dentalWeights is the guard's classifier, as agent/subject/train wrote it.
//
//go:embed dental/weights
var dentalWeights string

// dentalAlarms is the emergency classifier, as agent/subject/train wrote it.
//
//go:embed dental/alarms
var dentalAlarms string

// Dental returns the built-in topic: dentistry, oral health, visits to a dental
// clinic and dental insurance, in Vietnamese and English.
func Dental() Topic {
	emergencies := readEmergencies(read("emergencies.txt"))
	emergencies.Weights = dentalAlarms
	return Topic{
		Name:        "dental",
		Version:     "7",
		Weights:     dentalWeights,
		Phrases:     readPhrases(read("words.txt")),
		Voices:      map[string]Voice{"vi": readVoice(read("vi.txt")), "en": readVoice(read("en.txt"))},
		Emergencies: emergencies,
	}
}

// read returns an embedded file.
func read(name string) string {
	data, _ := files.ReadFile("dental/" + name) // a missing file fails the tests
	return string(data)
}

func readPhrases(text string) Phrases {
	var p Phrases
	to := map[string]*[]string{"names": &p.Names, "abroad": &p.Abroad}
	for _, s := range Sections(text) {
		if phrases := to[s.Name]; phrases != nil {
			*phrases = s.List()
		}
	}
	return p
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
