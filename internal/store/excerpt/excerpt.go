// Package excerpt cuts what a list shows out of texts: their start, and what stands around
// the words that were searched for.
package excerpt

import "strings"

// startRunes is how much of a text its start is.
const startRunes = 60

// Start is the start of a text, at most 60 characters.
func Start(text string) string {
	count := 0
	for i := range text {
		if count == startRunes {
			return text[:i]
		}
		count++
	}
	return text
}

// How many characters of a text stand before and behind what was searched for.
const before, behind = 40, 80

// Around is the part of a text around what was searched for, in one line.
func Around(content, query string) string {
	text := []rune(strings.Join(strings.Fields(content), " "))
	at := strings.Index(strings.ToLower(string(text)), strings.ToLower(query))
	if at > 0 {
		at = len([]rune(strings.ToLower(string(text))[:at]))
	}
	from := max(at-before, 0)
	to := min(max(at, 0)+len([]rune(query))+behind, len(text))
	if from >= to {
		return ""
	}
	part := string(text[from:to])
	if from > 0 {
		part = "…" + part
	}
	if to < len(text) {
		part += "…"
	}
	return part
}
