package store

import "strings"

// startRunes is the length of a text's start.
const startRunes = 60

// startOf returns the start of a text, at most startRunes characters.
func startOf(text string) string {
	count := 0
	for i := range text {
		if count == startRunes {
			return text[:i]
		}
		count++
	}
	return text
}

// around returns the part of a text around the search term, on one line.
func around(content, query string) string {
	const before, behind = 40, 80 // characters around the search term
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
