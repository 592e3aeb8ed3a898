// Command train makes the weights of the dental emergencies from messages of people in need,
// and harmless ones. "go generate ./agent/emergency" runs it.
package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"molar/agent/subject"
	"molar/internal/text"
)

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, "train:", err)
		os.Exit(1)
	}
}

// weightsFile is beside the topic, seen from the folder of the emergencies.
const weightsFile = "../topic/dental/alarms"

// run reads the messages below folder, and the questions of the guardrail beside it, and
// writes what is learned from them.
func run(folder string) error {
	lines, err := load(folder)
	if err != nil {
		return err
	}
	ordinary, strangers, err := questions(filepath.Join(folder, "../guardrail/data"))
	if err != nil {
		return err
	}
	weights := subject.TrainAlarms(subject.Dental(), lessons(lines, ordinary, strangers))
	return os.WriteFile(filepath.Join(folder, weightsFile), []byte(weights), 0o644)
}

// A line is a message and the kind of emergency that it describes, empty for a harmless one.
type line struct {
	text, lang string
	kind       string
}

// load reads the messages by their language and kind.
func load(folder string) ([]line, error) {
	var lines []line
	for _, lang := range []string{"en", "vi"} {
		data, err := os.ReadFile(filepath.Join(folder, "train/data", lang+".txt"))
		if err != nil {
			return nil, err
		}
		for _, s := range subject.Sections(string(data)) {
			kind := strings.TrimPrefix(s.Name, "harmless")
			for _, text := range s.Lines {
				lines = append(lines, line{text, lang, kind})
			}
		}
	}
	writers, err := filepath.Glob(filepath.Join(folder, "train/data/writers/*.jsonl"))
	if err != nil {
		return nil, err
	}
	for _, path := range writers {
		theirs, err := read(path)
		if err != nil {
			return nil, err
		}
		lines = append(lines, theirs...)
	}
	return lines, nil
}

// questions returns what the guardrail learns from: what its authors wrote, but for what signs of
// an emergency stand in, and the lines of strangers, which say by their kind what is one.
func questions(folder string) (ordinary, strangers []line, err error) {
	t := subject.Dental()
	t.Emergencies.Weights = ""
	detector := subject.NewDetector(t)
	for _, name := range []string{"questions.jsonl", "broad.jsonl"} {
		all, err := read(filepath.Join(folder, name))
		if err != nil {
			return nil, nil, err
		}
		for _, l := range all {
			if len(detector.Find(l.text, "")) == 0 {
				ordinary = append(ordinary, l)
			}
		}
	}
	strangers, err = read(filepath.Join(folder, "strangers.jsonl"))
	return ordinary, slices.DeleteFunc(strangers, func(l line) bool { return l.kind == unclear }), err
}

// unclear marks a line that two readers may take for an emergency or not.
const unclear = "unclear"

// read reads messages from lines of JSON; those of the guardrail are of no kind. One in a language
// that no emergency is learned in stands among the English ones, to be put beside theirs.
func read(path string) (lines []line, err error) {
	err = subject.Lines(path, func(l subject.Line) error {
		if l.Lang == subject.Other {
			l.Lang = subject.English
		}
		lines = append(lines, line{text: l.Text, lang: l.Lang, kind: l.Emergency})
		return nil
	})
	return lines, err
}

// What lessons count.
const (
	asWritten = 1
	mistyped  = 0.5
	composed  = 0.3
	ordinary  = 0.1
	strange   = 0.4 // a harmless line of a stranger, with and without marks
	framed    = 0.3
)

// lessons makes of every message one as it stands, one without marks and one mistyped, and puts
// some together with another message: an emergency stays one whatever else is said.
func lessons(lines, others, strangers []line) []subject.AlarmLesson {
	chance := rand.New(rand.NewPCG(3, 3)) //nolint:gosec // the same lessons every time
	var out []subject.AlarmLesson
	frames := make(map[string][]string)
	for _, lang := range []string{subject.English, subject.Vietnamese} {
		frames[lang] = patternsOf(lang).frames
		for _, l := range complain(chance, lang) {
			out = append(out, subject.AlarmLesson{Text: l.text, Weight: asComplaint}, subject.AlarmLesson{Text: text.Fold(l.text), Weight: asComplaint})
		}
	}
	for _, l := range strangers {
		if l.kind != "" {
			lines = append(slices.Clip(lines), l)
			continue
		}
		out = append(out, subject.AlarmLesson{Text: l.text, Weight: strange})
		if folded := text.Fold(l.text); folded != strings.ToLower(l.text) {
			out = append(out, subject.AlarmLesson{Text: folded, Weight: strange})
		}
	}
	harmless := make(map[string][]string)
	for _, l := range slices.Concat(lines, others) {
		if l.kind == "" {
			harmless[l.lang] = append(harmless[l.lang], l.text)
		}
	}
	for _, l := range lines {
		folded := text.Fold(l.text)
		forms := map[string]float64{l.text: asWritten, subject.Mistype(chance, l.text): mistyped, subject.Mistype(chance, folded): mistyped}
		if folded != strings.ToLower(l.text) {
			forms[folded] = asWritten
		}
		other := harmless[l.lang][chance.IntN(len(harmless[l.lang]))]
		forms[l.text+". "+other] = composed
		forms[other+". "+folded] = composed
		for _, form := range slices.Sorted(maps.Keys(forms)) {
			out = append(out, subject.AlarmLesson{Text: form, Kind: l.kind, Weight: forms[form]})
		}
		if frames := frames[l.lang]; l.kind != "" {
			frame := frames[chance.IntN(len(frames))]
			out = append(out, subject.AlarmLesson{Text: strings.ReplaceAll(frame, "*", l.text), Weight: framed})
		}
	}
	for i, l := range others {
		if i%2 == 0 {
			l.text = text.Fold(l.text)
		}
		out = append(out, subject.AlarmLesson{Text: l.text, Weight: ordinary})
	}
	return out
}
