package scoring

import (
	"errors"
	"fmt"
	"os"

	"molar/agent/subject"
)

// Read reads labelled messages. A broken line, an unknown key, or a missing text or label is an error
// that names the line.
func Read(path string) ([]subject.Example, error) { return readLines(path, true) }

// ReadEmergencies reads messages labelled with kinds of emergency, by "emergency" like the lines of a
// pack or else by "kind"; an empty one or "harmless" means no emergency.
func ReadEmergencies(path string) ([]subject.Example, error) { return readLines(path, false) }

func readLines(path string, labelled bool) ([]subject.Example, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	type line struct {
		subject.Line
		Text *string `json:"text"`
	}
	var examples []subject.Example
	err = subject.Lines(path, string(data), func(l line) error {
		switch {
		case l.Text == nil:
			return errors.New(`"text" is missing`)
		case l.InDomain == nil && labelled:
			return errors.New(`"in_domain" is missing`)
		case l.Lang != "" && l.Lang != subject.Other && !subject.LanguageCode(l.Lang):
			return fmt.Errorf(`"lang" is %q: want a code such as vi or en, or other`, l.Lang)
		}
		l.Line.Text = *l.Text
		if l.Emergency != nil && !labelled {
			l.Kind = *l.Emergency
		}
		examples = append(examples, l.Example())
		return nil
	})
	if err == nil && len(examples) == 0 {
		err = fmt.Errorf("%s holds no lines", path)
	}
	return examples, err
}
