package grow

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"molar/agent/subject"
	"molar/internal/text"
)

// A name has to occur at least so many times as often in lines of the topic as in others, so that it
// may speak for the topic.
const telling = 20

// addNames adds the plan's names and first questions to the texts of the pack. It leaves out what the
// lines show to be no name, and a section that already has content.
func addNames(c Config, p Plan) error {
	if len(c.Topic.Phrases.Names) == 0 {
		lines, err := ReadLines(filepath.Join(c.Dir, subject.LinesFolder, grownFile))
		if err != nil {
			return err
		}
		var all []string
		for _, lang := range c.Topic.Languages {
			if names := namesOf(p.Names[lang], lines); len(names) > 0 {
				all = append(all, strings.Join(names, ", "))
			}
		}
		if err := fill(filepath.Join(c.Dir, subject.TopicFile), "names", strings.Join(all, "\n")); err != nil {
			return err
		}
	}
	for _, lang := range c.Topic.Languages {
		if len(c.Topic.Voices[lang].FirstQuestions) > 0 || len(p.Questions[lang]) == 0 {
			continue
		}
		if err := fill(filepath.Join(c.Dir, lang+".txt"), "first questions", strings.Join(p.Questions[lang], "\n")); err != nil {
			return err
		}
	}
	return nil
}

// namesOf returns the names that lines of other subjects hardly hold.
func namesOf(names []string, lines []subject.Line) (kept []string) {
	words := make([][]text.Word, len(lines))
	for i, l := range lines {
		words[i] = text.Words(l.Text)
	}
	for _, name := range names {
		phrase := text.NewStrictPhrases([]string{name})
		in, out := 0, 0
		for i, l := range lines {
			switch {
			case l.InDomain == nil || l.Kind == Dressed || l.Kind == TwoSenses || !phrase.In(words[i]):
			case *l.InDomain:
				in++
			default:
				out++
			}
		}
		if out*telling <= in && !slices.Contains(kept, name) {
			kept = append(kept, name)
		}
	}
	return kept
}

// fill writes the text of a section of a file, below the heading as [subject.Sections] finds it; a missing
// section is added at the end. The lines end as those of the file do.
func fill(path, section, content string) error {
	if content == "" {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	file, end := string(data), "\n"
	if strings.Contains(file, "\r\n") {
		end = "\r\n"
	}
	content = strings.ReplaceAll(content, "\n", end) + end
	var b strings.Builder
	found := false
	for line := range strings.Lines(file) {
		b.WriteString(line)
		name, isHeading := strings.CutPrefix(line, "# ")
		if found || !isHeading || strings.TrimSpace(name) != section {
			continue
		}
		if found = true; !strings.HasSuffix(line, "\n") {
			b.WriteString(end)
		}
		b.WriteString(content)
	}
	if !found {
		b.Reset()
		b.WriteString(strings.TrimRight(file, "\r\n") + end + end + "# " + section + end + content)
	}
	return os.WriteFile(path, []byte(b.String()), 0o644) //nolint:gosec // a pack is no secret
}
