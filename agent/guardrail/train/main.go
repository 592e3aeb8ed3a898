// Command train makes the dental classifier's weights, and the test part of the
// labelled questions, from data; "train talk" makes those of what messages need of the
// conversation. "go generate ./agent/guardrail" runs it.
//
// It owns the rule by which the questions are split, and nothing of the classifier.
package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"molar/agent/subject"
)

func main() {
	// The dental classifier stands on the other, so it is made by a second run.
	run := run
	if len(os.Args) > 1 && os.Args[1] == "talk" {
		run = runTalk
	}
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, "train:", err)
		os.Exit(1)
	}
}

// run reads the questions below folder and writes what is made from them.
func run(folder string) error {
	p, err := load(folder)
	if err != nil {
		return err
	}
	dental := subject.Dental()
	told, err := answers(folder, dental)
	if err != nil {
		return err
	}
	own := append(lessons(slices.Concat(p.train, p.traps), 1), names(dental)...)
	weights, err := subject.TrainGuard(slices.Concat(own, lessons(p.plain, 1), lessons(p.strangers, asStranger)), slices.Concat(own, told), sureFrom)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, weightsFile), []byte(weights), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "data", "test.jsonl"), lines(p.test), 0o644)
}

// sureFrom was chosen on lines of writers whose lines were left out: TestWriters shows it.
var sureFrom = subject.Sure{In: 1.6, After: 0.9, Out: -0.4}

// weightsFile is beside the topic, seen from the folder of the guardrail.
const weightsFile = "../topic/dental/weights"

// parts are the labelled questions, split.
type parts struct {
	train, test []subject.Example
	// traps and strangers are learned by the dental classifier alone: they say little of
	// conversations. Strangers have seen neither rules nor data.
	traps, strangers []subject.Example
	// plain are the plainest questions. What they ask an answer states, so that its watch does
	// not learn them.
	plain []subject.Example
}

// load reads the questions, those to learn and those to hold back.
func load(folder string) (parts, error) {
	var p parts
	for _, file := range []struct {
		name string
		to   *[]subject.Example
	}{
		{"known.jsonl", &p.train},
		{"broad.jsonl", &p.train},
		{"traps.jsonl", &p.traps},
		{"plain.jsonl", &p.plain},
		{"probe.jsonl", &p.strangers},
		{"probe2.jsonl", &p.strangers},
		{"probe3.jsonl", &p.strangers},
		{"probe4.jsonl", &p.strangers},
		{"probe5.jsonl", &p.strangers},
		{"strangers.jsonl", &p.strangers},
	} {
		questions, err := read(filepath.Join(folder, "data", file.name))
		if err != nil {
			return p, err
		}
		for _, q := range questions {
			*file.to = append(*file.to, q.Example)
		}
	}
	questions, err := read(filepath.Join(folder, "data", "questions.jsonl"))
	if err != nil {
		return p, err
	}
	for _, q := range questions { // a group stays in one part: none is tested by its own paraphrase
		if isTest(q.Group) {
			p.test = append(p.test, q.Example)
		} else {
			p.train = append(p.train, q.Example)
		}
	}
	learned := make(map[string]bool)
	for _, e := range slices.Concat(p.train, p.traps, p.test) {
		learned[e.Text] = true
	}
	p.strangers = slices.DeleteFunc(p.strangers, func(e subject.Example) bool { return learned[e.Text] })
	return p, nil
}

// isTest puts about 5 of 20 groups into the test part.
func isTest(group int) bool {
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, "part", group)
	return (h.Sum32()>>5)%20 < 5
}

func read(path string) (questions []subject.Line, err error) {
	err = subject.Lines(path, func(q subject.Line) error { questions = append(questions, q); return nil })
	return questions, err
}

// lines writes examples as JSON, one on a line.
func lines(examples []subject.Example) []byte {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, e := range examples {
		_ = enc.Encode(e) // strings and a bool always encode
	}
	return []byte(b.String())
}
