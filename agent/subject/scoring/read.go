package scoring

import (
	"errors"
	"fmt"

	"molar/agent/subject"
)

// Read reads labelled messages. A broken line, an unknown key, or a missing text or label is an error
// that names the line.
func Read(path string) ([]subject.Example, error) { return readLines(path, true) }

// ReadEmergencies reads messages labelled with kinds of emergency; an empty kind or "harmless" means
// no emergency.
func ReadEmergencies(path string) ([]subject.Example, error) { return readLines(path, false) }

func readLines(path string, labelled bool) ([]subject.Example, error) {
	type line struct {
		subject.Line
		Text     *string `json:"text"`
		InDomain *bool   `json:"in_domain"`
	}
	var examples []subject.Example
	err := subject.Lines(path, func(l line) error {
		switch {
		case l.Text == nil:
			return errors.New(`"text" is missing`)
		case l.InDomain == nil && labelled:
			return errors.New(`"in_domain" is missing`)
		case l.Lang != "" && l.Lang != subject.Vietnamese && l.Lang != subject.English && l.Lang != subject.Other:
			return fmt.Errorf(`"lang" is %q: want vi, en or other`, l.Lang)
		}
		e := l.Example
		e.Text, e.InDomain = *l.Text, l.InDomain != nil && *l.InDomain
		examples = append(examples, e)
		return nil
	})
	if err == nil && len(examples) == 0 {
		err = fmt.Errorf("%s holds no lines", path)
	}
	return examples, err
}
