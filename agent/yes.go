package agent

import (
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"molar/internal/text"
)

// IsYes reports whether a message is a plain yes and nothing else: words that agree, and polite
// ones after them. lang is the language of the text it answers. Vietnamese counts with its marks,
// or without any if the whole message has none; then a single syllable may be many words, or a mere
// sound, so it counts only as an answer to Vietnamese, and a single letter never does.
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
		case agreed && isPolite(words[0], bare):
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
	for _, phrase := range english() {
		if begins(phrase) {
			longest = max(longest, len(strings.Fields(phrase)))
		}
	}
	for _, phrase := range vietnamese() {
		n, folded := len(strings.Fields(phrase)), text.Fold(phrase)
		unmarked := bare && (n > 1 || lang == "vi" && utf8.RuneCountInString(folded) > 1)
		if begins(phrase) || unmarked && begins(folded) {
			longest = max(longest, n)
		}
	}
	return longest
}

func isPolite(word string, bare bool) bool {
	return slices.ContainsFunc(polite(), func(p string) bool { return word == p || bare && word == text.Fold(p) })
}

// polite returns words that do not change a yes before them.
func polite() []string {
	return []string{"please", "then", "ạ", "nhé", "nha", "em", "anh", "chị", "bạn"}
}

// english and vietnamese return plain ways to agree, without words that are as often a question.
func english() []string {
	return []string{
		"yes", "y", "yep", "yeah", "yup", "ok", "okay", "sure", "go ahead", "do it", "please do", "please do it",
		"approve", "approved", "i approve", "agreed", "i agree", "confirm", "confirmed", "i confirm", "allow", "allow it",
	}
}

func vietnamese() []string {
	return []string{
		"đồng ý", "tôi đồng ý", "mình đồng ý", "em đồng ý", "anh đồng ý", "chị đồng ý", "có", "có chứ", "ừ", "vâng", "dạ", "được",
		"làm đi", "cứ làm đi", "gửi đi", "xác nhận", "chấp nhận", "chấp thuận", "cho phép",
	}
}
