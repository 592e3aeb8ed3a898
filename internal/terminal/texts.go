package terminal

import (
	"fmt"
	"strings"
)

// Preview returns the start of foreign text, on one line and without control sequences.
func Preview(text string) string {
	const most = 200
	text = strings.Join(strings.Fields(Clean(text)), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// Counted returns a number with its word, in the plural unless it is one.
func Counted(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
