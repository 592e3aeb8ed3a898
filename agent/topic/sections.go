package topic

import "strings"

// A Section is a part of a text file under a heading "# name". What stands before the
// first heading is for its readers.
type Section struct {
	Name  string
	Lines []string // without empty ones
	Text  string   // the lines as they stand
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
