package scoring

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"molar/agent/language"
	"molar/agent/topic"
)

// maxLine is the longest line of a file of examples, in bytes.
const maxLine = 1 << 20

// Read reads labelled messages. A line that is torn, has an unknown key or
// lacks its text or label is an error that names it.
func Read(path string) ([]topic.Example, error) { return readLines(path, true) }

// ReadEmergencies reads messages whose kind is empty or "harmless" for those of no emergency.
func ReadEmergencies(path string) ([]topic.Example, error) { return readLines(path, false) }

func readLines(path string, labelled bool) ([]topic.Example, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var examples []topic.Example
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, maxLine)
	for n := 1; scanner.Scan(); n++ {
		if len(bytes.TrimSpace(scanner.Bytes())) == 0 {
			continue
		}
		e, err := readExample(scanner.Bytes(), labelled)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		examples = append(examples, e)
	}
	switch {
	case errors.Is(scanner.Err(), bufio.ErrTooLong):
		return nil, fmt.Errorf("%s:%d: the line is longer than %d KiB", path, len(examples)+1, maxLine>>10)
	case scanner.Err() != nil:
		return nil, fmt.Errorf("read %s: %w", path, scanner.Err())
	case len(examples) == 0:
		return nil, fmt.Errorf("%s holds no lines", path)
	}
	return examples, nil
}

func readExample(line []byte, labelled bool) (topic.Example, error) {
	var read struct {
		Text     *string `json:"text"`
		Lang     string  `json:"lang"`
		InDomain *bool   `json:"in_domain"`
		Kind     string  `json:"kind"`
		History  []topic.Exchange
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&read); err != nil {
		return topic.Example{}, fmt.Errorf("not a labelled message: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return topic.Example{}, errors.New("not a labelled message: more than one value on the line")
	}
	switch {
	case read.Text == nil:
		return topic.Example{}, errors.New(`"text" is missing`)
	case read.InDomain == nil && !labelled:
		read.InDomain = new(bool)
	case read.InDomain == nil:
		return topic.Example{}, errors.New(`"in_domain" is missing`)
	case read.Lang != "" && read.Lang != language.Vietnamese && read.Lang != language.English:
		return topic.Example{}, fmt.Errorf(`"lang" is %q: want vi or en`, read.Lang)
	}
	return topic.Example{Text: *read.Text, Lang: read.Lang, InDomain: *read.InDomain, Kind: read.Kind, History: read.History}, nil
}
