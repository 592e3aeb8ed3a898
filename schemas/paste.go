package schemas

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// maxTyped is the length from which a text that was put in at once counts as pasted, in characters.
const maxTyped = 400

// PastedParts returns a person's text as parts of which those are pasted that are long and were put in
// at once. If one of these does not stand in the text as it was pasted, all of the text counts as
// pasted. The parts together are the text.
func PastedParts(text string, pastes []string) []Part {
	part := func(text string, origin Origin) Part { return Part{Kind: PartText, Text: text, Origin: origin} }
	parts := []Part{part(text, "")}
	for _, paste := range pastes {
		paste = strings.TrimSpace(paste)
		if utf8.RuneCountInString(paste) <= maxTyped {
			continue
		}
		at := slices.IndexFunc(parts, func(p Part) bool { return p.Origin == "" && strings.Contains(p.Text, paste) })
		if at < 0 {
			return []Part{part(text, FromPaste)}
		}
		before, after, _ := strings.Cut(parts[at].Text, paste)
		split := []Part{part(before, ""), part(paste, FromPaste), part(after, "")}
		parts = slices.Replace(parts, at, at+1, slices.DeleteFunc(split, func(p Part) bool { return p.Text == "" })...)
	}
	var all []Part
	for _, p := range parts {
		if n := len(all) - 1; n >= 0 && all[n].Origin == p.Origin { // pastes that follow each other
			all[n].Text += p.Text
			continue
		}
		all = append(all, p)
	}
	return all
}
