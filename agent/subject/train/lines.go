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

// labelled is the folder of the labelled lines, relative to the root of the module.
const labelled = pack + "lines/"

// pack is the folder of the dental pack, general that of the lines of no topic.
const pack, general = "topics/dental/", "topics/general/"

// dentalTopic returns the topic that the lines are about.
func dentalTopic(root string) (subject.Topic, error) {
	return subject.ReadPack(os.DirFS(filepath.Join(root, pack)), "dental")
}

// read reads a file of labelled lines.
func read(path string) (all []subject.Line, err error) {
	err = subject.Lines(path, func(l subject.Line) error { all = append(all, l); return nil })
	return all, err
}

// parts holds the labelled questions, by their use.
type parts struct {
	train, test []subject.Example
	// traps and strangers train only the dental classifier: they have little to do with
	// conversations. Strangers are writers who had seen neither the rules nor the data.
	traps, strangers []subject.Example
	// plain are the simplest questions. They do not train the classifier of answers, since an answer
	// on the topic may state what they ask about.
	plain []subject.Example
}

// load reads the questions and splits them into training and test parts.
func load(root string) (parts, error) {
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
		questions, err := read(filepath.Join(root, labelled, file.name))
		if err != nil {
			return p, err
		}
		for _, q := range questions {
			*file.to = append(*file.to, q.Example)
		}
	}
	questions, err := read(filepath.Join(root, labelled, "questions.jsonl"))
	if err != nil {
		return p, err
	}
	for _, q := range questions { // a group stays in one part, so that no test question has a paraphrase in training
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

// mistyped is the weight of a line with typing mistakes, relative to the original line.
const mistyped = 0.5

// isTest puts about 5 of 20 groups into the test part.
func isTest(group int) bool {
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, "part", group)
	return (h.Sum32()>>5)%20 < 5
}

// encode writes examples as JSON, one on a line.
func encode(examples []subject.Example) []byte {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, e := range examples {
		_ = enc.Encode(e) // strings and a bool always encode
	}
	return []byte(b.String())
}
