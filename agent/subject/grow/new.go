package grow

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"molar/agent/subject"
)

// A Draft is what a new pack begins with.
type Draft struct {
	// Descriptions state what belongs to the topic, in each language. The first language is the
	// fallback for all others.
	Descriptions []Description
	// Kinds are the names of emergencies that people may write of, such as "poison".
	Kinds []string
}

// A Description is a sentence on what belongs to a topic.
type Description struct{ Lang, Text string }

// kindName is the form of the name of a kind of emergency, which is also its first phrase.
var kindName = regexp.MustCompile(`^[\p{L}\p{M}\p{N}]+(?:[ _'’-][\p{L}\p{M}\p{N}]+)*$`) //nolint:gochecknoglobals // compiled once

// Check checks the languages and the kinds; the texts may still be missing.
func (d Draft) Check() error {
	langs := make(map[string]bool)
	for _, in := range d.Descriptions {
		switch {
		case !subject.LanguageCode(in.Lang):
			return fmt.Errorf("%q is no language: write a code such as en or pt-br", in.Lang)
		case langs[in.Lang]:
			return fmt.Errorf("the language %s is given twice: take one out", in.Lang)
		}
		langs[in.Lang] = true
	}
	for i, kind := range d.Kinds {
		switch {
		case !kindName.MatchString(kind):
			return fmt.Errorf("%q is no kind of emergency: use letters and digits, with a space or '-' between words, such as poison", kind)
		case kind == Harmless, kind == unclear:
			return fmt.Errorf("%q is the label of lines that describe no certain emergency: choose another name for the kind", kind)
		case slices.Contains(d.Kinds[:i], kind):
			return fmt.Errorf("the kind of emergency %q is given twice: take one out", kind)
		}
	}
	return nil
}

// unclear labels a line of which two readers may differ.
const unclear = "unclear"

// checkTexts checks that there are descriptions, and that none would be read as a heading.
func (d Draft) checkTexts() error {
	if len(d.Descriptions) == 0 {
		return errors.New("a topic needs a description: say in a sentence what belongs to it")
	}
	for _, in := range d.Descriptions {
		if text := strings.TrimSpace(in.Text); text == "" || len(subject.Sections(text)) > 0 {
			return fmt.Errorf("the description in the language %s is empty, or has a line that begins with \"# \": say in a sentence what belongs to the topic", in.Lang)
		}
	}
	return nil
}

// New writes a pack into a folder that does not exist yet, or is empty.
func New(dir string, d Draft) error {
	if err := cmp.Or(d.Check(), d.checkTexts()); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	switch {
	case err == nil && len(entries) > 0:
		return fmt.Errorf("%s is not empty: choose another name, or remove it", dir)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	files := map[string]string{subject.TopicFile: topicFile(d), filepath.Join(subject.LinesFolder, "own.txt"): ownLines}
	for _, in := range d.Descriptions {
		files[in.Lang+".txt"] = voiceFile(in)
	}
	if len(d.Kinds) > 0 {
		files[subject.EmergencyFile] = emergencyFile(d.Kinds)
	}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // a pack is no secret
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil { //nolint:gosec // a pack is no secret
			return err
		}
	}
	return nil
}

func topicFile(d Draft) string {
	var langs []string
	for _, in := range d.Descriptions {
		langs = append(langs, in.Lang)
	}
	return `The languages of the topic, the fallback first, and its names: words and phrases that hardly occur
outside of it, many on a line, separated by commas. A star stands for any ending.

# languages
` + strings.Join(langs, ", ") + `

# names
`
}

func voiceFile(in Description) string {
	var b strings.Builder
	_, _ = fmt.Fprintf(&b, `What the assistant says in this language. Further sections, each optional: "# refusal", "# unavailable",
"# system", "# not" (what does not belong, for the model that judges) and "# first questions".

# description
%s
`, strings.TrimSpace(in.Text))
	return b.String()
}

func emergencyFile(kinds []string) string {
	var b strings.Builder
	b.WriteString(`The emergencies of the topic, the most pressing first, and the phrases by which code knows them without
having learned: a|b is either word, * up to four words. A kind "alone" says itself whom to call, and
"alone, ends" is the whole answer. Lines that people may write are in lines/, once a person has seen them.
`)
	for _, kind := range kinds {
		_, _ = fmt.Fprintf(&b, "\n# kind %s\n%s\n", kind, kind)
	}
	for _, kind := range kinds {
		_, _ = fmt.Fprintf(&b, "\n# sign %s\n%[1]s\n", kind)
	}
	return b.String()
}

const ownLines = `Messages that you write by hand, one on a line. They count three times as much as those of a model.

# in

# out
`
