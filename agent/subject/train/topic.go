package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"molar/agent/subject"
	"molar/internal/text"
)

// sureFrom was chosen by cross-validation over the writers of the lines: see TestWriters.
var sureFrom = subject.Sure{In: 1.6, After: 0.9, Out: -0.4}

// learnTopic trains the classifier of the topic, and writes the test part of the questions.
func learnTopic(root string) ([][]byte, error) {
	p, err := load(root)
	if err != nil {
		return nil, err
	}
	dental, err := dentalTopic(root)
	if err != nil {
		return nil, err
	}
	parts, err := answers(root, dental)
	if err != nil {
		return nil, err
	}
	own := append(lessons(slices.Concat(p.train, p.traps), 1), names(dental)...)
	weights, err := subject.TrainGuard(slices.Concat(own, lessons(p.plain, 1), lessons(p.strangers, asStranger)), slices.Concat(own, parts), sureFrom)
	return [][]byte{[]byte(weights), encode(p.test)}, err
}

// The weights of lessons that are not ordinary questions.
const (
	// asStranger is the weight of a line by a writer who had seen neither the rules nor the data.
	asStranger = 3
	asName     = 0.3 // of a name of the topic
	asAnswer   = 0.3 // of a part of an answer on the topic; parts on other subjects have the same total weight
)

// lessons returns each example unchanged, without marks, and in two forms with typing mistakes.
func lessons(examples []subject.Example, weight float64) []subject.Lesson {
	var out []subject.Lesson
	chance := rand.New(rand.NewPCG(2, 2)) //nolint:gosec // the same lessons every time
	for _, e := range examples {
		l := subject.Lesson{Example: e, Weight: weight, Forms: make(map[string]float64)}
		folded := text.Fold(e.Text)
		l.Forms[subject.Mistype(chance, e.Text)] = mistyped * weight
		l.Forms[subject.Mistype(chance, folded)] = mistyped * weight
		if folded != strings.ToLower(e.Text) {
			l.Forms[folded] = weight
		}
		out = append(out, l)
	}
	return out
}

// names returns the names of the topic as lessons.
func names(t subject.Topic) []subject.Lesson {
	var out []subject.Lesson
	for _, name := range t.Phrases.Names {
		name = strings.TrimSuffix(name, "*")
		out = append(out, subject.Lesson{Example: subject.Example{Text: name, InDomain: true}, Weight: asName})
	}
	return out
}

// guideFolder is the folder of the dental guide, relative to the root of the module.
const guideFolder = pack + "guide/"

// answers returns parts of answers as lessons: sentences of the guide and of the emergency notices,
// which always belong to the topic, and the parts in answers.txt.
func answers(root string, t subject.Topic) ([]subject.Lesson, error) {
	var of, other []string
	files, err := filepath.Glob(filepath.Join(root, guideFolder, "*/*.md"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no guide in %s: %w", guideFolder, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, entry := range strings.Split(string(data), "\n## ")[1:] {
			lines := strings.Split(strings.TrimSpace(entry), "\n")
			of = append(of, sentences(lines[len(lines)-1])...)
		}
	}
	for _, lang := range []string{"vi", "en"} {
		for _, kind := range t.Emergencies.Kinds {
			of = append(of, sentences(t.Voices[lang].Notices[kind.Name])...)
		}
	}
	data, err := os.ReadFile(filepath.Join(root, labelled, "answers.txt"))
	if err != nil {
		return nil, err
	}
	for _, s := range subject.Sections(string(data)) {
		if s.Name == "of the topic" {
			of = append(of, s.Lines...)
		} else {
			other = append(other, s.Lines...)
		}
	}
	return append(answerLessons(of, true, asAnswer), answerLessons(other, false, asAnswer*float64(len(of))/float64(len(other)))...), nil
}

// sentences returns a text as a whole, its halves, and each sentence with the one before it.
func sentences(whole string) []string {
	parts := strings.SplitAfter(whole, ". ")
	out := []string{whole}
	for i, part := range parts {
		if out = append(out, part); i > 0 {
			out = append(out, parts[i-1]+part)
		}
	}
	return out
}

func answerLessons(texts []string, in bool, weight float64) []subject.Lesson {
	var out []subject.Lesson
	for _, line := range texts {
		l := subject.Lesson{Example: subject.Example{Text: line, InDomain: in}, Weight: weight}
		if folded := text.Fold(line); folded != strings.ToLower(line) {
			l.Forms = map[string]float64{folded: weight / 2}
		}
		out = append(out, l)
	}
	return out
}
