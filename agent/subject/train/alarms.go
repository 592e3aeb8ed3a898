package main

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"molar/agent/subject"
	"molar/internal/text"
)

// emergencies is the folder of messages of people in need and of harmless ones, relative to the root
// of the module.
const emergencies = labelled + "emergencies/"

// learnAlarms trains the emergency classifier of the topic.
func learnAlarms(root string) ([][]byte, error) {
	m, err := readMessages(root)
	if err != nil {
		return nil, err
	}
	topic, err := dentalTopic(root)
	if err != nil {
		return nil, err
	}
	return [][]byte{[]byte(subject.TrainAlarms(topic, m.lessons()))}, nil
}

// A message is a text and the kind of emergency that it describes, empty for a harmless one.
type message struct {
	text, lang string
	kind       string
}

// messages are the training data of the emergency classifier.
type messages struct {
	// own were written for this classifier, by the authors of the signs and by writers who had not
	// seen the signs.
	own []message
	// ordinary are questions of the guardrail's authors without any sign of an emergency.
	ordinary []message
	// strangers were written by people who had not seen the guardrail, and are labelled with kinds.
	strangers []message
	patterns  map[string]patterns // by language
}

// unclear marks a line on which two readers may disagree whether it is an emergency.
const unclear = "unclear"

// languages returns the languages of the emergency classifier.
func languages() []string { return []string{subject.English, subject.Vietnamese} }

// readMessages reads the training data below the root of the module.
func readMessages(root string) (m messages, err error) {
	m.patterns = make(map[string]patterns)
	for _, lang := range languages() {
		data, err := os.ReadFile(filepath.Join(root, emergencies, lang+".txt"))
		if err != nil {
			return m, err
		}
		for _, s := range subject.Sections(string(data)) {
			kind := strings.TrimPrefix(s.Name, "harmless")
			for _, text := range s.Lines {
				m.own = append(m.own, message{text, lang, kind})
			}
		}
		if m.patterns[lang], err = readPatterns(filepath.Join(root, emergencies, "patterns."+lang+".txt")); err != nil {
			return m, err
		}
	}
	writers, err := filepath.Glob(filepath.Join(root, emergencies, "writers/*.jsonl"))
	if err != nil {
		return m, err
	}
	for _, path := range writers {
		theirs, err := readAlarmed(path)
		if err != nil {
			return m, err
		}
		m.own = append(m.own, theirs...)
	}
	topic, err := dentalTopic(root)
	if err != nil {
		return m, err
	}
	topic.Emergencies.Weights = ""
	detector := subject.NewDetector(topic)
	for _, name := range []string{"questions.jsonl", "broad.jsonl"} {
		all, err := readAlarmed(filepath.Join(root, labelled, name))
		if err != nil {
			return m, err
		}
		all = slices.DeleteFunc(all, func(l message) bool { return len(detector.Find(l.text, "")) > 0 })
		m.ordinary = append(m.ordinary, all...)
	}
	m.strangers, err = readAlarmed(filepath.Join(root, labelled, "strangers.jsonl"))
	m.strangers = slices.DeleteFunc(m.strangers, func(l message) bool { return l.kind == unclear })
	return m, err
}

// readAlarmed reads labelled lines as messages; lines of the guardrail's authors have no kind. Lines
// in other languages count as English, to be combined with English messages.
func readAlarmed(path string) ([]message, error) {
	lines, err := read(path)
	var all []message
	for _, l := range lines {
		if l.Lang == subject.Other {
			l.Lang = subject.English
		}
		all = append(all, message{text: l.Text, lang: l.Lang, kind: l.Emergency})
	}
	return all, err
}

// patterns are templates of messages in one language.
type patterns struct {
	// frames are texts in which a description of an emergency, put in place of the star, is harmless:
	// it is long past, supposed, or a story.
	frames []string
	// orders are the templates of simple complaints, each with the choices for each place.
	orders [][][]string
}

func readPatterns(path string) (p patterns, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return p, err
	}
	choices := make(map[string][]string)
	for _, s := range subject.Sections(string(data)) {
		switch s.Name {
		case "frames":
			p.frames = s.Lines
		case "orders":
			for _, line := range s.Lines {
				var places [][]string
				for part := range strings.SplitSeq(line, " + ") {
					places = append(places, choices[part])
				}
				p.orders = append(p.orders, places)
			}
		default:
			choices[s.Name] = strings.Split(strings.ReplaceAll(s.Text, "-", ""), " | ")
		}
	}
	return p, nil
}

// complaints makes the simplest messages that a clinic gets: who has what pain, where, and how much,
// and who is on the way. They are not emergencies, and writers tend not to think of them. Each
// choice for the last place is combined once with each choice for the place before it.
func (p patterns) complaints(chance *rand.Rand) []string {
	var out []string
	for _, places := range p.orders {
		last, next := places[len(places)-1], places[len(places)-2]
		for i := range len(last) * len(next) {
			words := []string{next[i%len(next)], last[i/len(next)]}
			for _, choices := range slices.Backward(places[:len(places)-2]) {
				words = append([]string{choices[chance.IntN(len(choices))]}, words...)
			}
			out = append(out, strings.Join(strings.Fields(strings.Join(words, " ")), " "))
		}
	}
	return out
}

// The weights of lessons of emergencies; [mistyped] is the one of a lesson with typing mistakes.
const (
	asComposed  = 0.3
	asFrame     = 0.3
	asOrdinary  = 0.1
	asHarmless  = 0.4 // a harmless line of a stranger, with and without marks
	asComplaint = 0.2 // low, as very many complaints are made
)

// lessons returns each message unchanged, without marks, and with typing mistakes, and combinations
// with a harmless message: an emergency stays one whatever else the message says.
func (m messages) lessons() []subject.AlarmLesson {
	chance := rand.New(rand.NewPCG(3, 3)) //nolint:gosec // the same lessons every time
	var out []subject.AlarmLesson
	for _, lang := range languages() {
		for _, complaint := range m.patterns[lang].complaints(chance) {
			out = append(out, subject.AlarmLesson{Text: complaint, Weight: asComplaint}, subject.AlarmLesson{Text: text.Fold(complaint), Weight: asComplaint})
		}
	}
	own := slices.Clip(m.own)
	for _, l := range m.strangers {
		if l.kind != "" {
			own = append(own, l)
			continue
		}
		out = append(out, subject.AlarmLesson{Text: l.text, Weight: asHarmless})
		if folded := text.Fold(l.text); folded != strings.ToLower(l.text) {
			out = append(out, subject.AlarmLesson{Text: folded, Weight: asHarmless})
		}
	}
	harmless := make(map[string][]string)
	for _, l := range slices.Concat(own, m.ordinary) {
		if l.kind == "" {
			harmless[l.lang] = append(harmless[l.lang], l.text)
		}
	}
	for _, l := range own {
		folded := text.Fold(l.text)
		forms := map[string]float64{l.text: 1, subject.Mistype(chance, l.text): mistyped, subject.Mistype(chance, folded): mistyped}
		if folded != strings.ToLower(l.text) {
			forms[folded] = 1
		}
		other := harmless[l.lang][chance.IntN(len(harmless[l.lang]))]
		forms[l.text+". "+other] = asComposed
		forms[other+". "+folded] = asComposed
		for _, form := range slices.Sorted(maps.Keys(forms)) {
			out = append(out, subject.AlarmLesson{Text: form, Kind: l.kind, Weight: forms[form]})
		}
		if frames := m.patterns[l.lang].frames; l.kind != "" {
			frame := frames[chance.IntN(len(frames))]
			out = append(out, subject.AlarmLesson{Text: strings.ReplaceAll(frame, "*", l.text), Weight: asFrame})
		}
	}
	for i, l := range m.ordinary {
		if i%2 == 0 {
			l.text = text.Fold(l.text)
		}
		out = append(out, subject.AlarmLesson{Text: l.text, Weight: asOrdinary})
	}
	return out
}
