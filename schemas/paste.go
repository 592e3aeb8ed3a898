package schemas

import (
	"strings"
	"unicode/utf8"
)

// maxTyped is the length from which a text that was put in at once counts as pasted, in characters.
const maxTyped = 400

// PastedParts returns a person's text as parts of which those are pasted that are long and were put in
// at once. If one of these does not stand in the text as it was pasted, all of the text counts as
// pasted. The parts together are the text.
func PastedParts(text string, pastes []string) []Part {
	parts := []Part{{Kind: PartText, Text: text}}
	for _, paste := range pastes {
		paste = strings.TrimSpace(paste)
		if utf8.RuneCountInString(paste) <= maxTyped {
			continue
		}
		at := -1
		for i, p := range parts {
			if p.Origin == "" && strings.Contains(p.Text, paste) {
				at = i
				break
			}
		}
		if at < 0 {
			return []Part{{Kind: PartText, Text: text, Origin: FromPaste}}
		}
		before, after, _ := strings.Cut(parts[at].Text, paste)
		split := []Part{{Kind: PartText, Text: paste, Origin: FromPaste}}
		if before != "" {
			split = append([]Part{{Kind: PartText, Text: before}}, split...)
		}
		if after != "" {
			split = append(split, Part{Kind: PartText, Text: after})
		}
		parts = append(parts[:at:at], append(split, parts[at+1:]...)...)
	}
	return joinPastes(parts)
}

// joinPastes makes one part of pasted parts that follow each other.
func joinPastes(parts []Part) []Part {
	var all []Part
	for _, p := range parts {
		if n := len(all) - 1; n >= 0 && all[n].Origin == p.Origin {
			all[n].Text += p.Text
			continue
		}
		all = append(all, p)
	}
	return all
}
