package cli

import (
	"slices"
	"strings"
)

// Having returns the words that begin with start, sorted, each once.
func Having(start string, words []string) []string {
	words = slices.DeleteFunc(words, func(w string) bool { return !strings.HasPrefix(w, start) })
	slices.Sort(words)
	return slices.Compact(words)
}
