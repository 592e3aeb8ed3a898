package subject

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// A Section is a part of a text file under a heading "# name". The text before the first heading is
// a comment.
type Section struct {
	Name  string
	Lines []string // without empty ones
	Text  string   // the lines unchanged
}

// Sections reads a text file.
func Sections(text string) []Section {
	var all []Section
	for part := range strings.SplitSeq("\n"+text, "\n# ") {
		name, body, _ := strings.Cut(part, "\n")
		s := Section{Name: strings.TrimSpace(name), Text: strings.TrimSpace(body)}
		for line := range strings.Lines(s.Text) {
			if line = strings.TrimSpace(line); line != "" {
				s.Lines = append(s.Lines, line)
			}
		}
		all = append(all, s)
	}
	return all[1:]
}

// List returns the phrases of a section's lines, which commas separate.
func (s Section) List() []string { return split(strings.Join(s.Lines, ","), ",") }

// A Line is a labelled message, as the files of a pack hold it. It teaches the guardrail if it has
// InDomain, and the classifier of emergencies if it has Emergency.
type Line struct {
	Text string `json:"text"`
	// Lang is the code of its language; of mixed text, of the one that carries the sentence.
	Lang     string `json:"lang,omitempty"`
	InDomain *bool  `json:"in_domain,omitempty"`
	// Kind names a group of messages, such as "near-miss"; one that begins with "follow" means a
	// message sent after an exchange on the topic.
	Kind string `json:"kind,omitempty"`
	// History are the exchanges before it, the newest last.
	History []Exchange `json:"history,omitempty"`
	// Group is the same for messages that have more in common than their label: that ask the same,
	// or were written in one go. By is who wrote it.
	Group string `json:"group,omitempty"`
	By    string `json:"by,omitempty"`
	// Weight is how much it counts; zero means once.
	Weight float64 `json:"weight,omitempty"`
	// Emergency is the kind of emergency that it describes, empty for none, "unclear" if two readers
	// may differ.
	Emergency *string `json:"emergency,omitempty"`
}

// Example returns the line as a labelled message.
func (l Line) Example() Example {
	return Example{Text: l.Text, Lang: l.Lang, InDomain: l.InDomain != nil && *l.InDomain, Kind: l.Kind, History: l.History}
}

// maxLine is the longest line of a file of messages, in bytes.
const maxLine = 1 << 20

// Lines reads the content of a file of labelled messages, one JSON object a line, and calls take for
// each. A broken line, an unknown key or an error of take is an error that names the file and line.
func Lines[T any](path, content string, take func(T) error) error {
	n := 0
	for line := range strings.Lines(content) {
		if n++; strings.TrimSpace(line) == "" {
			continue
		}
		message, err := readLine[T](line)
		if err == nil {
			err = take(message)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
	}
	return nil
}

func readLine[T any](line string) (message T, err error) {
	if len(line) > maxLine {
		return message, fmt.Errorf("the line is longer than %d KiB", maxLine>>10)
	}
	d := json.NewDecoder(strings.NewReader(line))
	d.DisallowUnknownFields()
	if err = d.Decode(&message); err == nil && d.More() {
		err = errors.New("more than one value on the line")
	}
	if err != nil {
		return message, fmt.Errorf("not a labelled message: %w", err)
	}
	return message, nil
}
