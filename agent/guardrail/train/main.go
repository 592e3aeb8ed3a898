// Command train makes the dental classifier's weights, and the test part of the
// labelled questions, from data. "go generate ./agent/guardrail" runs it.
//
// It owns the rule by which the questions are split, and nothing of the classifier.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"

	"molar/agent/guardrail"
)

func main() {
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
	weights, err := guardrail.Learn(guardrail.Dental(), p.train, p.dev)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "dental.weights"), []byte(weights), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "data", "test.jsonl"), lines(p.test), 0o644)
}

// parts are the labelled questions, split.
type parts struct{ train, dev, test []guardrail.Example }

// A question is a line of questions.jsonl. Those of one group ask the same in other
// words and stay in one part, so that none is tested by its own paraphrase.
type question struct {
	Group int `json:"group"`
	guardrail.Example
}

// load reads the questions. The lines of known.jsonl were looked at while the phrases
// of the topic were written: they are only learned.
func load(folder string) (parts, error) {
	var p parts
	for _, name := range []string{"known.jsonl", "broad.jsonl"} {
		learned, err := read(filepath.Join(folder, "data", name))
		if err != nil {
			return p, err
		}
		for _, q := range learned {
			p.train = append(p.train, q.Example)
		}
	}
	questions, err := read(filepath.Join(folder, "data", "questions.jsonl"))
	if err != nil {
		return p, err
	}
	for _, q := range questions {
		to := p.of(q.Group)
		*to = append(*to, q.Example)
	}
	return p, nil
}

// of is the part of a group: of 20 groups about 5 are for the test and 3 for dev.
func (p *parts) of(group int) *[]guardrail.Example {
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, "part", group)
	switch n := (h.Sum32() >> 5) % 20; {
	case n < 5:
		return &p.test
	case n < 8:
		return &p.dev
	}
	return &p.train
}

func read(path string) ([]question, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var questions []question
	scanner := bufio.NewScanner(file)
	for n := 1; scanner.Scan(); n++ {
		var q question
		d := json.NewDecoder(strings.NewReader(scanner.Text()))
		d.DisallowUnknownFields()
		if err := d.Decode(&q); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		questions = append(questions, q)
	}
	return questions, scanner.Err()
}

// lines writes examples as JSON, one on a line.
func lines(examples []guardrail.Example) []byte {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, e := range examples {
		_ = enc.Encode(e) // strings and a bool always encode
	}
	return []byte(b.String())
}
