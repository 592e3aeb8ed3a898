package scoring

import (
	"errors"
	"fmt"

	"molar/agent/language"
	"molar/agent/topic"
)

// Read reads labelled messages. A line that is torn, has an unknown key or
// lacks its text or label is an error that names it.
func Read(path string) ([]topic.Example, error) { return readLines(path, true) }

// ReadEmergencies reads messages whose kind is empty or "harmless" for those of no emergency.
func ReadEmergencies(path string) ([]topic.Example, error) { return readLines(path, false) }

func readLines(path string, labelled bool) ([]topic.Example, error) {
	type line struct {
		topic.Line
		Text     *string `json:"text"`
		InDomain *bool   `json:"in_domain"`
	}
	var examples []topic.Example
	err := topic.Lines(path, func(l line) error {
		switch {
		case l.Text == nil:
			return errors.New(`"text" is missing`)
		case l.InDomain == nil && labelled:
			return errors.New(`"in_domain" is missing`)
		case l.Lang != "" && l.Lang != language.Vietnamese && l.Lang != language.English && l.Lang != language.Other:
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
