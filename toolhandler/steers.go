package toolhandler

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"molar/internal/text"
	"molar/schemas"
)

// Steers returns notes on the tools of other servers that the texts of a tool name together with their
// servers: such a text can lead a model to them, or away. It stays as it is, since an honest one may say how
// two servers work together.
func Steers(tool schemas.Tool, all []schemas.Tool) []string {
	texts := []string{tool.Title, tool.Description}
	eachArgument(tool, schemaOf(tool), func(_, _ string, s *argSchema, _ bool) bool {
		texts = append(texts, s.description)
		return true
	})
	whole := strings.Join(texts, "\n")
	var notes []string
	var sentences []string
	for _, other := range all {
		if other.Server == tool.Server || other.Server == schemas.MemoryServer || !strings.Contains(whole, other.ToolName) {
			continue
		}
		if sentences == nil {
			sentences = text.Sentences(whole)
		}
		for _, sentence := range sentences {
			if names(sentence, other) {
				notes = append(notes, fmt.Sprintf("its texts name %s of server %s, which can lead a model there", text.Shown(other.ToolName), other.Server))
				break
			}
		}
	}
	return notes
}

// names reports whether a sentence names a tool together with its server. A tool whose name is a plain word
// is only named in quotes.
func names(sentence string, tool schemas.Tool) bool {
	if holdsWord(sentence, tool.Name) {
		return true
	}
	name := tool.ToolName
	if len(words(name)) < 2 {
		quoted := false
		for _, quotes := range []string{"``", `""`, "''", "“”", "‘’"} {
			q := []rune(quotes)
			quoted = quoted || strings.Contains(sentence, string(q[0])+name+string(q[1]))
		}
		return quoted && holdsWord(strings.ToLower(sentence), strings.ToLower(tool.Server))
	}
	return holdsWord(sentence, name) && holdsWord(strings.ToLower(sentence), strings.ToLower(tool.Server))
}

// holdsWord reports whether a text holds a name that is not part of a longer one.
func holdsWord(s, name string) bool {
	part := func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
	for from := 0; name != ""; {
		at := strings.Index(s[from:], name)
		if at < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(s[:from+at])
		after, _ := utf8.DecodeRuneInString(s[from+at+len(name):])
		if !part(before) && !part(after) {
			return true
		}
		from += at + len(name)
	}
	return false
}
