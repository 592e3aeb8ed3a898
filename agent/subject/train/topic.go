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

// sureFrom was chosen on lines of writers whose lines were left out: TestWriters shows it.
var sureFrom = subject.Sure{In: 1.6, After: 0.9, Out: -0.4}

// learnTopic learns what is of the topic, and splits the test part off the questions.
func learnTopic(root string) ([][]byte, error) {
	p, err := load(root)
	if err != nil {
		return nil, err
	}
	dental := subject.Dental()
	told, err := answers(root, dental)
	if err != nil {
		return nil, err
	}
	own := append(lessons(slices.Concat(p.train, p.traps), 1), names(dental)...)
	weights, err := subject.TrainGuard(slices.Concat(own, lessons(p.plain, 1), lessons(p.strangers, asStranger)), slices.Concat(own, told), sureFrom)
	return [][]byte{[]byte(weights), encode(p.test)}, err
}

// What lessons count that were made from others.
const (
	// asStranger is a line of somebody who had seen neither rules nor data.
	asStranger = 3
	asName     = 0.3 // a name of the topic, learned as an example
	asTold     = 0.3 // a part of an answer of the topic; those of other subjects count as much in all
)

// lessons makes of every example one as it stands, one without marks, and two with typing
// mistakes.
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

// names are the names of the topic as lessons.
func names(t subject.Topic) []subject.Lesson {
	var out []subject.Lesson
	for _, name := range t.Phrases.Names {
		name = strings.TrimSuffix(name, "*")
		out = append(out, subject.Lesson{Example: subject.Example{Text: name, InDomain: true}, Weight: asName})
	}
	return out
}

// guideFolder holds what the dental guide says, seen from the root of the module.
const guideFolder = "mcpservers/search/guide/"

// answers are parts of answers: sentences of the guide and of the notices of emergencies, which
// are of the topic whatever they speak of, and those of answers.txt.
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
	return append(told(of, true, asTold), told(other, false, asTold*float64(len(of))/float64(len(other)))...), nil
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

func told(texts []string, in bool, weight float64) []subject.Lesson {
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
