package subject

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
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

// A Line is an example with its label and metadata.
type Line struct {
	Example
	// Group is the same number for questions that ask the same in other words.
	Group int    `json:"group"`
	By    string `json:"by"` // who wrote it
	// Emergency is the kind of emergency that it describes, "unclear" if two readers may differ.
	Emergency string `json:"emergency"`
}

// maxLine is the longest line of a file of messages, in bytes.
const maxLine = 1 << 20

// Lines reads a file of labelled messages, one JSON object a line, and calls take for each. A
// broken line, an unknown key or an error of take is an error that names the line.
func Lines[T any](path string, take func(T) error) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	n := 0
	for line := range strings.Lines(string(data)) {
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
