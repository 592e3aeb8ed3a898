package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"path/filepath"
	"slices"
	"strings"

	"molar/agent/subject"
)

// labelled holds the labelled lines, seen from the root of the module.
const labelled = "topics/dental/labelled/"

// read reads a file of labelled lines.
func read(path string) (all []subject.Line, err error) {
	err = subject.Lines(path, func(l subject.Line) error { all = append(all, l); return nil })
	return all, err
}

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

// mistyped is what a form of a line with typing mistakes counts beside the line.
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
