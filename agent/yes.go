package agent

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"molar/agent/subject"
	"molar/internal/text"
)

// IsYes reports whether a message is a plain yes and nothing else: words that agree, and polite
// ones after them, in lang, the language of the text that it answers. Vietnamese counts with its
// marks, or without any if the whole message has none; then a single letter never counts, as it may be
// a mere sound.
func IsYes(message, lang string) bool {
	words := strings.FieldsFunc(strings.ToLower(norm.NFKC.String(message)), isBetween)
	if len(words) == 0 {
		return strings.ContainsAny(message, thumbs)
	}
	bare := !slices.ContainsFunc(words, func(word string) bool { return text.Fold(word) != word })
	agreed := false
	for len(words) > 0 {
		n := phraseLength(words, bare, lang)
		switch {
		case n > 0:
			agreed = true
		case agreed && isPolite(words[0], bare, lang):
			n = 1
		default:
			return false
		}
		words = words[n:]
	}
	return agreed
}

// thumbs alone agree too.
const thumbs = "👍✅"

// isBetween reports whether a character may separate the words of a yes.
func isBetween(r rune) bool { return strings.ContainsRune(" \t\r\n.,!;:'\"…"+thumbs, r) }

// phraseLength returns the length in words of the longest agreeing phrase at the start of a
// message.
func phraseLength(words []string, bare bool, lang string) int {
	longest := 0
	begins := func(phrase string) bool {
		parts := strings.Fields(phrase)
		return len(parts) <= len(words) && slices.Equal(parts, words[:len(parts)])
	}
	phrases := english()
	if lang == subject.Vietnamese {
		phrases = vietnamese()
	}
	for _, phrase := range phrases {
		folded := text.Fold(phrase)
		if begins(phrase) || bare && utf8.RuneCountInString(folded) > 1 && begins(folded) {
			longest = max(longest, len(strings.Fields(phrase)))
		}
	}
	return longest
}

func isPolite(word string, bare bool, lang string) bool {
	return slices.ContainsFunc(polite(lang), func(p string) bool { return word == p || bare && word == text.Fold(p) })
}

// polite returns words that do not change a yes before them.
func polite(lang string) []string {
	if lang == subject.Vietnamese {
		return []string{"ạ", "nhé", "nha", "em", "anh", "chị", "bạn"}
	}
	return []string{"please", "then"}
}

// english and vietnamese return plain ways to agree, without words that are as often a question.
// People who write Vietnamese say ok too.
func english() []string {
	return []string{
		"yes", "y", "yep", "yeah", "yup", "ok", "okay", "sure", "go ahead", "do it", "please do", "please do it",
		"approve", "approved", "i approve", "agreed", "i agree", "confirm", "confirmed", "i confirm", "allow", "allow it",
	}
}

func vietnamese() []string {
	return []string{
		"đồng ý", "tôi đồng ý", "mình đồng ý", "em đồng ý", "anh đồng ý", "chị đồng ý", "có", "có chứ", "ừ", "vâng", "dạ", "được",
		"ok", "oke", "okay", "làm đi", "cứ làm đi", "gửi đi", "xác nhận", "chấp nhận", "chấp thuận", "cho phép",
	}
}
