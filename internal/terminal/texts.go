package terminal

import (
	"fmt"
	"strings"
)

// Preview is the start of foreign text, on one line and without what a terminal would obey.
func Preview(text string) string {
	const most = 200
	text = strings.Join(strings.Fields(Clean(text)), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// Counted is a number with its word, in the plural where there is not one.
func Counted(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
