package subject

import (
	"slices"
	"strings"
	"unicode"

	"molar/internal/text"
)

// A marker is a sign that a message speaks to the machinery instead of asking. Code never
// decides such a message.
type marker struct {
	name string
	// hard is set for what nobody types who only asks, such as markup and hidden
	// characters; the words of an order may stand in a question too.
	hard bool
}

// sections reads an embedded list of words.
func sections(name string) []Section {
	data, _ := wordFiles.ReadFile("words/" + name) // a missing one fails the tests
	return Sections(string(data))
}

// marker returns the first one in a message, of which something was hidden or not; the
// zero marker when there is none.
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

// hasRoleTag knows the markup with which prompts separate their speakers, and
// verdicts written as data.
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

// hasMarkup knows what programs write. People paste forms and messages of machines too.
func hasMarkup(message string) bool {
	return containsAny(strings.ToLower(message), "```", "{\"", "{'", "\":", "</", "<user>", "<!--", "${", "{{")
}

func containsAny(message string, tags ...string) bool {
	return slices.ContainsFunc(tags, func(tag string) bool { return strings.Contains(message, tag) })
}

// spelledOut reports a run of six single letters, a way past word lists.
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

// hasBlob reports a long run of characters that looks like base64 or hexadecimal.
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

// unleet reads digits and signs in words as the letters they stand for.
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
