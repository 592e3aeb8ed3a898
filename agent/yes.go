package agent

import (
	"strings"

	"golang.org/x/text/unicode/norm"

	"molar/agent/subject"
	"molar/internal/text"
)

// IsYes reports whether a message is a plain yes and nothing else: words that agree, and polite
// ones after them, in lang, the language of the text that it answers. Vietnamese counts with its
// marks, or without any if the whole message has none; then a single letter never agrees, as it may be
// a mere sound.
func IsYes(message, lang string) bool {
	words := strings.FieldsFunc(strings.ToLower(norm.NFKC.String(message)), isBetween)
	if len(words) == 0 {
		return strings.ContainsAny(message, thumbs)
	}
	said := strings.Join(words, " ")
	bare := text.Fold(said) == said
	said += " "
	// begins returns the length of the longest phrase at the beginning, least letters long without marks.
	begins := func(phrases []string, least int) (longest int) {
		for _, phrase := range phrases {
			folded := text.Fold(phrase)
			switch {
			case strings.HasPrefix(said, phrase+" "):
				longest = max(longest, len(phrase)+1)
			case bare && len(folded) >= least && strings.HasPrefix(said, folded+" "):
				longest = max(longest, len(folded)+1)
			}
		}
		return longest
	}
	agree, polite := english()
	if lang == subject.Vietnamese {
		agree, polite = vietnamese()
	}
	agreed := false
	for said != "" {
		n := begins(agree, 2)
		if n == 0 && agreed {
			n = begins(polite, 1)
		}
		if n == 0 {
			return false
		}
		agreed, said = true, said[n:]
	}
	return agreed
}

// thumbs alone agree too.
const thumbs = "👍✅"

// isBetween reports whether a character may separate the words of a yes.
func isBetween(r rune) bool { return strings.ContainsRune(" \t\r\n.,!;:'\"…"+thumbs, r) }

// english and vietnamese return plain ways to agree, without words that are as often a question, and
// polite words that do not change a yes before them. People who write Vietnamese say ok too.
func english() (agree, polite []string) {
	return []string{
		"yes", "y", "yep", "yeah", "yup", "ok", "okay", "sure", "go ahead", "do it", "please do", "please do it",
		"approve", "approved", "i approve", "agreed", "i agree", "confirm", "confirmed", "i confirm", "allow", "allow it",
	}, []string{"please", "then"}
}

func vietnamese() (agree, polite []string) {
	return []string{
		"đồng ý", "tôi đồng ý", "mình đồng ý", "em đồng ý", "anh đồng ý", "chị đồng ý", "có", "có chứ", "ừ", "vâng", "dạ", "được",
		"ok", "oke", "okay", "làm đi", "cứ làm đi", "gửi đi", "xác nhận", "chấp nhận", "chấp thuận", "cho phép",
	}, []string{"ạ", "nhé", "nha", "em", "anh", "chị", "bạn"}
}
