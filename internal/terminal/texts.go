package terminal

import (
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

// Shell writes words as a line for a POSIX shell, which reads each of them back as it is.
func Shell(words ...string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		if quoted[i] = word; word == "" || strings.Trim(word, plainInShell) != "" {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// plainInShell are the characters that mean nothing to a shell, wherever they stand.
const plainInShell = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:=@,+%"
