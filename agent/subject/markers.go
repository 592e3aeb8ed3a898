package subject

import (
	"slices"
	"strings"
	"unicode"

	"molar/internal/text"
)

// A marker is a sign that a message addresses the machinery instead of asking. Code never decides
// such a message.
type marker struct {
	name string
	// hard is set for signs that no ordinary question has, such as markup and hidden characters;
	// the words of an order may occur in a question too.
	hard bool
}

// sections reads an embedded word list.
func sections(name string) []Section {
	data, _ := wordFiles.ReadFile("words/" + name) // a missing file fails the tests
	return Sections(string(data))
}

// marker returns the first marker in a message, the zero marker if there is none. hidden is set if
// the message had hidden characters.
func (g *Guard) marker(message string, words []text.Word, hidden bool) marker {
	switch {
	case hidden:
		return marker{"hidden or look-alike characters", true}
	case hasRoleTag(message):
		return marker{"role or verdict markup", true}
	case spelledOut(words):
		return marker{"spelled out letter by letter", true}
	case hasBlob(message):
		return marker{"encoded text", true}
	case g.orders.In(words):
		return marker{"order to the machinery", false}
	case hasMarkup(message):
		return marker{"markup or data", false}
	case g.orders.In(unleet(words)):
		return marker{"order in disguised letters", true}
	}
	return marker{}
}

// hasRoleTag reports whether a message has the markup with which prompts separate their speakers,
// or a verdict written as data.
func hasRoleTag(message string) bool {
	lower := strings.ToLower(message)
	if containsAny(lower,
		"<|", "|>", "[inst]", "[/inst]", "<<sys>>", "<system", "</system", "<assistant", "</assistant",
		"### system", "### instruction", "###system", "[system]", "[assistant]", "in_domain", "\"verdict", " system:", " assistant:",
	) {
		return true
	}
	for line := range strings.Lines(lower) {
		line = strings.TrimSpace(line)
		roles := []string{"system:", "assistant:", "developer:", "user:", "hệ thống:", "trợ lý:", "system :", "judge:", "human:"}
		if slices.ContainsFunc(roles, func(role string) bool { return strings.HasPrefix(line, role) }) {
			return true
		}
	}
	return false
}

// hasMarkup reports whether a message has markup written by programs. People also paste forms and
// messages of machines.
func hasMarkup(message string) bool {
	return containsAny(strings.ToLower(message), "```", "{\"", "{'", "\":", "</", "<user>", "<!--", "${", "{{")
}

func containsAny(message string, tags ...string) bool {
	return slices.ContainsFunc(tags, func(tag string) bool { return strings.Contains(message, tag) })
}

// spelledOut reports whether there is a run of six single letters, which evades word lists.
func spelledOut(words []text.Word) bool {
	run := 0
	for _, w := range words {
		if len(w.Folded) != 1 || unicode.IsDigit(rune(w.Folded[0])) {
			run = 0
			continue
		}
		if run++; run >= 6 {
			return true
		}
	}
	return false
}

// hasBlob reports whether a message has a long run of characters that looks like base64 or
// hexadecimal.
func hasBlob(message string) bool {
	for field := range strings.FieldsSeq(message) {
		if len(field) >= 20 && !strings.Contains(field, "://") && isBlob(field) {
			return true
		}
	}
	return false
}

func isBlob(field string) bool {
	var upper, lower, digit, other int
	for _, r := range field {
		switch {
		case r >= 'A' && r <= 'Z':
			upper++
		case r >= 'a' && r <= 'z':
			lower++
		case r >= '0' && r <= '9':
			digit++
		case r == '+' || r == '/' || r == '=' || r == '_' || r == '-':
			other++
		default:
			return false
		}
	}
	return (upper > 2 && lower > 2 && other < 6) || (digit > 4 && digit+upper+lower == len(field))
}

// unleet replaces digits and signs in words by the letters they stand for.
func unleet(words []text.Word) []text.Word {
	out := make([]text.Word, len(words))
	for i, w := range words {
		out[i] = w
		if strings.ContainsAny(w.Raw, "013457") && strings.ContainsFunc(w.Raw, unicode.IsLetter) {
			out[i] = text.NewWord(strings.Map(leetLetter, w.Raw))
		}
	}
	return out
}

func leetLetter(r rune) rune {
	if i := strings.IndexRune("013457", r); i >= 0 {
		return rune("oieast"[i])
	}
	return r
}
